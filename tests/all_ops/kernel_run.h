// SPDX-License-Identifier: Apache-2.0
// Runs one kernel on memory laid out in several ways, with guards around and between what it may
// touch.
#pragma once

#include <cstring>
#include <memory>

#include "all_ops/sample_case.h"
#include "narrowgauge/kernel.h"
#include "support/guard.h"
#include "support/guarded_workspace.h"
#include "tensor/values.h"

namespace narrowgauge::testing_support {

// slice: axis 1 is a part of a wider axis, as when a concatenation is written in place.
enum class MemoryLayout { plain, channels_last, slice, channels_last_slice };
inline const char* name(MemoryLayout layout) {
  constexpr const char* names[] = {"plain", "channels_last", "slice", "channels_last slice"};
  return names[static_cast<int>(layout)];
}

// A tensor in memory: strided, guarded, aligned.
class Memory {
 public:
  Memory(const TensorType& type, const Port& port, MemoryLayout layout)
      : dims_(known_dims(type.shape)) {
    operand_.dtype = type.dtype;
    operand_.dims = dims_;
    const bool fixed = port.plain || bits(type.dtype) < 8;
    const bool last =
        layout == MemoryLayout::channels_last || layout == MemoryLayout::channels_last_slice;
    if (last && dims_.size() == 4 && !fixed) operand_.storage = Storage::channels_last(4);
    Dims wider = dims_;
    const bool sliced =
        layout == MemoryLayout::slice || layout == MemoryLayout::channels_last_slice;
    if (sliced && dims_.size() >= 2 && !fixed) wider[1] += 3;
    operand_.strides = strides_of(wider, operand_.storage);
    bytes_ = static_cast<std::size_t>(bytes_for(element_count(wider), type.dtype));
    block_.reset(new (std::align_val_t{64}) std::byte[bytes_ + 2 * guard]);
    std::memset(block_.get(), pattern, bytes_ + 2 * guard);
  }
  const Operand& operand() const { return operand_; }
  Operand& operand() { return operand_; }
  void* data() { return block_.get() + guard; }
  std::size_t bytes() const { return bytes_; }

  void write(const Tensor& tensor) {
    visit([&](std::int64_t i, std::int64_t at) { copy(tensor.data(), i, bytes_at(0), at); });
  }
  Tensor read() const {
    Tensor tensor(operand_.dtype, dims_);
    visit([&](std::int64_t i, std::int64_t at) { copy(bytes_at(0), at, tensor.data(), i); });
    return tensor;
  }
  // True when nothing outside the tensor's elements has changed.
  bool guards_hold() const {
    std::vector<std::byte> others(block_.get(), block_.get() + bytes_ + 2 * guard);
    visit([&](std::int64_t, std::int64_t at) {
      const std::int64_t width = bits(operand_.dtype);
      const std::int64_t first = at * width / 8, last = (at * width + width - 1) / 8;
      std::memset(others.data() + guard + first, pattern,
                  static_cast<std::size_t>(last - first + 1));
    });
    return all_bytes_are(pattern, others.data(), others.size());
  }

 private:
  static constexpr std::size_t guard = 64;
  static constexpr unsigned char pattern = 0xAB;
  struct Deleter {
    void operator()(std::byte* block) const { ::operator delete[](block, std::align_val_t{64}); }
  };
  std::byte* bytes_at(std::size_t offset) const { return block_.get() + guard + offset; }

  void copy(const std::byte* from, std::int64_t i, std::byte* to, std::int64_t j) const {
    if (bits(operand_.dtype) >= 8) {
      const std::int64_t width = bits(operand_.dtype) / 8;
      std::memcpy(to + j * width, from + i * width, static_cast<std::size_t>(width));
    } else {
      store_element(operand_.dtype, to, j, load_element(operand_.dtype, from, i));
    }
  }
  template <class Visit>
  void visit(const Visit& use) const {
    const std::int64_t count = element_count(dims_);
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t rest = i, offset = 0;
      for (std::size_t a = dims_.size(); a-- > 0; rest /= dims_[a])
        offset += rest % dims_[a] * operand_.strides[a];
      use(i, offset);
    }
  }
  Dims dims_;
  Operand operand_;
  std::size_t bytes_ = 0;
  std::unique_ptr<std::byte[], Deleter> block_;
};

struct KernelRun {
  std::string reason;  // why it declined
  std::string implementation;
  std::vector<Tensor> outputs;
  std::vector<std::string> faults;  // memory that must not have been touched
  std::vector<InPlace> in_place, aliases;
};

struct RunSettings {
  MemoryLayout layout = MemoryLayout::plain;
  bool deterministic = true;
  int absent_output = -1;             // this one is not read by anybody
  std::optional<InPlace> in_place{};  // this output lies on this input
};

inline Math math_of(const OpRecord& op, const SampleCase& sample) {
  if (op.info.fusion != Fusion::contraction) return Math::none;
  const DType dtype = sample.inputs.at(0).tensor.dtype();
  return dtype == DType::f16 ? Math::f16 : dtype == DType::bf16 ? Math::bf16 : Math::ieee;
}

class KernelTrial {
 public:
  KernelTrial(const SampleCase& sample, const RunSettings& settings)
      : sample_(sample), settings_(settings), graph_(sample.graph()) {
    const OpRecord& op = *sample.op;
    for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
      const CaseInput& input = sample.inputs[i];
      inputs_.emplace_back(input.tensor.type(), op.input_port(static_cast<int>(i)),
                           settings.layout);
      inputs_.back().operand().present = input.present;
      if (input.present) inputs_.back().write(input.tensor);
      if (input.constant) inputs_.back().operand().constant = &input.tensor;
    }
    const auto& made = graph_.nodes().back().outputs;
    for (std::size_t o = 0; o < made.size(); ++o) {
      outputs_.emplace_back(made[o].type, op.output_port(static_cast<int>(o)), settings.layout);
      outputs_.back().operand().present = static_cast<int>(o) != settings.absent_output;
    }
  }

  KernelRun run(const Kernel& kernel) {
    std::vector<Operand> in, out;
    for (const Memory& memory : inputs_) in.push_back(memory.operand());
    for (const Memory& memory : outputs_) out.push_back(memory.operand());
    const Target target = Target::machine();
    Offer offer = kernel.offer({*sample_.op, sample_.attributes, in, out, target,
                                math_of(*sample_.op, sample_), "tested", settings_.deterministic});
    if (offer) offer.get_ready();
    KernelRun result{offer.reason, offer.implementation, {}, {}, offer.in_place, offer.aliases};
    if (!offer) return result;
    call(offer, result);
    collect(offer, result);
    return result;
  }

 private:
  void call(const Offer& offer, KernelRun& result) {
    std::vector<View> in, out;
    for (Memory& memory : inputs_)
      in.push_back({memory.operand().present ? memory.data() : nullptr});
    for (Memory& memory : outputs_)
      out.push_back({memory.operand().present ? memory.data() : nullptr});
    if (const auto& pair = settings_.in_place)
      out[static_cast<std::size_t>(pair->output)] = in[static_cast<std::size_t>(pair->input)];
    GuardedWorkspace workspace(offer.workspace);
    std::vector<std::int64_t> flushed(outputs_.size());
    if (offer.aliases.empty())
      offer.run({in, out, workspace.data(), flushed, {.seed = 3, .step = 5}});
    if (!workspace.guard_holds()) result.faults.emplace_back("memory behind the workspace");
  }

  void collect(const Offer& offer, KernelRun& result) {
    for (std::size_t o = 0; o < outputs_.size(); ++o) {
      const Memory* source = &outputs_[o];
      for (const InPlace& alias : offer.aliases)
        if (alias.output == static_cast<int>(o)) source = &input(alias);
      if (const auto& pair = settings_.in_place; pair && pair->output == static_cast<int>(o))
        source = &input(*pair);
      result.outputs.push_back(source->operand().present ? source->read() : Tensor());
      if (offer.aliases.empty()) continue;
      result.outputs.back() = reread(*source, outputs_[o]);
    }
    for (const auto* memories : {&inputs_, &outputs_})
      for (std::size_t i = 0; i < memories->size(); ++i)
        if (!(*memories)[i].guards_hold())
          result.faults.push_back(concat(memories == &inputs_ ? "input " : "output ", i,
                                         ": memory outside of it was written"));
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const bool overwritten =
          settings_.in_place && settings_.in_place->input == static_cast<int>(i);
      if (inputs_[i].operand().present && !overwritten &&
          !inputs_[i].read().same_bits(sample_.inputs[i].tensor))
        result.faults.push_back(concat("input ", i, " was written"));
    }
  }

  const Memory& input(const InPlace& pair) const {
    return inputs_[static_cast<std::size_t>(pair.input)];
  }
  // An alias is the input's memory seen with the output's type.
  static Tensor reread(const Memory& source, Memory& target) {
    std::memcpy(target.data(), const_cast<Memory&>(source).data(),
                std::min(source.bytes(), target.bytes()));
    return target.read();
  }

  const SampleCase& sample_;
  RunSettings settings_;
  Graph graph_;
  std::vector<Memory> inputs_, outputs_;
};

inline KernelRun run_kernel(const SampleCase& sample, const Kernel& kernel,
                            const RunSettings& settings = {}) {
  return KernelTrial(sample, settings).run(kernel);
}

}  // namespace narrowgauge::testing_support
