// SPDX-License-Identifier: Apache-2.0
// Runs one kernel of an op on tensors, as a plan would: any dtype, channels-last storage, slices of
// wider buffers. Results come back dense and row-major.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "narrowgauge/graph.h"
#include "ops/composition/interpret.h"
#include "ops/reference.h"
#include "support/guarded_workspace.h"

namespace narrowgauge {

struct KernelRun {
  std::string kernel = "";  // "" takes the first that accepts
  bool reference = false;
  bool channels_last = false;  // of every operand of rank 3 or more that need not lie plain
  std::int64_t wider = 0;      // channels more in the buffers these lie in
  bool batch_inner = false;    // of every operand with whole blocks of images and channels
  bool deterministic = true;
  Math math = Math::none;
  std::vector<int> unread = {};  // outputs that nobody reads
  RunContext context{};
  bool no_narrow_inputs = false;  // leaves out samples that have inputs in f16 or bf16 in f32 too
};

struct KernelResult {
  std::vector<Tensor> outputs;
  std::vector<std::int64_t> flushed;
  std::string implementation;
};

namespace kernel_run {

// An operand and the memory it lies in.
struct Placed {
  Operand operand;
  Tensor memory;
  View view() { return {operand.present ? memory.data() : nullptr}; }
};

inline Placed place(const TensorType& type, const Port& port, const KernelRun& how) {
  const Dims dims = known_dims(type.shape);
  const auto rank = static_cast<std::int64_t>(dims.size());
  Placed placed{{.dtype = type.dtype, .dims = dims}, {}};
  Operand& operand = placed.operand;
  Dims memory_dims = dims;
  const bool moves = how.channels_last && rank >= 3 && !port.plain;
  if (moves) {
    operand.storage = Storage::channels_last(rank);
    memory_dims[1] += how.wider;
  }
  if (how.batch_inner && !port.plain && rank == 4 && dims[0] % 32 == 0 && dims[1] % 32 == 0)
    operand.storage = Storage::batch_inner();
  else
    operand.strides = strides_of(memory_dims, operand.storage);
  placed.memory = Tensor(type.dtype, {element_count(memory_dims)});
  return placed;
}

// A number that no kernel should leave where it ought to write.
inline void poison(Tensor& memory) {
  const double value = is_floating(memory.dtype()) ? -77 : 77;
  for (std::int64_t i = 0; i < memory.size(); ++i) memory.set(i, value);
}

// Operands and views of all inputs, or of all outputs.
struct Side {
  std::vector<Placed> placed;
  std::vector<Operand> operands;
  std::vector<View> views;

  void finish() {
    for (Placed& one : placed) {
      operands.push_back(one.operand);
      views.push_back(one.view());
    }
  }
};

inline Side place_inputs(const OpRecord& op, const std::vector<std::optional<Tensor>>& inputs,
                         const KernelRun& how) {
  Side side;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) {
      side.placed.push_back({Operand{.present = false}, {}});
      continue;
    }
    side.placed.push_back(place(inputs[i]->type(), op.input_port(static_cast<int>(i)), how));
    Placed& placed = side.placed.back();
    for (std::int64_t e = 0; e < inputs[i]->size(); ++e)
      placed.memory.set(offset_of(placed.operand, e), inputs[i]->at(e));
  }
  side.finish();
  return side;
}

inline Side place_outputs(const OpRecord& op, const TensorTypes& types, const KernelRun& how) {
  Side side;
  for (std::size_t o = 0; o < types.size(); ++o) {
    side.placed.push_back(place(types[o], op.output_port(static_cast<int>(o)), how));
    Placed& placed = side.placed.back();
    placed.operand.present = std::count(how.unread.begin(), how.unread.end(), int(o)) == 0;
    poison(placed.memory);
  }
  side.finish();
  return side;
}

}  // namespace kernel_run

inline TensorTypes types_of_results(const OpRecord& op, const Attributes& attributes,
                                    const std::vector<std::optional<Tensor>>& inputs) {
  std::vector<std::optional<TensorType>> types;
  for (const auto& input : inputs)
    types.push_back(input ? std::optional(input->type()) : std::nullopt);
  const std::vector<const Tensor*> constants(inputs.size());
  return op.infer(attributes.get(), Inference(op, types, constants));
}

inline KernelResult run_kernel(const OpRecord& op, const Attributes& attributes,
                               const std::vector<std::optional<Tensor>>& inputs,
                               const KernelRun& how = {}) {
  const TensorTypes types = types_of_results(op, attributes, inputs);
  const kernel_run::Side in = kernel_run::place_inputs(op, inputs, how),
                         out = kernel_run::place_outputs(op, types, how);
  const Target target = Target::machine();
  const Request request{op,     attributes, in.operands, out.operands,
                        target, how.math,   "test",      how.deterministic};
  const Offer offer = choose_kernel(request, how.reference, how.kernel);
  KernelResult result;
  result.implementation = offer.implementation;
  result.flushed.assign(types.size(), 0);
  testing_support::GuardedWorkspace workspace(offer.workspace);
  offer.run({in.views, out.views, workspace.data(), result.flushed, how.context});
  EXPECT_TRUE(workspace.guard_holds()) << offer.implementation << " needs a longer workspace";
  for (std::size_t o = 0; o < types.size(); ++o) {
    result.outputs.emplace_back(types[o].dtype, known_dims(types[o].shape));
    const kernel_run::Placed& placed = out.placed[o];
    for (std::int64_t e = 0; e < result.outputs[o].size(); ++e)
      result.outputs[o].set(e, placed.memory.at(offset_of(placed.operand, e)));
  }
  return result;
}

template <class T>
KernelResult run_kernel(T op, const std::vector<std::optional<Tensor>>& inputs,
                        const KernelRun& how = {}) {
  return run_kernel(record_of<T>(), Attributes::of(std::move(op)), inputs, how);
}

// Values in [-2, 2] that every float format with 6 bits of mantissa holds exactly; the Python that
// computed expected numbers has the same formula.
inline Tensor pattern(DType dtype, Dims dims, std::int64_t seed = 0) {
  Tensor tensor(dtype, std::move(dims));
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    tensor.set(i, static_cast<double>((i * 37 + seed * 11 + i * i % 7) % 65 - 32) / 16);
  return tensor;
}

// Every element within `bound` of what is expected, relative to the largest of these, and at least
// to `scale`.
inline void expect_near(const Tensor& got, const std::vector<double>& expected, double bound,
                        const std::string& what = "", double scale = 0) {
  ASSERT_EQ(got.size(), static_cast<std::int64_t>(expected.size())) << what;
  scale = std::max(scale, 1e-30);
  for (const double value : expected)
    if (std::isfinite(value)) scale = std::max(scale, std::abs(value));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double value = got.at(static_cast<std::int64_t>(i));
    if (std::isfinite(expected[i]))
      ASSERT_NEAR(value, expected[i], bound * scale) << what << " at " << i;
    else
      ASSERT_TRUE(value == expected[i] || (std::isnan(value) && std::isnan(expected[i])))
          << what << " at " << i << ": " << value << ", expected " << expected[i];
  }
}

inline std::vector<double> values_of(const Tensor& tensor) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < tensor.size(); ++i) values.push_back(tensor.at(i));
  return values;
}

// Half a unit in the last place, with room for sums in f32.
inline double bound_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 1e-13;
    case DType::f16:
      return 1e-3;
    case DType::bf16:
      return 8e-3;
    default:
      return 3e-6;
  }
}

}  // namespace narrowgauge
