// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "base/threads/parallel.h"
#include "kernels/cpu/convert/convert.h"
#include "ops/axes/axis.h"
#include "ops/loss/softmax_cross_entropy.h"
#include "ops/reference.h"
#include "tensor/values.h"

namespace narrowgauge {

namespace {

constexpr std::int64_t alignment = 64;

std::int64_t aligned(std::int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

// What both directions prepare: the places of scores, labels and weights in the kernel's types.
struct PreparedLoss {
  cpu::AxisLayout layout;
  std::int64_t ignore_index;
  bool mean, reduced;
  DType scores, labels;
  std::int64_t rows() const { return layout.outer * layout.inner; }

  std::int64_t workspace() const {
    return aligned(rows() * 8) + aligned(layout.axis * 4) + 2 * aligned(rows() * 4);
  }
};

// Takes its part of the workspace, where labels and weights of other dtypes are converted.
class Inputs {
 public:
  Inputs(const PreparedLoss& prepared, std::byte* workspace, const View& labels,
         const View& weights)
      : free_(workspace) {
    common_.layout = prepared.layout;
    common_.ignores = prepared.ignore_index != no_ignored_label;
    common_.ignored = prepared.ignore_index;
    common_.labels = labels.as<const std::int64_t>();
    if (prepared.labels != DType::i64) {
      auto* const wide = take<std::int64_t>(prepared.rows());
      const auto* const narrow = labels.as<const std::int32_t>();
      std::copy_n(narrow, prepared.rows(), wide);
      common_.labels = wide;
    }
    common_.weights = weights.as<const float>();
    if (weights.data && prepared.scores != DType::f32) {
      float* const wide = take<float>(prepared.layout.axis);
      cpu::widen_row(prepared.scores, weights.data, wide, prepared.layout.axis);
      common_.weights = wide;
    }
  }
  const cpu::CrossEntropy& common() const { return common_; }

  template <class T>
  T* take(std::int64_t count) {
    T* const taken = reinterpret_cast<T*>(free_);
    free_ += aligned(count * static_cast<std::int64_t>(sizeof(T)));
    return taken;
  }

 private:
  cpu::CrossEntropy common_;
  std::byte* free_;
};

// Sums pieces of a fixed length, then the pieces in order.
double sum(const float* values, std::int64_t count) {
  constexpr std::int64_t piece = 16384;
  IndexedVector<std::int64_t, double> parts((count + piece - 1) / piece);
  parallel_for(count, piece, [&](std::int64_t begin, std::int64_t end) {
    double part = 0;
    for (std::int64_t i = begin; i < end; ++i) part += static_cast<double>(values[i]);
    parts[begin / piece] = part;
  });
  double total = 0;
  for (const double part : parts) total += part;
  return total;
}

bool has_gaps(const Operand& operand) { return operand.present && !is_dense(operand); }

template <class Op>
PreparedLoss prepare(const Request& request, const SharedAxis& shared, std::size_t scores) {
  const Op& op = request.as<Op>();
  return {shared.layout,
          op.ignore_index,
          op.reduction == "mean",
          op.reduction != "none",
          request.inputs[scores].dtype,
          request.inputs[scores + 1].dtype};
}

Offer offer_softmax_cross_entropy(const Request& request) {
  std::vector<const Operand*> operands{&request.inputs[0]};
  if (request.outputs[1].present) operands.push_back(&request.outputs[1]);
  SharedAxis shared = shared_axis(operands, 1);
  for (const Operand& operand : request.inputs.subspan(1))
    if (has_gaps(operand)) shared.reason = "labels or weights with gaps";
  if (has_gaps(request.outputs[0])) shared.reason = "a loss with gaps";
  if (!shared.reason.empty()) return Offer::decline(std::move(shared.reason));
  const PreparedLoss prepared = prepare<SoftmaxCrossEntropyLoss>(request, shared, 0);
  Offer offer;
  offer.implementation = "rows";
  offer.workspace = prepared.workspace();
  offer.run = [prepared](const KernelCall& call) {
    const View weights = call.inputs.size() > 2 ? call.inputs[2] : View{};
    Inputs inputs(prepared, call.workspace, call.inputs[1], weights);
    const std::int64_t rows = prepared.rows();
    cpu::CrossEntropyForward forward;
    forward.common = inputs.common();
    forward.logits = {call.inputs[0].data, prepared.scores};
    forward.loss = inputs.take<float>(rows);
    if (prepared.mean) forward.row_weights = inputs.take<float>(rows);
    if (call.outputs[1].data)
      forward.log_probabilities = {call.outputs[1].data, prepared.scores, 0, call.flushed_at(1)};
    cross_entropy_forward(forward);
    if (!call.outputs[0].data) return;
    if (!prepared.reduced) {
      cpu::narrow_row(forward.loss, prepared.scores, call.outputs[0].data, rows,
                      call.flushed_at(0));
      return;
    }
    const double divisor = prepared.mean ? sum(forward.row_weights, rows) : 1.0;
    const auto result = static_cast<float>(sum(forward.loss, rows) / divisor);
    cpu::narrow_row(&result, prepared.scores, call.outputs[0].data, 1, call.flushed_at(0));
  };
  return offer;
}

// The sum of the weights of all labels that are not ignored.
double label_weights(const cpu::CrossEntropy& common, std::int64_t rows) {
  double total = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t label = common.labels[row];
    if (common.ignores && label == common.ignored) continue;
    require<DataError>(label >= 0 && label < common.layout.axis, "softmax cross entropy: label ",
                       label, " at ", row, " is outside the classes 0 to ", common.layout.axis - 1);
    total += common.weights ? static_cast<double>(common.weights[label]) : 1.0;
  }
  return total;
}

Offer offer_softmax_cross_entropy_gradient(const Request& request) {
  SharedAxis shared = shared_axis({&request.inputs[1], &request.outputs[0]}, 1);
  for (const std::size_t i : {0, 2, 3})
    if (i < request.inputs.size() && has_gaps(request.inputs[i]))
      shared.reason = "dy, labels or weights with gaps";
  if (!shared.reason.empty()) return Offer::decline(std::move(shared.reason));
  const PreparedLoss prepared = prepare<SoftmaxCrossEntropyLossGradient>(request, shared, 1);
  Offer offer;
  offer.implementation = "rows";
  offer.workspace = prepared.workspace();
  offer.run = [prepared](const KernelCall& call) {
    const View weights = call.inputs.size() > 3 ? call.inputs[3] : View{};
    Inputs inputs(prepared, call.workspace, call.inputs[2], weights);
    const std::int64_t rows = prepared.rows();
    cpu::CrossEntropyBackward backward;
    backward.common = inputs.common();
    backward.logits = {call.inputs[1].data, prepared.scores};
    backward.one_loss_gradient = prepared.reduced;
    float* const gradients = inputs.take<float>(rows);
    cpu::widen_row(prepared.scores, call.inputs[0].data, gradients, prepared.reduced ? 1 : rows);
    backward.loss_gradient = gradients;
    if (prepared.mean) {
      const double divisor = label_weights(backward.common, rows);
      backward.factor = divisor > 0 ? static_cast<float>(1 / divisor) : 0.0F;
    }
    backward.logits_gradient = {call.outputs[0].data, prepared.scores, 0, call.flushed_at(0)};
    cross_entropy_backward(backward);
  };
  return offer;
}

// The layout for the reference: row-major scores [N, C, inner], labels [N, inner].
struct Rows {
  std::int64_t batch, classes, inner;
  std::int64_t count() const { return batch * inner; }
  std::int64_t at(std::int64_t row, std::int64_t c) const {
    return (row / inner * classes + c) * inner + row % inner;
  }
  explicit Rows(const Dims& dims)
      : batch(dims[0]), classes(dims[1]), inner(element_count(std::span(dims).subspan(2))) {}
};

double log_sum(const ReferenceView& scores, const Rows& rows, std::int64_t row) {
  double largest = -std::numeric_limits<double>::infinity(), sum_of_exps = 0;
  for (std::int64_t c = 0; c < rows.classes; ++c)
    largest = std::max(largest, scores[rows.at(row, c)]);
  for (std::int64_t c = 0; c < rows.classes; ++c)
    sum_of_exps += std::exp(scores[rows.at(row, c)] - largest);
  return largest + std::log(sum_of_exps);
}

// The weight of a row's label; 0 if it is ignored.
double weight_of(std::int64_t label, std::int64_t ignored, const Rows& rows,
                 const ReferenceView* weights) {
  if (ignored != no_ignored_label && label == ignored) return 0;
  require<DataError>(label >= 0 && label < rows.classes, "softmax cross entropy: label ", label,
                     " is outside the classes 0 to ", rows.classes - 1);
  return weights && weights->present() ? (*weights)[label] : 1.0;
}

Offer softmax_cross_entropy_reference(const Request& request) {
  const auto op = request.as<SoftmaxCrossEntropyLoss>();
  return reference_offer(request, [op](const auto& in, const auto& out, const KernelCall&) {
    const Rows rows(in[0].dims());
    double total = 0, divisor = 0;
    for (std::int64_t row = 0; row < rows.count(); ++row) {
      const std::int64_t label = in[1].integer(row);
      const double weight =
          weight_of(label, op.ignore_index, rows, in.size() > 2 ? &in[2] : nullptr);
      const double normalizer = log_sum(in[0], rows, row);
      for (std::int64_t c = 0; c < rows.classes; ++c)
        out[1].set(rows.at(row, c), in[0][rows.at(row, c)] - normalizer);
      const bool ignored = op.ignore_index != no_ignored_label && label == op.ignore_index;
      const double loss = ignored ? 0 : weight * (normalizer - in[0][rows.at(row, label)]);
      if (op.reduction == "none") out[0].set(row, loss);
      total += loss;
      divisor += weight;
    }
    if (op.reduction != "none") out[0].set(0, op.reduction == "mean" ? total / divisor : total);
  });
}

Offer softmax_cross_entropy_gradient_reference(const Request& request) {
  const auto op = request.as<SoftmaxCrossEntropyLossGradient>();
  return reference_offer(request, [op](const auto& in, const auto& out, const KernelCall&) {
    const Rows rows(in[1].dims());
    IndexedVector<std::int64_t, double> weights;
    double divisor = 0;
    for (std::int64_t row = 0; row < rows.count(); ++row) {
      weights.add(
          weight_of(in[2].integer(row), op.ignore_index, rows, in.size() > 3 ? &in[3] : nullptr));
      divisor += weights.back();
    }
    if (op.reduction != "mean") divisor = 1;
    for (std::int64_t row = 0; row < rows.count(); ++row) {
      const double normalizer = log_sum(in[1], rows, row);
      const double dy = in[0][op.reduction == "none" ? row : 0];
      const double factor = divisor > 0 ? weights[row] * dy / divisor : 0.0;
      for (std::int64_t c = 0; c < rows.classes; ++c) {
        const double probability = std::exp(in[1][rows.at(row, c)] - normalizer);
        const double hot = c == in[2].integer(row) ? 1.0 : 0.0;
        out[0].set(rows.at(row, c), (probability - hot) * factor);
      }
    }
  });
}

constexpr Kernel softmax_cross_entropy_kernels[] = {{"rows", offer_softmax_cross_entropy},
                                                    {"reference", softmax_cross_entropy_reference}};
constexpr Kernel softmax_cross_entropy_gradient_kernels[] = {
    {"rows", offer_softmax_cross_entropy_gradient},
    {"reference", softmax_cross_entropy_gradient_reference}};

}  // namespace

std::span<const Kernel> SoftmaxCrossEntropyLoss::kernels() { return softmax_cross_entropy_kernels; }
std::span<const Kernel> SoftmaxCrossEntropyLossGradient::kernels() {
  return softmax_cross_entropy_gradient_kernels;
}

}  // namespace narrowgauge
