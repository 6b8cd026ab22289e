// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/cpu/normalization/batch_norm.h"
#include "ops/axes/axis.h"
#include "ops/normalization/batch_normalization.h"
#include "ops/offers/channels.h"
#include "ops/reference.h"

namespace narrowgauge {

namespace {

std::vector<Operand> operands_of(const Request& request) {
  std::vector<Operand> all(request.inputs.begin(), request.inputs.end());
  all.insert(all.end(), request.outputs.begin(), request.outputs.end());
  return all;
}

// Why a vector of channels cannot be read or written; "" if all can.
std::string vector_reason(std::span<const Operand> vectors) {
  for (const Operand& vector : vectors)
    if (vector.present && (vector.dtype == DType::f64 || !is_dense(vector)))
      return concat("a vector of ", vector.dtype, " with strides ", vector.strides);
  return {};
}

// The kernel's layout, x and y; `all` comes from operands_of().
cpu::BatchNormApply apply_of(const SharedChannels& shared, const std::vector<Operand>& all,
                             const KernelCall& call) {
  cpu::BatchNormApply norm;
  norm.layout = shared.layout;
  norm.x = array_of(call.inputs[0], all[0], shared.pitches[0]);
  norm.y = array_of(call.outputs[0], all[5], shared.pitches[1], call.flushed_at(0));
  return norm;
}

// One run of BatchNormalization in training.
class TrainingRun {
 public:
  TrainingRun(const BatchNormalization& op, const SharedChannels& shared,
              const std::vector<Operand>& all, const KernelCall& call)
      : op_(op),
        channels_(shared.layout.channels),
        all_(all),
        call_(call),
        floats_(channels_, call.workspace),
        norm_(apply_of(shared, all, call)) {}

  void run(void* workspace) {
    norm_.scale = in(1);
    norm_.bias = in(2);
    cpu::BatchStatistics statistics;
    statistics.mean = out_or_scratch(3);
    statistics.inverse_std = out_or_scratch(4);
    statistics.variance = floats_.scratch();
    statistics.mean_low = floats_.scratch();
    const cpu::RunningStatistics running = running_statistics(statistics);
    const auto epsilon = static_cast<float>(op_.epsilon);
    if (norm_.y)
      batch_norm_train(norm_, epsilon, statistics, workspace);
    else
      batch_statistics(norm_.layout, norm_.x, epsilon, statistics, workspace);
    update_running_statistics(running);
    norm_.inverse_std = statistics.inverse_std;
    norm_.mean_low = statistics.mean_low;
    if (float* const b = out(5)) batch_norm_factors(norm_, floats_.scratch(), b);
    floats_.store();
  }

 private:
  const float* in(std::size_t i) { return floats_.input(call_.inputs[i], all_[i].dtype); }
  float* out(std::size_t o) {
    return floats_.output(call_.outputs[o], all_[5 + o].dtype, call_.flushed_at(o));
  }
  float* out_or_scratch(std::size_t o) {
    return call_.outputs[o].data ? out(o) : floats_.scratch();
  }

  cpu::RunningStatistics running_statistics(const cpu::BatchStatistics& statistics) {
    return {channels_,
            static_cast<float>(op_.momentum),
            statistics.mean,
            statistics.variance,
            in(3),
            in(4),
            out_or_scratch(1),
            out_or_scratch(2),
            static_cast<float>(op_.variance_factor(norm_.layout.per_channel()))};
  }

  const BatchNormalization& op_;
  std::int64_t channels_;
  const std::vector<Operand>& all_;
  const KernelCall& call_;
  FloatVectors floats_;
  cpu::BatchNormApply norm_;
};

Offer offer_training(const Request& request, const SharedChannels& shared) {
  const auto op = request.as<BatchNormalization>();
  const std::int64_t vectors = FloatVectors::bytes(shared.layout.channels, 12);
  Offer offer;
  offer.workspace = vectors + cpu::batch_norm_workspace(shared.layout);
  offer.run = [op, shared, vectors, all = operands_of(request)](const KernelCall& call) {
    TrainingRun(op, shared, all, call).run(call.workspace + vectors);
  };
  return offer;
}

Offer offer_inference(const Request& request, const SharedChannels& shared) {
  const auto epsilon = static_cast<float>(request.as<BatchNormalization>().epsilon);
  const std::int64_t vectors = FloatVectors::bytes(shared.layout.channels, 4);
  Offer offer;
  offer.workspace = vectors + cpu::batch_norm_workspace(shared.layout);
  offer.in_place = {{0, 0}};
  offer.run = [epsilon, shared, vectors, all = operands_of(request)](const KernelCall& call) {
    FloatVectors floats(shared.layout.channels, call.workspace);
    const auto in = [&](std::size_t i) { return floats.input(call.inputs[i], all[i].dtype); };
    cpu::BatchNormApply norm = apply_of(shared, all, call);
    norm.scale = in(1);
    norm.bias = in(2);
    norm.mean = in(3);
    batch_norm_infer(norm, in(4), epsilon, call.workspace + vectors);
  };
  return offer;
}

Offer offer_batch_norm(const Request& request) {
  const Operand &x = request.inputs[0], &y = request.outputs[0];
  std::string reason = vector_reason(request.inputs.subspan(1));
  if (reason.empty()) reason = vector_reason(request.outputs.subspan(1));
  if (!reason.empty()) return Offer::decline(std::move(reason));
  SharedChannels shared = shared_channels({&x, &y});
  if (!shared.reason.empty()) return Offer::decline(std::move(shared.reason));
  Offer offer = request.as<BatchNormalization>().training_mode ? offer_training(request, shared)
                                                               : offer_inference(request, shared);
  offer.implementation = "rows, f32 statistics";
  return offer;
}

Offer offer_again(const Request& request) {
  std::string reason = vector_reason(request.inputs.subspan(1));
  if (!reason.empty()) return Offer::decline(std::move(reason));
  SharedChannels shared = shared_channels({&request.inputs[0], &request.outputs[0]});
  if (!shared.reason.empty()) return Offer::decline(std::move(shared.reason));
  const std::int64_t vectors = FloatVectors::bytes(shared.layout.channels, 4);
  Offer offer;
  offer.implementation = "rows, given statistics";
  offer.workspace = vectors + cpu::batch_norm_workspace(shared.layout);
  offer.in_place = {{0, 0}};
  offer.run = [shared, vectors, all = operands_of(request)](const KernelCall& call) {
    FloatVectors floats(shared.layout.channels, call.workspace);
    const auto in = [&](std::size_t i) { return floats.input(call.inputs[i], all[i].dtype); };
    cpu::BatchNormApply norm;
    norm.layout = shared.layout;
    norm.x = array_of(call.inputs[0], all[0], shared.pitches[0]);
    norm.y = array_of(call.outputs[0], all[5], shared.pitches[1], call.flushed_at(0));
    norm.scale = in(1);
    norm.bias = in(2);
    norm.mean = in(3);
    norm.inverse_std = in(4);
    batch_norm_apply(norm, call.workspace + vectors);
  };
  return offer;
}

// dx = scale * inverse_std * dy, from the forward kernel on dy with a mean of 0.
void backward_given(const cpu::BatchNormBackward& norm, float* zeros, void* workspace) {
  std::fill_n(zeros, norm.layout.channels, 0.0F);
  cpu::BatchNormApply apply;
  apply.layout = norm.layout;
  apply.x = norm.dy;
  apply.y = norm.dx;
  apply.scale = norm.scale;
  apply.bias = apply.mean = zeros;
  apply.inverse_std = norm.inverse_std;
  batch_norm_apply(apply, workspace);
}

Offer offer_batch_norm_gradient(const Request& request) {
  std::string reason = vector_reason(request.inputs.subspan(2));
  if (reason.empty()) reason = vector_reason(request.outputs.subspan(1));
  if (!reason.empty()) return Offer::decline(std::move(reason));
  SharedChannels shared =
      shared_channels({&request.inputs[0], &request.inputs[1], &request.outputs[0]});
  if (!shared.reason.empty()) return Offer::decline(std::move(shared.reason));
  const bool training = request.as<BatchNormalizationGradient>().training;
  const std::int64_t vectors = FloatVectors::bytes(shared.layout.channels, 6);
  Offer offer;
  offer.implementation = "rows, f32 statistics";
  offer.workspace = vectors + cpu::batch_norm_workspace(shared.layout);
  offer.in_place = {{0, 0}, {1, 0}};
  offer.run = [training, shared, vectors, all = operands_of(request)](const KernelCall& call) {
    FloatVectors floats(shared.layout.channels, call.workspace);
    const auto in = [&](std::size_t i) { return floats.input(call.inputs[i], all[i].dtype); };
    const auto out = [&](std::size_t o) {
      return floats.output(call.outputs[o], all[5 + o].dtype, call.flushed_at(o));
    };
    cpu::BatchNormBackward norm;
    norm.layout = shared.layout;
    norm.dy = array_of(call.inputs[0], all[0], shared.pitches[0]);
    norm.x = array_of(call.inputs[1], all[1], shared.pitches[1]);
    norm.scale = in(2);
    norm.mean = in(3);
    norm.inverse_std = in(4);
    norm.is_batch_mean = training;
    norm.scale_gradient = out(1);
    norm.bias_gradient = out(2);
    norm.dx = array_of(call.outputs[0], all[5], shared.pitches[2], call.flushed_at(0));
    void* const workspace = call.workspace + vectors;
    cpu::BatchNormBackward sums = norm;
    if (!training) sums.dx = {};
    if (training || norm.scale_gradient || norm.bias_gradient) batch_norm_backward(sums, workspace);
    if (!training && norm.dx) backward_given(norm, floats.scratch(), workspace);
    floats.store();
  };
  return offer;
}

// The sizes of a row-major [N, C, inner].
struct BatchNormSizes {
  std::int64_t batch, channels, inner;
  explicit BatchNormSizes(const Dims& dims)
      : batch(dims[0]), channels(dims[1]), inner(element_count(std::span(dims).subspan(2))) {}
  double count() const { return static_cast<double>(batch * inner); }
  template <class Visit>
  void each(std::int64_t channel, const Visit& visit) const {
    for (std::int64_t n = 0; n < batch; ++n)
      for (std::int64_t i = 0; i < inner; ++i) visit((n * channels + channel) * inner + i);
  }
};

struct Moments {
  double mean = 0, variance = 0;
};

Moments moments_of(const ReferenceView& x, const BatchNormSizes& sizes, std::int64_t channel) {
  Moments moments;
  sizes.each(channel, [&](std::int64_t i) { moments.mean += x[i]; });
  moments.mean /= sizes.count();
  sizes.each(channel, [&](std::int64_t i) {
    moments.variance += (x[i] - moments.mean) * (x[i] - moments.mean);
  });
  moments.variance /= sizes.count();
  return moments;
}

Offer batch_norm_reference(const Request& request) {
  const auto op = request.as<BatchNormalization>();
  return reference_offer(request, [op](const auto& in, const auto& out, const KernelCall&) {
    const BatchNormSizes sizes(in[0].dims());
    for (std::int64_t c = 0; c < sizes.channels; ++c) {
      const Moments given{in[3][c], in[4][c]};
      const Moments used = op.training_mode ? moments_of(in[0], sizes, c) : given;
      const double inverse_std = 1 / std::sqrt(used.variance + op.epsilon);
      sizes.each(c, [&](std::int64_t i) {
        out[0].set(i, (in[0][i] - used.mean) * inverse_std * in[1][c] + in[2][c]);
      });
      if (!op.training_mode) continue;
      out[1].set(c, given.mean * op.momentum + used.mean * (1 - op.momentum));
      const double variance =
          used.variance * op.variance_factor(static_cast<std::int64_t>(sizes.count()));
      out[2].set(c, given.variance * op.momentum + variance * (1 - op.momentum));
      out[3].set(c, used.mean);
      out[4].set(c, inverse_std);
      out[5].set(c, in[2][c] - (used.mean - out[3][c]) * inverse_std * in[1][c]);
    }
  });
}

Offer normalize_again_reference(const Request& request) {
  return reference_offer(request, [](const auto& in, const auto& out, const KernelCall&) {
    const BatchNormSizes sizes(in[0].dims());
    for (std::int64_t c = 0; c < sizes.channels; ++c)
      sizes.each(c, [&](std::int64_t i) {
        out[0].set(i, (in[0][i] - in[3][c]) * in[4][c] * in[1][c] + in[2][c]);
      });
  });
}

Offer batch_norm_gradient_reference(const Request& request) {
  const bool training = request.as<BatchNormalizationGradient>().training;
  return reference_offer(request, [training](const auto& in, const auto& out, const KernelCall&) {
    const BatchNormSizes sizes(in[0].dims());
    for (std::int64_t c = 0; c < sizes.channels; ++c) {
      const double mean = in[3][c], inverse_std = in[4][c];
      const auto normal = [&](std::int64_t i) { return (in[1][i] - mean) * inverse_std; };
      double dbias = 0, dscale = 0;
      sizes.each(c, [&](std::int64_t i) {
        dbias += in[0][i];
        dscale += in[0][i] * normal(i);
      });
      sizes.each(c, [&](std::int64_t i) {
        const double through_statistics =
            training ? (dbias + normal(i) * dscale) / sizes.count() : 0.0;
        out[0].set(i, in[2][c] * inverse_std * (in[0][i] - through_statistics));
      });
      out[1].set(c, dscale);
      out[2].set(c, dbias);
    }
  });
}

constexpr Kernel batch_norm_kernels[] = {{"rows", offer_batch_norm},
                                         {"reference", batch_norm_reference}};
constexpr Kernel normalize_again_kernels[] = {{"rows", offer_again},
                                              {"reference", normalize_again_reference}};
constexpr Kernel batch_norm_gradient_kernels[] = {{"rows", offer_batch_norm_gradient},
                                                  {"reference", batch_norm_gradient_reference}};

}  // namespace

std::span<const Kernel> BatchNormalization::kernels() { return batch_norm_kernels; }
std::span<const Kernel> NormalizeAgain::kernels() { return normalize_again_kernels; }
std::span<const Kernel> BatchNormalizationGradient::kernels() {
  return batch_norm_gradient_kernels;
}

}  // namespace narrowgauge
