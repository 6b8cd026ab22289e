// SPDX-License-Identifier: Apache-2.0
// Every kernel of every op against the op's reference, and the op's facts against both.
#include <algorithm>
#include <cstdio>
#include <map>

#include "all_ops/kernel_run.h"
#include "base/threads/parallel.h"
#include "narrowgauge/graph.h"

namespace narrowgauge::kernels_test {
namespace {

using namespace testing_support;

constexpr DType tested_dtypes[] = {DType::f64, DType::f32, DType::f16, DType::bf16};
constexpr MemoryLayout layouts[] = {MemoryLayout::plain, MemoryLayout::channels_last,
                                    MemoryLayout::slice, MemoryLayout::channels_last_slice};

// Rounded once from values that agree to f32's accuracy, narrow results differ by one unit in the
// last place at most. In f32, sums may be made in another order.
double bound_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 0x1p-44;
    case DType::f32:
      return 0x1p-18;
    case DType::f16:
      return 1.5 * 0x1p-10;
    case DType::bf16:
      return 1.5 * 0x1p-7;
    case DType::f8e4m3fn:
      return 1.5 * 0x1p-3;
    case DType::f8e5m2:
      return 1.5 * 0x1p-2;
    default:
      return 0;  // integers and bool
  }
}

// The largest difference, relative to the element and the tensor's root mean square.
double error_of(const Tensor& actual, const Tensor& expected) {
  double squares = 0;
  for (std::int64_t i = 0; i < expected.size(); ++i)
    if (std::isfinite(expected.at(i))) squares += expected.at(i) * expected.at(i);
  const double scale =
      std::sqrt(squares / static_cast<double>(std::max<std::int64_t>(expected.size(), 1)));
  double worst = 0;
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    const double a = actual.at(i), e = expected.at(i);
    if (a == e || (std::isnan(a) && std::isnan(e))) continue;
    const double error = std::abs(a - e) / (std::abs(e) + scale);
    worst = std::isfinite(error) ? std::max(worst, error) : HUGE_VAL;
  }
  return worst;
}

class Kernels : public OpTest {
 protected:
  const OpRecord& op() const { return *GetParam(); }
  const Kernel& reference() const { return op().kernels().back(); }

  void for_each_run(const std::function<void(const SampleCase&, const RunSettings&)>& use) const {
    for (const DType dtype : tested_dtypes)
      for_each_case(op(), dtype, [&](const SampleCase& sample) {
        for (const MemoryLayout layout : layouts) {
          SCOPED_TRACE(name(layout));
          use(sample, {.layout = layout});
        }
      });
  }
};

void expect_sound(const KernelRun& run) {
  for (const std::string& fault : run.faults) ADD_FAILURE() << run.implementation << ": " << fault;
}

void expect_same_bits(const KernelRun& a, const KernelRun& b, const std::string& what) {
  ASSERT_EQ(a.outputs.size(), b.outputs.size());
  for (std::size_t o = 0; o < a.outputs.size(); ++o)
    EXPECT_TRUE(a.outputs[o].same_bits(b.outputs[o])) << what << ": output " << o << " differs";
}

TEST_P(Kernels, reference_takes_every_dtype_and_stride) {
  for_each_run([&](const SampleCase& sample, const RunSettings& settings) {
    const KernelRun run = run_kernel(sample, reference(), settings);
    EXPECT_EQ(run.reason, "");
    expect_sound(run);
    const KernelRun plain = run_kernel(sample, reference());
    if (settings.layout != MemoryLayout::plain)
      expect_same_bits(plain, run, "layout changes values");
  });
}

TEST_P(Kernels, equal_the_reference) {
  std::map<std::string, double> worst;
  for_each_run([&](const SampleCase& sample, const RunSettings& settings) {
    const KernelRun expected = run_kernel(sample, reference(), settings);
    if (!expected.reason.empty()) return;
    for (const Kernel& kernel : op().kernels().first(op().kernels().size() - 1)) {
      const KernelRun run = run_kernel(sample, kernel, settings);
      if (!run.reason.empty()) continue;
      expect_sound(run);
      for (std::size_t o = 0; o < expected.outputs.size(); ++o) {
        const DType dtype = expected.outputs[o].dtype();
        const double error = error_of(run.outputs[o], expected.outputs[o]);
        EXPECT_LE(error, bound_of(dtype)) << "kernel " << kernel.name << ", output " << o;
        double& seen = worst[concat(kernel.name, ' ', dtype)];
        seen = std::max(seen, error);
      }
    }
  });
  for (const auto& [what, error] : worst)
    std::printf("    %s %s: worst error %.2g\n", op().full_name().c_str(), what.c_str(), error);
}

TEST_P(Kernels, give_the_same_bits_with_any_number_of_threads) {
  for_each_run([&](const SampleCase& sample, const RunSettings& settings) {
    for (const Kernel& kernel : op().kernels()) {
      std::vector<KernelRun> runs;
      for (const int threads : {1, 2}) {
        const ThreadScope scope(threads);
        runs.push_back(run_kernel(sample, kernel, settings));
      }
      if (runs[0].reason.empty()) expect_same_bits(runs[0], runs[1], std::string(kernel.name));
    }
  });
}

TEST_P(Kernels, give_the_same_bits_in_place) {
  for_each_run([&](const SampleCase& sample, RunSettings settings) {
    for (const Kernel& kernel : op().kernels()) {
      const KernelRun expected = run_kernel(sample, kernel, settings);
      for (const InPlace& pair : expected.in_place) {
        settings.in_place = pair;
        const KernelRun run = run_kernel(sample, kernel, settings);
        expect_sound(run);
        expect_same_bits(expected, run, concat(kernel.name, " in place"));
      }
      settings.in_place.reset();
    }
  });
}

class OptionalOutputs : public Kernels {};

TEST_P(OptionalOutputs, need_not_be_made_when_nobody_reads_them) {
  for_each_run([&](const SampleCase& sample, RunSettings settings) {
    const int outputs = static_cast<int>(sample.graph().outputs().size());
    for (int o = 0; o < outputs; ++o) {
      if (!op().output_port(o).optional) continue;
      for (const Kernel& kernel : op().kernels()) {
        settings.absent_output = -1;
        const KernelRun expected = run_kernel(sample, kernel, settings);
        settings.absent_output = o;
        const KernelRun run = run_kernel(sample, kernel, settings);
        if (!expected.reason.empty() || !run.reason.empty()) continue;
        expect_sound(run);
        for (int other = 0; other < outputs; ++other) {
          const auto i = static_cast<std::size_t>(other);
          EXPECT_TRUE(other == o || run.outputs[i].same_bits(expected.outputs[i]))
              << kernel.name << ": output " << other << " differs without output " << o;
        }
      }
    }
  });
}

class CommutativeOps : public Kernels {};

TEST_P(CommutativeOps, commute) {
  for_each_case(op(), DType::f32, [&](const SampleCase& sample) {
    SampleCase swapped = sample;
    std::reverse(swapped.inputs.begin(), swapped.inputs.end());
    expect_same_bits(run_kernel(sample, reference()), run_kernel(swapped, reference()), "swapped");
  });
}

bool has_optional_output(const OpRecord& op) {
  return std::any_of(op.outputs.begin(), op.outputs.end(),
                     [](const Port& port) { return port.optional; });
}

INSTANTIATE_TEST_SUITE_P(AllOps, Kernels, all_ops(), op_name);
INSTANTIATE_TEST_SUITE_P(AllOps, OptionalOutputs, ops_where(has_optional_output), op_name);
INSTANTIATE_TEST_SUITE_P(AllOps, CommutativeOps,
                         ops_where([](const OpRecord& op) { return op.info.commutative; }),
                         op_name);

}  // namespace
}  // namespace narrowgauge::kernels_test
