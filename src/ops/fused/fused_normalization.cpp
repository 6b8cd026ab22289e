// SPDX-License-Identifier: Apache-2.0
#include "ops/fused/fused_normalization.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "kernels/cpu/normalization/batch_norm.h"
#include "kernels/cpu/tiles/tile_convolution.h"
#include "ops/activation/relu.h"
#include "ops/fused/fused.h"
#include "ops/fused/fused_body.h"
#include "ops/math/arithmetic.h"
#include "ops/nn/batch_normalization.h"
#include "ops/nn/conv.h"
#include "ops/offers/channels.h"
#include "ops/offers/conv_tiles.h"

namespace narrowgauge {

namespace {

// The indices of the group's operands by their part in the pattern; -1: none.
struct Pattern {
  const Node* convolution = nullptr;
  int source = -1, weights = -1;  // of the convolution
  int convolved = -1;             // its result, where it is an output; else it lies in y
  BatchNormalization op;
  std::array<int, 5> inputs{};  // x (-1 after a convolution), scale, bias, mean, variance
  int other = -1;
  bool relu = false;
  int y = -1;
  std::array<int, 5> statistics{};  // running mean and variance, mean, inverse_std, b
};

class Matcher {
 public:
  explicit Matcher(const Graph& body) : body_(body), nodes_(working_nodes(body)) {}

  std::optional<Pattern> match() {
    if (nodes_.size() < 2 || !take_convolution() || !take_normalization() || !take_tail())
      return {};
    pattern_.y = output(last_);
    if (next_ < nodes_.size() || found_ != body_.outputs().size() || pattern_.y < 0) return {};
    return std::move(pattern_);
  }

 private:
  const Node* next() const { return next_ < nodes_.size() ? &body_.node(nodes_[next_]) : nullptr; }
  void advance() { last_ = {nodes_[next_++], 0}; }
  int output(Value value) {
    const int index = output_index(body_, value);
    found_ += index >= 0;
    return index;
  }

  bool take_convolution() {
    const Node& node = *next();
    if (!node.is<Conv>()) return true;
    if (node.inputs.size() > 2 && !node.inputs[2].is_absent()) return false;
    pattern_.convolution = &node;
    pattern_.source = input_index(body_, node.inputs[0]);
    pattern_.weights = input_index(body_, node.inputs[1]);
    advance();
    pattern_.convolved = output(last_);
    return pattern_.source >= 0 && pattern_.weights >= 0;
  }

  bool take_normalization() {
    const Node& node = *next();
    if (!node.is<BatchNormalization>()) return false;
    pattern_.op = node.as<BatchNormalization>();
    for (std::size_t i = 0; i < 5; ++i) pattern_.inputs[i] = input_index(body_, node.inputs[i]);
    const bool in_place = pattern_.convolution ? node.inputs[0] == last_ : pattern_.inputs[0] >= 0;
    const bool known = std::all_of(pattern_.inputs.begin() + 1, pattern_.inputs.end(),
                                   [](int index) { return index >= 0; });
    advance();
    for (int o = 0; o < 5; ++o)
      pattern_.statistics[static_cast<std::size_t>(o)] = output({last_.node, o + 1});
    return in_place && known;
  }

  bool take_tail() {
    if (next() && next()->is<Add>()) {
      pattern_.other = other_input(body_, *next(), last_);
      advance();
      if (pattern_.other < 0 || !next()) return false;
    }
    if (!next()) return true;
    pattern_.relu = next()->is<Relu>() && next()->inputs[0] == last_;
    advance();
    return pattern_.relu;
  }

  const Graph& body_;
  std::vector<int> nodes_;
  std::size_t next_ = 0, found_ = 0;
  Value last_;
  Pattern pattern_;
};

struct Operands {
  const Request& request;
  const Operand& in(int i) const { return request.inputs[static_cast<std::size_t>(i)]; }
  const Operand& out(int o) const { return request.outputs[static_cast<std::size_t>(o)]; }
};

std::string vectors_reason(const Operands& operands, const Pattern& pattern) {
  if (pattern.op.training_mode == 0) return "not in training";
  std::string reason;
  const auto see = [&](const Operand& vector) {
    if (reason.empty()) reason = vector_reason(vector);
  };
  for (std::size_t i = 1; i < 5; ++i) see(operands.in(pattern.inputs[i]));
  for (const int o : pattern.statistics)
    if (o >= 0) see(operands.out(o));
  return reason;
}

// After a convolution, all images must be in batch-inner blocks.
std::string blocks_reason(const Operands& operands, const Pattern& pattern) {
  const Isa isa = operands.request.target.isa;
  if (isa != Isa::amx) return concat("vectors of blocks need amx, this is ", name(isa));
  const Operand& y = operands.out(pattern.y);
  std::string reason = image_reason(y, y.dims);
  if (pattern.other >= 0 && reason.empty())
    reason = image_reason(operands.in(pattern.other), y.dims);
  if (pattern.convolved < 0 || !reason.empty()) return reason;
  const Operand& convolved = operands.out(pattern.convolved);
  return convolved.present ? image_reason(convolved, y.dims) : "an output that nobody reads";
}

// The layout that y, x (after a convolution: y again) and other share.
SharedChannels images(const Operands& operands, const Pattern& pattern) {
  const Operand& y = operands.out(pattern.y);
  if (!y.present) return {{}, {}, "nobody reads y"};
  std::vector<const Operand*> all{&y, pattern.inputs[0] < 0 ? &y : &operands.in(pattern.inputs[0])};
  if (pattern.other >= 0) all.push_back(&operands.in(pattern.other));
  for (const Operand* image : all)
    if (image->dims != y.dims) return {{}, {}, "images are broadcast"};
  return shared_channels(all);
}

// The workspace: vectors, the convolution's own and its pieces' moments, the normalization's.
class Forward {
 public:
  Forward(Pattern pattern, std::shared_ptr<const cpu::TileConvolution> kernel,
          SharedChannels images, const Operands& operands)
      : pattern_(std::move(pattern)),
        kernel_(std::move(kernel)),
        layout_(images.layout),
        pitches_(std::move(images.pitches)) {
    pattern_.convolution = nullptr;  // lives no longer than the request
    y_ = operands.out(pattern_.y).dtype;
    x_ = kernel_ ? y_ : operands.in(pattern_.inputs[0]).dtype;
    if (pattern_.other >= 0) other_ = operands.in(pattern_.other).dtype;
  }

  std::int64_t workspace() const {
    return vectors() + kernel_bytes() + parts_bytes() + cpu::batch_norm_workspace(layout_);
  }

  void run(const KernelCall& call) const {
    FloatVectors floats(layout_.channels, call.workspace);
    const auto out = [&](std::size_t i) {
      auto* given = static_cast<float*>(data_at(call.outputs, pattern_.statistics[i]));
      return given ? given : floats.scratch();
    };
    cpu::BatchStatistics statistics;
    statistics.mean = out(2);
    statistics.inverse_std = out(3);
    statistics.variance = floats.scratch();
    statistics.mean_low = floats.scratch();
    cpu::BatchNormApply norm = normalization(call);
    const auto epsilon = static_cast<float>(pattern_.op.epsilon);
    void* const workspace = call.workspace + vectors() + kernel_bytes() + parts_bytes();
    norm.mean = statistics.mean;
    norm.mean_low = statistics.mean_low;
    norm.inverse_std = statistics.inverse_std;
    if (kernel_) {
      convolve(call, epsilon, statistics);
      batch_norm_apply(norm, workspace);
    } else {
      batch_norm_train(norm, epsilon, statistics, workspace);
    }
    if (pattern_.statistics[4] >= 0) batch_norm_factors(norm, floats.scratch(), out(4));
    cpu::update_running_statistics({layout_.channels, static_cast<float>(pattern_.op.momentum),
                                    statistics.mean, statistics.variance, input<float>(call, 3),
                                    input<float>(call, 4), out(0), out(1)});
  }

 private:
  std::int64_t vectors() const { return FloatVectors::bytes(layout_.channels, 8); }
  std::int64_t kernel_bytes() const { return kernel_ ? kernel_->workspace() : 0; }
  std::int64_t parts_bytes() const {
    return kernel_ ? (3 * kernel_->part_floats() * 4 + 63) / 64 * 64 : 0;
  }
  template <class T>
  const T* input(const KernelCall& call, std::size_t i) const {
    return call.inputs[static_cast<std::size_t>(pattern_.inputs[i])].as<const T>();
  }
  void* convolved(const KernelCall& call) const {
    return data_at(call.outputs, pattern_.convolved >= 0 ? pattern_.convolved : pattern_.y);
  }

  cpu::BatchNormApply normalization(const KernelCall& call) const {
    cpu::BatchNormApply norm;
    norm.layout = layout_;
    norm.x = {kernel_ ? convolved(call) : input<void>(call, 0), x_, pitches_[1]};
    norm.y = {data_at(call.outputs, pattern_.y), y_, pitches_[0],
              call.flushed_at(static_cast<std::size_t>(pattern_.y))};
    if (pattern_.other >= 0)
      norm.other = {data_at(call.inputs, pattern_.other), other_, pitches_[2]};
    norm.relu = pattern_.relu;
    norm.scale = input<float>(call, 1);
    norm.bias = input<float>(call, 2);
    return norm;
  }

  void convolve(const KernelCall& call, float epsilon,
                const cpu::BatchStatistics& statistics) const {
    std::byte* const own = call.workspace + vectors();
    auto* const parts = reinterpret_cast<float*>(own + kernel_->workspace());
    const std::int64_t size = kernel_->part_floats();
    const cpu::PieceMoments moments{parts, parts + size, parts + 2 * size};
    kernel_->run(
        {data_at(call.inputs, pattern_.source), data_at(call.inputs, pattern_.weights), nullptr,
         convolved(call), own, call.flushed_at(static_cast<std::size_t>(pattern_.y))},
        {.kind = cpu::Epilogue::Kind::moments, .moments = moments});
    kernel_->join(moments, epsilon, statistics);
  }

  Pattern pattern_;
  std::shared_ptr<const cpu::TileConvolution> kernel_;
  cpu::ChannelLayout layout_;
  std::vector<std::int64_t> pitches_;
  DType y_ = DType::f32, x_ = DType::f32, other_ = DType::f32;
};

}  // namespace

Offer offer_fused_normalization(const Request& request) {
  auto pattern = Matcher(*request.as<Fused>().body).match();
  if (!pattern) return Offer::decline("no normalization among others");
  const Operands operands{request};
  SharedChannels shared = images(operands, *pattern);
  std::string reason = shared.reason;
  if (reason.empty()) reason = vectors_reason(operands, *pattern);
  if (reason.empty() && pattern->convolution) reason = blocks_reason(operands, *pattern);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  std::shared_ptr<const cpu::TileConvolution> kernel;
  if (pattern->convolution) {
    TilesConvolution tiles =
        tiles_convolution(*pattern->convolution, operands.in(pattern->source),
                          operands.in(pattern->weights), operands.out(pattern->y), request.target);
    if (!tiles.reason.empty()) return Offer::decline(std::move(tiles.reason));
    kernel = std::make_shared<const cpu::TileConvolution>(tiles.convolution);
  }
  Offer offer;
  offer.implementation = kernel ? "amx tiles, batch-inner, normalize" : "normalize, f32 statistics";
  if (kernel) offer.facts = cpu::tile_facts(operands.in(pattern->source).dtype);
  if (pattern->other >= 0 && (!kernel || pattern->convolved >= 0))
    offer.in_place = {{pattern->other, pattern->y}};
  const auto forward = std::make_shared<const Forward>(std::move(*pattern), std::move(kernel),
                                                       std::move(shared), operands);
  offer.workspace = forward->workspace();
  offer.run = [forward](const KernelCall& call) { forward->run(call); };
  return offer;
}

}  // namespace narrowgauge
