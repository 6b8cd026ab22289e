// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/roofline.h"

#include <algorithm>
#include <string_view>

#include "api/programs/kernel_cache.h"
#include "base/unloading.h"
#include "compile/compile.h"
#include "precision/apply.h"
#include "study/most_fused.h"

namespace narrowgauge {

std::int64_t most_fused_bytes(const Graph& training_graph, const PrecisionPlan& precision,
                              std::int64_t batch) {
  CompileOptions unfused;
  unfused.binding = {{"N", batch}};
  unfused.kernels = kernel_cache();
  unfused.fuse = false;
  unfused.layout = Layout::plain;
  return most_fused(run_pipeline(apply(training_graph, precision), unfused)).bytes();
}

namespace {

struct OpKind {
  std::string_view name;
  std::vector<std::string_view> ops;  // by the beginning of their names
};

// Kinds in the order of the table; the first that fits counts. Ops that fit none are elementwise,
// which are most.
const std::vector<OpKind>& op_kinds() {
  static const auto& all = immortal<std::vector<OpKind>>(std::vector<OpKind>{
      {"convolution", {"Conv"}},
      {"its data gradient", {"ConvDataGradient"}},
      {"its weight gradient", {"ConvWeightGradient"}},
      {"matrix product", {"Gemm", "MatMul", "FusedMatMul"}},
      {"normalisation",
       {"BatchNormalization", "BatchNormalizationGradient", "NormalizeAgain", "LayerNormalization",
        "LayerNormalizationGradient"}},
      {"fused contraction", {}},
      {"elementwise", {}},
      {"softmax", {"Softmax", "SoftmaxGradient", "LogSoftmax", "LogSoftmaxGradient"}},
      {"gather", {"Gather", "GatherGradient"}},
      {"reduction", {"ReduceSum", "ReduceMean", "ReduceMax", "BroadcastGradient"}},
      {"pooling",
       {"MaxPool", "MaxPoolGradient", "AveragePool", "AveragePoolGradient", "GlobalAveragePool",
        "GlobalAveragePoolGradient"}},
      {"loss",
       {"SoftmaxCrossEntropyLoss", "SoftmaxCrossEntropyLossGradient", "SigmoidCrossEntropy",
        "SigmoidCrossEntropyGradient"}},
      {"update", {}},
      {"layout",
       {"Relayout", "ReshapeTo", "Reshape", "Flatten", "Transpose", "Cast", "Identity", "Concat",
        "ConcatGradient", "Split", "Slice", "SliceGradient", "Pad", "PadGradient", "Expand",
        "ExpandTo"}}});
  return all;
}

std::string_view kind_of(const Trainer::KernelChoice& kernel) {
  if (kernel.phase == Phase::update) return "update";
  std::string_view op = kernel.op;
  op.remove_prefix(op.starts_with("ng.") ? 3 : 0);
  if (op == "Fused" && kernel.flops > 0) return "fused contraction";
  for (const OpKind& kind : op_kinds())
    if (std::find(kind.ops.begin(), kind.ops.end(), op) != kind.ops.end()) return kind.name;
  return "elementwise";
}

void add(RooflineGroup& group, const Trainer::KernelChoice& kernel, double steps,
         const PeakRates& rates) {
  const auto bytes = static_cast<double>(kernel.bytes);
  group.milliseconds += kernel.milliseconds / steps;
  group.flops += kernel.flops;
  group.bytes += bytes;
  group.bound_milliseconds += 1e3 * bytes / rates.memory;
  if (kernel.flops > 0) group.bound_milliseconds += 1e3 * kernel.flops / rates.of(kernel.math);
}

}  // namespace

Roofline roofline(const TrainingProfile& profile, const PeakRates& rates) {
  Roofline result;
  const auto steps = static_cast<double>(std::max<std::int64_t>(profile.steps, 1));
  result.total.name = "all kernels";
  result.step_milliseconds = profile.milliseconds / steps;
  for (const OpKind& kind : op_kinds()) {
    RooflineGroup group{.name = std::string(kind.name)};
    for (const Trainer::KernelChoice& kernel : profile.kernels) {
      if (kind_of(kernel) != kind.name) continue;
      add(group, kernel, steps, rates);
      add(result.total, kernel, steps, rates);
    }
    if (group.bytes > 0) result.groups.push_back(std::move(group));
  }
  result.fused.name = "most fused plan";
  if (profile.fused_bytes == 0) return result;
  const auto fused_bytes = static_cast<double>(profile.fused_bytes);
  result.fused = {
      result.fused.name, 0, result.total.flops, fused_bytes,
      result.total.bound_milliseconds + 1e3 * (fused_bytes - result.total.bytes) / rates.memory};
  return result;
}

}  // namespace narrowgauge
