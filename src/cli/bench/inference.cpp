// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/inference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "base/threads/parallel.h"
#include "cli/bench/contenders.h"
#include "cli/flags/relative_difference.h"
#include "cli/run/inputs.h"

namespace narrowgauge::cli {
namespace {

// The batch that the first input fixes; nothing where it is open.
std::optional<std::int64_t> fixed_batch(const std::vector<ModelPort>& ports) {
  if (ports.empty() || !ports[0].type || ports[0].type->shape.empty()) return 1;
  const Dim& first = ports[0].type->shape[0];
  return first.is_known() ? std::optional(first.value()) : std::nullopt;
}

std::vector<std::int64_t> batches_of(const InferenceTask& task, const InferenceNetwork& network,
                                     const std::vector<ModelPort>& ports) {
  const std::optional<std::int64_t> fixed = fixed_batch(ports);
  if (task.batches.empty()) return fixed ? std::vector{*fixed} : usual_batches;
  for (const std::int64_t batch : task.batches)
    require(!fixed || batch == *fixed, network.name, ": its batch is fixed at ", fixed.value_or(0),
            ", --batch is ", batch);
  return task.batches;
}

Answers inputs_for(const InferenceNetwork& network, const std::vector<ModelPort>& ports,
                   std::int64_t batch) {
  Answers inputs;
  for (const ModelPort& port : ports) {
    require<ModelError>(port.type.has_value(), network.name, ": the type of input '", port.name,
                        "' is known only when it runs");
    Dims dims;
    for (const Dim& dim : port.type->shape)
      dims.push_back(dim.is_known() ? dim.value() : dims.empty() ? batch : 1);
    inputs.push_back({port.name, random_tensor(port.name, port.type->dtype, dims)});
  }
  return inputs;
}

double difference_between(const Answers& answers, const Answers& first) {
  double worst = 0;
  for (const NamedTensor& expected : first) {
    const auto at = std::ranges::find(answers, expected.name, &NamedTensor::name);
    if (at == answers.end() || at->tensor.dims() != expected.tensor.dims())
      return std::numeric_limits<double>::infinity();
    worst = std::max(worst, relative_difference(at->tensor, expected.tensor));
  }
  return worst;
}

class Group {
 public:
  Group(const InferenceTask& task, const InferenceNetwork& network, Answers inputs,
        std::int64_t batch, Peers& peers)
      : task_(task), network_(network), inputs_(std::move(inputs)) {
    rows_.reserve(task.precisions.size() + peers.entries.size());
    for (const std::string& precision : task.precisions)
      add(make_own, {.model = network.name, .precision = precision, .batch = batch});
    for (Peers::Entry& peer : peers.entries) {
      InferenceRow row{.model = network.name,
                       .program = peer.name,
                       .precision = peer.precision,
                       .peer_file = peer.file,
                       .batch = batch,
                       .missing = peer.missing};
      if (peer.missing.empty())
        add([&](InferenceRow& made) { return make_peer(made, *peer.process); }, std::move(row));
      else
        rows_.push_back(std::move(row));
    }
  }

  std::vector<InferenceRow> run(const InferenceStatus& status, const std::function<bool()>& stop) {
    load(status, stop);
    for (std::int64_t round = 1; round <= task_.rounds && !stop(); ++round)
      for (const auto& contender : contenders_) {
        if (stop()) break;
        status(contender->row(), round);
        contender->take_turn(task_.seconds);
      }
    contenders_.clear();
    return std::move(rows_);
  }

 private:
  template <class Make>
  void add(const Make& make, InferenceRow row) {
    rows_.push_back(std::move(row));
    contenders_.push_back(make(rows_.back()));
  }

  void load(const InferenceStatus& status, const std::function<bool()>& stop) {
    std::optional<Answers> first;
    for (const auto& contender : contenders_) {
      if (stop()) return;
      status(contender->row(), 0);
      Answers answers = contender->load(network_, inputs_);
      if (first)
        contender->row().difference = difference_between(answers, *first);
      else
        first = std::move(answers);
    }
  }

  const InferenceTask& task_;
  const InferenceNetwork& network_;
  Answers inputs_;
  std::vector<InferenceRow> rows_;
  std::vector<std::unique_ptr<Contender>> contenders_;
};

}  // namespace

double InferenceRow::percentile(double share) const {
  if (seconds.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::vector<double> sorted = seconds;
  std::ranges::sort(sorted);
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(std::ceil(share * last))];
}

InferenceOutcome benchmark_inference(const InferenceTask& task, const InferenceStatus& status,
                                     const std::function<bool()>& stop) {
  const int threads = task.threads > 0 ? task.threads : thread_count();
  const ThreadScope scope(threads);
  InferenceOutcome outcome{.threads = threads};
  for (const InferenceNetwork& network : task.networks) {
    const auto ports = Model::from_onnx(network.path, network.known).inputs();
    for (const std::int64_t batch : batches_of(task, network, ports)) {
      if (stop()) break;
      Peers peers(task, threads);  // anew, so that what they take is not what they had before
      outcome.versions = peers.versions;
      Group group(task, network, inputs_for(network, ports, batch), batch, peers);
      for (InferenceRow& row : group.run(status, stop)) outcome.rows.push_back(std::move(row));
    }
  }
  outcome.stopped = stop();
  return outcome;
}

const InferenceRow* peer_for(const InferenceOutcome& outcome, const InferenceRow& row) {
  const InferenceRow* best = nullptr;
  const auto fits = [&](const InferenceRow& peer) {
    return !peer.peer_file.empty() || (peer.precision == "bf16") == (row.precision == "bf16");
  };
  for (const InferenceRow& peer : outcome.rows) {
    if (!peer.is_peer() || peer.rates.empty() || peer.model != row.model || peer.batch != row.batch)
      continue;
    const bool better = !best || fits(peer) > fits(*best) ||
                        (fits(peer) == fits(*best) &&
                         quartiles_of(peer.rates).median > quartiles_of(best->rates).median);
    if (better) best = &peer;
  }
  return best;
}

namespace {

bool is_narrow(const InferenceRow& row) {
  return row.precision == "bf16" || row.precision == "f16";
}

}  // namespace

void check_answers(const InferenceOutcome& outcome) {
  constexpr double narrow_tolerance = 0.1, f32_tolerance = 1e-3;
  const InferenceRow* first = nullptr;  // of its network and batch
  for (const InferenceRow& row : outcome.rows) {
    if (row.seconds.empty()) continue;
    if (!first || first->model != row.model || first->batch != row.batch) first = &row;
    const bool narrow = is_narrow(row) || is_narrow(*first);
    const double tolerance = !row.peer_file.empty() ? std::numeric_limits<double>::max()
                             : narrow               ? narrow_tolerance
                                                    : f32_tolerance;
    // Written so that NaN fails.
    require<CheckError>(row.difference <= tolerance,
                        fmt::format("{} {} {}: its answers differ by {:.0e} of their size from the "
                                    "first row's: the times mean nothing",
                                    row.model, row.is_peer() ? row.program : "narrowgauge",
                                    row.precision, row.difference));
  }
}

}  // namespace narrowgauge::cli
