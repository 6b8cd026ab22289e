// SPDX-License-Identifier: Apache-2.0
#include "compile/choose_fastest.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/files/memory.h"
#include "base/text/number_text.h"
#include "base/threads/parallel.h"
#include "compile/lone_kernel.h"
#include "groups/finished.h"
#include "groups/fused.h"
#include "narrowgauge/graph.h"
#include "ops/composition/interpret.h"

namespace narrowgauge {
namespace {

// The first kernel in the list stays unless another is this much faster: so far apart are the best
// of few runs of one kernel when others use the machine too.
constexpr double worth_it = 1.125;

struct KernelCandidate {
  std::string kernel;
  Offer offer;
  double milliseconds = 0;  // the best run
};

// The first size of the first operand, unless it is a weight's; 0: none.
std::int64_t batch_of(const Request& request) {
  if (request.inputs.empty()) return 0;
  const Operand& first = request.inputs[0];
  return first.lasts || first.dims.empty() ? 0 : first.dims[0];
}

// The next step of a quarter octave; small sizes are their own.
std::int64_t class_of_batch(std::int64_t size) {
  constexpr std::int64_t most_exact = 16;
  if (size <= most_exact) return size;
  const auto step = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(size)) / 4);
  return (size + step - 1) / step * step;
}

// A first size that is `batch` is told by its class; 0: all sizes are told.
std::string operand_text(const Operand& operand, std::int64_t batch) {
  if (!operand.present) return "-";
  std::string text = concat(operand.dtype, '[');
  for (std::size_t axis = 0; axis < operand.dims.size(); ++axis) {
    const std::int64_t size = operand.dims[axis];
    const bool is_batch = axis == 0 && size == batch && class_of_batch(size) != size;
    text +=
        concat(axis == 0 ? "" : ",", is_batch ? "<" : "", is_batch ? class_of_batch(size) : size);
  }
  text += concat("] ", operand.storage);
  if (!operand.strides.empty() && operand.strides != strides_of(operand.dims, operand.storage))
    for (const std::int64_t stride : operand.strides) text += concat(' ', stride);
  if (operand.lasts) text += " lasting";
  return text;
}

bool is_fused(const Request& request) { return &request.op == &record_of<Fused>(); }

// A convolution or product, or one with elementwise ops behind it.
bool is_contraction(const Request& request) {
  return request.op.info.fusion == Fusion::contraction ||
         (is_fused(request) && finished_convolution(*request.as<Fused>().body) >= 0);
}

// The nodes of a body without names, so that groups of one form have one key.
std::string body_text(const Graph& body) {
  std::string text;
  for (const Node& node : body.nodes()) {
    text +=
        concat(' ', node.op->full_name(), '(', print_attributes(*node.op, node.attributes), ')');
    for (const Value& value : node.inputs) text += concat(' ', value.node, '.', value.output);
    if (node.math != Math::none) text += concat(' ', node.math);
  }
  return text;
}

// All that take the request but the last, the reference, which is never the fastest.
std::vector<KernelCandidate> candidates_of(const Request& request) {
  std::vector<KernelCandidate> found;
  const auto kernels = request.op.kernels();
  for (const Kernel& kernel : kernels.first(kernels.empty() ? 0 : kernels.size() - 1)) {
    Offer offer = kernel.offer(request);
    if (!offer) continue;
    if (offer.implementation.empty()) offer.implementation = kernel.name;
    found.push_back({std::string(kernel.name), std::move(offer)});
  }
  return found;
}

void get_ready(std::vector<KernelCandidate>& candidates) {
  parallel_for(static_cast<std::int64_t>(candidates.size()), 1, [&](std::int64_t i, std::int64_t) {
    candidates[static_cast<std::size_t>(i)].offer.get_ready();
  });
}

std::int64_t most_workspace(const std::vector<KernelCandidate>& candidates) {
  std::int64_t bytes = 0;
  for (const KernelCandidate& each : candidates) bytes = std::max(bytes, each.offer.workspace);
  return bytes;
}

std::int64_t packed_bytes(const std::vector<KernelCandidate>& candidates) {
  std::int64_t bytes = 0;
  for (const KernelCandidate& each : candidates) bytes += each.offer.packing.bytes;
  return bytes;
}

// Times the candidates; returns false if the times cannot be trusted.
bool measure(const Request& request, std::vector<KernelCandidate>& candidates,
             Stopwatch& stopwatch) {
  const std::int64_t workspace = most_workspace(candidates);
  LoneKernel kernel(request.inputs, request.outputs, workspace);
  std::vector<Contestant> contestants;
  for (const KernelCandidate& each : candidates)
    contestants.emplace_back([&, packed = kernel.pack(each.offer.packing)] {
      return kernel.milliseconds(each.offer.run, packed, stopwatch);
    });
  const Turns turns = measure_by_turns(contestants, stopwatch, worth_it);
  for (std::size_t i = 0; i < candidates.size(); ++i)
    candidates[i].milliseconds = turns.times[i].front();
  return turns.steady;
}

std::string time_text(const KernelCandidate& candidate) {
  return concat(candidate.kernel, ' ', general_text(candidate.milliseconds, 3), " ms");
}

std::string reason_text(const std::vector<KernelCandidate>& candidates,
                        const KernelCandidate& best) {
  std::string text = concat(&best == &candidates.front() ? "first" : "fastest", " of ",
                            candidates.size(), " measured: ");
  for (const KernelCandidate& each : candidates)
    text += concat(&each == &candidates.front() ? "" : ", ", time_text(each));
  return text;
}

// The offer of this kernel; nothing if the kernel is gone or declines the request.
std::optional<Offer> offer_of(const Request& request, const std::string& kernel) try {
  return ask_kernels(request, false, kernel);
} catch (const UsageError&) {
  return std::nullopt;
}

bool can_run_alone(const KernelCandidate& candidate) {
  return candidate.offer.aliases.empty() && (candidate.offer.run || candidate.offer.prepare);
}

// What a choice is remembered by; see operand_text().
std::string kernel_key(const Request& request, std::int64_t batch) {
  std::string key = concat(request.op.full_name(), '(',
                           is_fused(request) ? body_text(*request.as<Fused>().body)
                                             : print_attributes(request.op, request.attributes),
                           ") ", request.math);
  for (const auto operands : {request.inputs, request.outputs}) {
    key += operands.data() == request.inputs.data() ? " of" : " to";
    for (const Operand& operand : operands) key += concat(' ', operand_text(operand, batch));
  }
  return concat(key, ", ", request.target.threads, " threads");
}

}  // namespace

ChosenKernel choose_fastest(const Request& request, KernelMemory* memory, Stopwatch* stopwatch) {
  if (!memory || request.deterministic || !is_contraction(request))
    return {ask_kernels(request, false), ""};
  const std::string exact = kernel_key(request, 0), shared = kernel_key(request, batch_of(request));
  std::optional<KernelRecord> known = memory->find(exact);
  const bool is_open = !known && shared != exact;
  if (is_open) known = memory->find(shared);
  if (known)
    if (auto offer = offer_of(request, known->kernel)) return {std::move(*offer), known->why};
  if (!memory->measures()) return {ask_kernels(request, false), ""};
  std::vector<KernelCandidate> candidates = candidates_of(request);
  if (candidates.empty()) return {ask_kernels(request, false), ""};
  if (candidates.size() == 1 || !std::all_of(candidates.begin(), candidates.end(), can_run_alone))
    return {std::move(candidates.front().offer), ""};
  get_ready(candidates);
  if (!std::ranges::all_of(candidates, [](const KernelCandidate& each) {
        return static_cast<bool>(each.offer.run);
      }))
    return {std::move(candidates.front().offer), ""};  // whoever takes it checks it
  if (too_little_for(
          lone_kernel_bytes(request.inputs, request.outputs, most_workspace(candidates)) +
          packed_bytes(candidates)))
    return {std::move(candidates.front().offer),
            concat("first of ", candidates.size(), ": too little memory to measure them")};
  Stopwatch own;
  const bool steady = measure(request, candidates, stopwatch ? *stopwatch : own);
  KernelCandidate* best = &*std::min_element(
      candidates.begin(), candidates.end(), [](const KernelCandidate& a, const KernelCandidate& b) {
        return a.milliseconds < b.milliseconds;
      });
  if (!steady || best->milliseconds * worth_it > candidates.front().milliseconds)
    best = &candidates.front();
  const std::string why =
      steady ? reason_text(candidates, *best)
             : concat("first of ", candidates.size(), ": too busy to tell which is fastest");
  // A size whose class has a kernel that declines it is remembered by itself.
  memory->keep(is_open && !known ? shared : exact, {best->kernel, why, steady});
  return {std::move(best->offer), why};
}

ChosenKernel first_to_take(const Request& request) {
  std::vector<KernelCandidate> candidates = candidates_of(request);
  if (candidates.empty()) return {ask_kernels(request, true), ""};
  std::string why;
  if (is_contraction(request) && candidates.size() > 1) {
    why = concat("not measured; first of ", candidates.size(), ":");
    for (const KernelCandidate& each : candidates)
      why += concat(&each == &candidates.front() ? " " : ", ", each.kernel);
  }
  return {std::move(candidates.front().offer), std::move(why)};
}

}  // namespace narrowgauge
