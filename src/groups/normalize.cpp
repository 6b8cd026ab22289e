// SPDX-License-Identifier: Apache-2.0
// A BatchNormalization in training, optionally with the convolution before it and the sum with a
// residual and the Relu behind it.
#include <array>
#include <memory>
#include <optional>

#include "groups/group.h"
#include "groups/operands.h"
#include "ir/reason.h"
#include "kernels/cpu/batch_inner/tile_convolution.h"
#include "kernels/cpu/core/workspace.h"
#include "kernels/cpu/normalization/batch_norm.h"
#include "ops/activation/relu.h"
#include "ops/convolution/conv.h"
#include "ops/normalization/batch_normalization.h"
#include "ops/offers/channels.h"
#include "ops/pointwise/arithmetic.h"

namespace narrowgauge {

namespace {

struct Normalize {
  static constexpr std::string_view name = "normalize";
  struct Pattern : GroupPattern {
    Part convolution = maybe<Conv>();
    Part norm = anchor<BatchNormalization>({shared(0, {convolution, outside})});
    Part sum = maybe<Add>({reads(either, {norm})});
    Part relu = maybe<Relu>({reads(0, {sum, norm})});
    Pattern() { prefer({relu, sum, convolution}); }
  };
  static Offer offer(const GroupRequest& group, const Pattern& parts);
};

// Indices of operands; -1: none.
struct NormalizeOperands {
  int source = -1, weights = -1;  // of the convolution
  int convolved = -1;             // its result, where it is an output; else it lies in y
  std::array<int, 5> inputs{};    // x (-1 after a convolution), scale, bias, mean, variance
  int other = -1, y = -1;
  std::array<int, 5> statistics{};  // running mean and variance, mean, inverse_std, b

  NormalizeOperands(const GroupMatch& match, const Normalize::Pattern& parts) {
    if (match.has(parts.convolution)) {
      source = match.input(parts.convolution, 0);
      weights = match.input(parts.convolution, 1);
      convolved = match.output(parts.convolution);
    }
    for (std::size_t i = 0; i < 5; ++i) {
      inputs[i] = match.input(parts.norm, i);
      statistics[i] = match.output(parts.norm, static_cast<int>(i) + 1);
    }
    if (match.has(parts.sum)) other = match.other(parts.sum);
    y = match.output(match.has(parts.relu) ? parts.relu : parts.norm);
  }
};

// Why the members are not those that the kernel computes; "" if they are.
std::string normalize_form_reason(const GroupMatch& match, const Normalize::Pattern& parts,
                                  const NormalizeOperands& at) {
  const bool convolves = match.has(parts.convolution);
  const auto known = [&](std::size_t i) { return at.inputs[i] >= 0; };
  return first_reason(
      [&] { return unless(match.has(parts.relu) || !match.has(parts.sum), "a sum without Relu"); },
      [&] {
        return unless(!convolves || match.node(parts.convolution).inputs.size() < 3 ||
                          match.node(parts.convolution).inputs[2].is_absent(),
                      "a convolution with bias");
      },
      [&] {
        const bool all = known(1) && known(2) && known(3) && known(4) &&
                         (convolves ? at.source >= 0 && at.weights >= 0 : known(0)) &&
                         (at.other >= 0 || !match.has(parts.sum));
        return unless(all, "a normalization of constants");
      },
      [&] { return unless(at.y >= 0, "nobody reads y"); });
}

std::string vectors_reason(const GroupRequest& group, const NormalizeOperands& at) {
  std::string reason;
  const auto see = [&](const Operand& vector) {
    if (reason.empty()) reason = vector_reason(vector);
  };
  for (std::size_t i = 1; i < 5; ++i) see(group.input(at.inputs[i]));
  for (const int o : at.statistics)
    if (o >= 0) see(group.output(o));
  return reason;
}

// After a convolution, all images must be in batch-inner blocks.
std::string blocks_reason(const GroupRequest& group, const NormalizeOperands& at) {
  const Isa isa = group.target().isa;
  if (isa != Isa::amx) return concat("vectors of blocks need amx, this is ", name(isa));
  const Operand& y = group.output(at.y);
  return first_reason(
      [&] { return image_reason(y, y.dims); },
      [&] { return at.other < 0 ? std::string() : image_reason(group.input(at.other), y.dims); },
      [&] {
        return unless(at.convolved < 0 || group.output(at.convolved).present,
                      "an output that nobody reads");
      },
      [&] {
        return at.convolved < 0 ? std::string() : image_reason(group.output(at.convolved), y.dims);
      });
}

// The layout that y, x (after a convolution: y again) and other share.
SharedChannels images(const GroupRequest& group, const NormalizeOperands& at) {
  const Operand& y = group.output(at.y);
  if (!y.present) return {{}, {}, "nobody reads y"};
  std::vector<const Operand*> all{&y, at.source >= 0 ? &y : &group.input(at.inputs[0])};
  if (at.other >= 0) all.push_back(&group.input(at.other));
  for (const Operand* image : all)
    if (image->dims != y.dims) return {{}, {}, "images are broadcast"};
  return shared_channels(all);
}

// What the kernel knows of its operands before it runs.
struct Settings {
  NormalizeOperands at;
  bool relu;
  float epsilon, momentum, variance_factor;
  cpu::ChannelLayout layout;
  std::vector<std::int64_t> pitches;
  DType y, x, other = DType::f32;
};

class NormalizeKernel {
 public:
  NormalizeKernel(Settings settings, const std::optional<cpu::BatchInnerConvolution>& convolution)
      : s_(std::move(settings)),
        vectors_(workspace_.add_bytes(FloatVectors::bytes(channels(), 8))) {
    if (convolution) {
      convolution_ = std::make_unique<const cpu::TileConvolution>(*convolution);
      own_ = workspace_.add_bytes(convolution_->workspace());
      for (auto& moment : moments_) moment = workspace_.add<float>(convolution_->part_floats());
    }
    normalization_ = workspace_.add_bytes(cpu::batch_norm_workspace(s_.layout));
  }

  std::int64_t workspace() const { return workspace_.bytes(); }

  void run(const KernelCall& call) const {
    FloatVectors floats(channels(), vectors_.in(call.workspace));
    const auto out = [&](std::size_t i) {
      auto* given = static_cast<float*>(data_at(call.outputs, s_.at.statistics[i]));
      return given ? given : floats.scratch();
    };
    cpu::BatchStatistics statistics;
    statistics.mean = out(2);
    statistics.inverse_std = out(3);
    statistics.variance = floats.scratch();
    statistics.mean_low = floats.scratch();
    cpu::BatchNormApply norm = application(call);
    norm.mean = statistics.mean;
    norm.mean_low = statistics.mean_low;
    norm.inverse_std = statistics.inverse_std;
    std::byte* const workspace = normalization_.in(call.workspace);
    if (convolution_) {
      convolve(call, statistics);
      batch_norm_apply(norm, workspace);
    } else {
      batch_norm_train(norm, s_.epsilon, statistics, workspace);
    }
    if (s_.at.statistics[4] >= 0) batch_norm_factors(norm, floats.scratch(), out(4));
    cpu::update_running_statistics({channels(), s_.momentum, statistics.mean, statistics.variance,
                                    input(call, 3), input(call, 4), out(0), out(1),
                                    s_.variance_factor});
  }

 private:
  std::int64_t channels() const { return s_.layout.channels; }
  const float* input(const KernelCall& call, std::size_t i) const {
    return static_cast<const float*>(data_at(call.inputs, s_.at.inputs[i]));
  }
  void* convolved(const KernelCall& call) const {
    return data_at(call.outputs, s_.at.convolved >= 0 ? s_.at.convolved : s_.at.y);
  }

  cpu::BatchNormApply application(const KernelCall& call) const {
    cpu::BatchNormApply norm;
    norm.layout = s_.layout;
    const void* const x = convolution_ ? convolved(call) : data_at(call.inputs, s_.at.inputs[0]);
    norm.x = {x, s_.x, s_.pitches[1]};
    norm.y = {data_at(call.outputs, s_.at.y), s_.y, s_.pitches[0], flushed_at(call, s_.at.y)};
    if (s_.at.other >= 0) norm.other = {data_at(call.inputs, s_.at.other), s_.other, s_.pitches[2]};
    norm.relu = s_.relu;
    norm.scale = input(call, 1);
    norm.bias = input(call, 2);
    return norm;
  }

  void convolve(const KernelCall& call, const cpu::BatchStatistics& statistics) const {
    const cpu::PieceMoments moments{moments_[0].in(call.workspace), moments_[1].in(call.workspace),
                                    moments_[2].in(call.workspace)};
    convolution_->run(
        {data_at(call.inputs, s_.at.source), data_at(call.inputs, s_.at.weights), nullptr,
         convolved(call), own_.in(call.workspace), flushed_at(call, s_.at.y)},
        {.kind = cpu::Epilogue::Kind::moments, .moments = moments});
    convolution_->join(moments, s_.epsilon, statistics);
  }

  Settings s_;
  std::unique_ptr<const cpu::TileConvolution> convolution_;
  cpu::Workspace workspace_;
  cpu::WorkspaceArray<std::byte> vectors_, own_, normalization_;
  std::array<cpu::WorkspaceArray<float>, 3> moments_;
};

Settings settings_of(const GroupRequest& group, const Normalize::Pattern& parts,
                     const NormalizeOperands& at, const SharedChannels& shared) {
  const BatchNormalization& op = group.match.as<BatchNormalization>(parts.norm);
  const DType y = group.output(at.y).dtype;
  return {.at = at,
          .relu = group.match.has(parts.relu),
          .epsilon = static_cast<float>(op.epsilon),
          .momentum = static_cast<float>(op.momentum),
          .variance_factor = static_cast<float>(op.variance_factor(shared.layout.per_channel())),
          .layout = shared.layout,
          .pitches = shared.pitches,
          .y = y,
          .x = at.source >= 0 ? y : group.input(at.inputs[0]).dtype,
          .other = at.other >= 0 ? group.input(at.other).dtype : DType::f32};
}

Offer Normalize::offer(const GroupRequest& group, const Pattern& parts) {
  const BatchNormalization& op = group.match.as<BatchNormalization>(parts.norm);
  const NormalizeOperands at(group.match, parts);
  SharedChannels shared;
  TilesConvolution tiles;
  const bool convolves = group.match.has(parts.convolution);
  std::string reason =
      first_reason([&] { return normalize_form_reason(group.match, parts, at); },
                   [&] { return (shared = images(group, at)).reason; },
                   [&] { return unless(op.training_mode != 0, "not in training"); },
                   [&] { return vectors_reason(group, at); },
                   [&] { return convolves ? blocks_reason(group, at) : std::string(); },
                   [&] {
                     if (!convolves) return std::string();
                     tiles = tiles_convolution(
                         convolution_of(group.match.node(parts.convolution), group.input(at.source),
                                        group.input(at.weights), group.output(at.y)),
                         group.target());
                     return tiles.reason;
                   });
  if (!reason.empty()) return Offer::decline(std::move(reason));
  Settings settings = settings_of(group, parts, at, shared);
  Offer offer;
  offer.implementation =
      convolves ? "amx tiles, batch-inner, normalize" : "normalize, f32 statistics";
  if (convolves) offer.facts = cpu::tile_facts(group.input(at.source).dtype);
  if (at.other >= 0 && (!convolves || at.convolved >= 0)) offer.in_place = {{at.other, at.y}};
  offer.prepare = [settings = std::move(settings),
                   convolution =
                       convolves ? std::optional(tiles.convolution) : std::nullopt](Offer& ready) {
    const auto kernel = std::make_shared<const NormalizeKernel>(settings, convolution);
    ready.workspace = kernel->workspace();
    ready.run = [kernel](const KernelCall& call) { kernel->run(call); };
  };
  return offer;
}

}  // namespace

}  // namespace narrowgauge

NG_GROUP(normalize, narrowgauge::Normalize)
