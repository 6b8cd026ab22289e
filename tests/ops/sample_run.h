// SPDX-License-Identifier: Apache-2.0
// All kernels of an op over all its samples, layouts and dtypes, against the op's reference in f64.
#pragma once

#include <random>

#include "ops/kernel_run.h"
#include "samples/samples.h"
#include "tensor/dtype_sets.h"

namespace narrowgauge {

inline std::vector<std::optional<Tensor>> draw(const ErasedSample& sample, DType dtype) {
  std::vector<std::optional<Tensor>> inputs;
  std::mt19937 engine(7);
  for (const SampleInput& input : sample.inputs) {
    if (!input.present) {
      inputs.emplace_back();
      continue;
    }
    if (input.constant) {
      const bool wide = input.constant->dtype() == DType::f32;
      inputs.emplace_back(wide ? input.constant->cast(dtype) : *input.constant);
      continue;
    }
    const bool number = is_floating(input.type.dtype);
    Tensor tensor(number ? dtype : input.type.dtype, known_dims(input.type.shape));
    std::uniform_real_distribution<double> real(input.low, input.high);
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      const double value = real(engine);
      tensor.set(i, number ? value : std::floor(value));
    }
    inputs.emplace_back(std::move(tensor));
  }
  return inputs;
}

// Expects the kernel `how.kernel` to take every sample that it does not decline, and to agree with
// the reference. Returns how many it took.
template <class T>
int expect_kernel_matches_reference(DType dtype, KernelRun how) {
  const OpRecord& op = record_of<T>();
  int taken = 0, number = 0;
  for (const ErasedSample& sample : samples_of(op)) {
    const auto inputs = draw(sample, dtype);
    const bool narrow = std::ranges::any_of(
        inputs, [](const auto& input) { return input && is_narrow(input->dtype()); });
    if (how.no_narrow_inputs && narrow) continue;
    const std::string what =
        concat(op.full_name(), " sample ", number++, " ", name(dtype), " ", how.kernel,
               how.channels_last ? " channels last" : "", how.wider > 0 ? " sliced" : "");
    KernelResult got;
    try {
      got = run_kernel(op, sample.attributes, inputs, how);
    } catch (const UsageError&) {
      continue;
    }
    ++taken;
    std::vector<std::optional<Tensor>> wide;
    for (const auto& input : inputs)
      wide.push_back(input && is_floating(input->dtype()) ? std::optional(input->cast(DType::f64))
                                                          : input);
    const KernelResult expected = run_kernel(op, sample.attributes, wide, {.reference = true});
    for (std::size_t o = 0; o < got.outputs.size(); ++o) {
      if (std::count(how.unread.begin(), how.unread.end(), int(o)) > 0) continue;
      expect_near(got.outputs[o], values_of(expected.outputs[o]), bound_of(dtype),
                  concat(what, " output ", o));
    }
  }
  return taken;
}

}  // namespace narrowgauge
