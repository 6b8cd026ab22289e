// SPDX-License-Identifier: Apache-2.0
#include "ops/loss/negative_log_likelihood.h"

#include "ops/reference.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

// The shape of the losses of x; labels and weights are inputs 1 and 2.
template <class Op>
Shape negative_log_likelihood_shape(const Op& op, const Inference& in, const Shape& x) {
  constexpr std::string_view name = Op::info.name;
  require(op.reduction == "none" || op.reduction == "mean" || op.reduction == "sum", name,
          ": reduction must be none, mean or sum, got '", op.reduction, "'");
  require(x.size() >= 2, name, ": expected x [N, C, ...], got ", x);
  Shape labels = x;
  labels.erase(labels.begin() + 1);
  require(in.shape(1) == labels, name, ": expected labels of ", labels, " for x ", x, ", got ",
          in.type(1));
  if (in.has(2))
    require(in.shape(2) == Shape{x[1]}, name, ": expected a weight for each of ", x[1],
            " classes, got ", in.type(2));
  return op.reduction == "none" ? labels : Shape{};
}

// The labels of x, row-major, with their weights.
class Labels {
 public:
  Labels(const Dims& x, std::int64_t ignored, const std::vector<ReferenceView>& in)
      : classes_(x[1]),
        inner_(element_count(std::span(x).subspan(2))),
        ignored_(ignored),
        labels_(in[1]),
        weights_(in.size() > 2 && in[2].present() ? &in[2] : nullptr) {}

  std::int64_t count() const { return labels_.size(); }
  // Where x has the label; only where it counts.
  std::int64_t element(std::int64_t i) const {
    return (i / inner_ * classes_ + labels_.integer(i)) * inner_ + i % inner_;
  }
  bool counts(std::int64_t i) const {
    const std::int64_t label = labels_.integer(i);
    if (ignored_ != no_ignored_label && label == ignored_) return false;
    require<DataError>(label >= 0 && label < classes_, "NegativeLogLikelihoodLoss: label ", label,
                       " at ", i, " is outside the classes 0 to ", classes_ - 1);
    return true;
  }
  double weight(std::int64_t i) const {
    if (!counts(i)) return 0;
    return weights_ ? (*weights_)[labels_.integer(i)] : 1.0;
  }
  double total_weight() const {
    double total = 0;
    for (std::int64_t i = 0; i < count(); ++i) total += weight(i);
    return total;
  }

 private:
  std::int64_t classes_, inner_, ignored_;
  const ReferenceView& labels_;
  const ReferenceView* weights_;
};

Offer negative_log_likelihood_reference(const Request& request) {
  const auto op = request.as<NegativeLogLikelihoodLoss>();
  return reference_offer(request, [op](const auto& in, const auto& out, const KernelCall&) {
    const Labels labels(in[0].dims(), op.ignore_index, in);
    double total = 0;
    for (std::int64_t i = 0; i < labels.count(); ++i) {
      const double loss = labels.counts(i) ? -labels.weight(i) * in[0][labels.element(i)] : 0;
      if (op.reduction == "none") out[0].set(i, loss);
      total += loss;
    }
    if (op.reduction != "none")
      out[0].set(0, op.reduction == "mean" ? total / labels.total_weight() : total);
  });
}

Offer negative_log_likelihood_gradient_reference(const Request& request) {
  const auto op = request.as<NegativeLogLikelihoodLossGradient>();
  return reference_offer(request, [op](const auto& in, const auto& out, const KernelCall&) {
    const Labels labels(out[0].dims(), op.ignore_index, in);
    const double divisor = op.reduction == "mean" ? labels.total_weight() : 1;
    for (std::int64_t i = 0; i < out[0].size(); ++i) out[0].set(i, 0);
    for (std::int64_t i = 0; i < labels.count(); ++i)
      if (labels.counts(i) && divisor > 0)
        out[0].set(labels.element(i),
                   -labels.weight(i) * in[0][op.reduction == "none" ? i : 0] / divisor);
  });
}

constexpr Kernel negative_log_likelihood_kernels[] = {
    {"reference", negative_log_likelihood_reference}};
constexpr Kernel negative_log_likelihood_gradient_kernels[] = {
    {"reference", negative_log_likelihood_gradient_reference}};

}  // namespace

TensorTypes NegativeLogLikelihoodLoss::infer(const Inference& in) const {
  return {{in.dtype(0), negative_log_likelihood_shape(*this, in, in.shape(0))}};
}

TensorTypes NegativeLogLikelihoodLossGradient::infer(const Inference& in) const {
  const Shape loss = negative_log_likelihood_shape(*this, in, shape);
  require(in.shape(0) == loss, "NegativeLogLikelihoodLossGradient: expected dy of ", loss, ", got ",
          in.type(0));
  return {{in.dtype(0), shape}};
}

Values NegativeLogLikelihoodLossGradient::gradient(Gradient& g) const {
  return {g.add(NegativeLogLikelihoodLoss{ignore_index, reduction},
                {g.output_gradient(), g.input(1), g.input(2)}),
          absent, absent};
}

Values NegativeLogLikelihoodLoss::gradient(Gradient& g) const {
  const NegativeLogLikelihoodLossGradient op{ignore_index, reduction, g.shape(g.input(0))};
  return {g.add(op, {g.output_gradient(), g.input(1), g.input(2)}), absent, absent};
}

std::span<const Kernel> NegativeLogLikelihoodLoss::kernels() {
  return negative_log_likelihood_kernels;
}
std::span<const Kernel> NegativeLogLikelihoodLossGradient::kernels() {
  return negative_log_likelihood_gradient_kernels;
}

}  // namespace narrowgauge

NG_OPS(negative_log_likelihood, narrowgauge::NegativeLogLikelihoodLoss,
       narrowgauge::NegativeLogLikelihoodLossGradient)
