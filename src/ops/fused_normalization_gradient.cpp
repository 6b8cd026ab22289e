// SPDX-License-Identifier: Apache-2.0
#include "ops/fused_normalization_gradient.h"

#include <memory>
#include <optional>

#include "base/cpu.h"
#include "kernels/cpu/batch_inner_gather.h"
#include "kernels/cpu/batch_norm.h"
#include "ops/arithmetic.h"
#include "ops/batch_normalization.h"
#include "ops/channels.h"
#include "ops/conv.h"
#include "ops/conv_tiles.h"
#include "ops/fused.h"
#include "ops/fused_body.h"
#include "ops/relu.h"

namespace narrowgauge {

namespace {

// Places among the group's inputs and outputs; -1: none.
struct Normalization {
  int x, scale, mean, inverse_std;
  int dx, dscale, dbias;
};

struct Pattern {
  const Node* convolution = nullptr;
  int dy = -1, weights = -1;  // dy is the gradient itself where there is no convolution
  int other = -1, kept = -1;
  int slope = -1;  // what the normalizations read, as output
  std::vector<Normalization> normalizations;
};

// Reads the chain from its beginning.
class Matcher {
 public:
  explicit Matcher(const Graph& body) : body_(body), nodes_(working_nodes(body)) {}

  std::optional<Pattern> match() {
    if (nodes_.empty() || !take_convolution() || !take_add() || !take_relu()) return {};
    if (next_ == 0) return {};  // a normalization alone has its own kernel
    pattern_.slope = output_index(body_, slope_);
    while (next_ < nodes_.size())
      if (!take_normalization()) return {};
    const std::size_t count = pattern_.normalizations.size();
    const bool whole = outputs_ == body_.outputs().size() - (pattern_.slope >= 0 ? 1 : 0);
    if (count == 0 || count > cpu::Slopes::most || !whole) return {};
    return std::move(pattern_);
  }

 private:
  const Node* next() const { return next_ < nodes_.size() ? &body_.node(nodes_[next_]) : nullptr; }
  void advance() { slope_ = {nodes_[next_++], 0}; }

  bool take_convolution() {
    if (!next()->is<ConvDataGradient>()) return true;
    pattern_.convolution = next();
    pattern_.dy = input_index(body_, next()->inputs[0]);
    pattern_.weights = input_index(body_, next()->inputs[1]);
    advance();
    return pattern_.dy >= 0 && pattern_.weights >= 0;
  }

  bool take_add() {
    if (!next() || !next()->is<Add>()) return true;
    if (next_ == 0) {
      slope_ = next()->inputs[0];
      pattern_.dy = input_index(body_, slope_);
      if (pattern_.dy < 0) return false;
    }
    pattern_.other = other_input(body_, *next(), slope_);
    advance();
    return pattern_.other >= 0;
  }

  bool take_relu() {
    if (!next() || !next()->is<ReluGradient>()) return true;
    const Values& inputs = next()->inputs;
    if (next_ == 0) {
      slope_ = inputs[1];
      pattern_.dy = input_index(body_, slope_);
    }
    pattern_.kept = input_index(body_, inputs[0]);
    if (!(inputs[1] == slope_)) return false;
    advance();
    return pattern_.kept >= 0 && pattern_.dy >= 0;
  }

  bool take_normalization() {
    const int index = nodes_[next_++];
    const Node& node = body_.node(index);
    if (!node.is<BatchNormalizationGradient>()) return false;
    if (!node.as<BatchNormalizationGradient>().training || !(node.inputs[0] == slope_))
      return false;
    const auto in = [&](std::size_t i) { return input_index(body_, node.inputs[i]); };
    const auto out = [&](int o) {
      const int found = output_index(body_, {index, o});
      outputs_ += found >= 0;
      return found;
    };
    pattern_.normalizations.push_back({in(1), in(2), in(3), in(4), out(0), out(1), out(2)});
    const Normalization& last = pattern_.normalizations.back();
    return last.x >= 0 && last.scale >= 0 && last.mean >= 0 && last.inverse_std >= 0 &&
           last.dx >= 0;
  }

  const Graph& body_;
  std::vector<int> nodes_;
  std::size_t next_ = 0, outputs_ = 0;
  Value slope_;
  Pattern pattern_;
};

struct Operands {
  const Request& request;
  const Operand& in(int i) const { return request.inputs[static_cast<std::size_t>(i)]; }
  const Operand* out(int o) const {
    return o < 0 ? nullptr : &request.outputs[static_cast<std::size_t>(o)];
  }
};

std::string operand_reason(const Operands& operands, const Pattern& pattern) {
  const Dims& dims = operands.in(pattern.normalizations[0].x).dims;
  std::string reason;
  const auto image = [&](const Operand* operand) {
    if (operand && reason.empty()) reason = image_reason(*operand, dims);
  };
  const auto vector = [&](const Operand* operand) {
    if (operand && reason.empty()) reason = vector_reason(*operand);
  };
  if (!pattern.convolution) image(&operands.in(pattern.dy));
  for (const int i : {pattern.other, pattern.kept})
    if (i >= 0) image(&operands.in(i));
  image(operands.out(pattern.slope));
  for (const Normalization& norm : pattern.normalizations) {
    image(&operands.in(norm.x));
    image(operands.out(norm.dx));
    if (!operands.out(norm.dx)->present) reason = "nobody reads dx";
    for (const int i : {norm.scale, norm.mean, norm.inverse_std}) vector(&operands.in(i));
    for (const int o : {norm.dscale, norm.dbias}) vector(operands.out(o));
  }
  return reason;
}

// The workspace: what the gather needs, the pieces' sums, their joins, and the normalizations'.
class Backward {
 public:
  Backward(Pattern pattern, std::shared_ptr<const cpu::BatchInnerGather> gather,
           const cpu::ChannelLayout& layout)
      : pattern_(std::move(pattern)), gather_(std::move(gather)), layout_(layout) {
    pattern_.convolution = nullptr;  // lives no longer than the request
  }

  std::int64_t workspace() const {
    return gather_->workspace() + parts_bytes() + joined_bytes() +
           cpu::batch_norm_workspace(layout_);
  }

  void run(const KernelCall& call) const {
    auto* const parts = reinterpret_cast<float*>(call.workspace + gather_->workspace());
    auto* const sums =
        reinterpret_cast<double*>(call.workspace + gather_->workspace() + parts_bytes());
    void* const slope = out(call, pattern_.slope >= 0 ? pattern_.slope : norm(0).dx);
    gather_->run(
        {in(call, pattern_.dy), in(call, pattern_.weights), nullptr, slope, call.workspace},
        {.kind = cpu::Epilogue::Kind::slopes, .slopes = slopes(call, parts)});
    for (std::size_t p = 0; p < 1 + count(); ++p)
      gather_->join(parts + static_cast<std::int64_t>(p) * gather_->part_floats(),
                    sums + static_cast<std::int64_t>(p) * layout_.channels);
    // The first last: it may be written over what the others read.
    for (std::size_t p = count(); p-- > 0;) normalize(call, p, slope, sums);
  }

 private:
  std::size_t count() const { return pattern_.normalizations.size(); }
  const Normalization& norm(std::size_t p) const { return pattern_.normalizations[p]; }
  std::int64_t parts_bytes() const {
    return (static_cast<std::int64_t>(1 + count()) * gather_->part_floats() * 4 + 63) / 64 * 64;
  }
  std::int64_t joined_bytes() const {
    return static_cast<std::int64_t>(1 + count()) * layout_.channels * 8;
  }
  static void* in(const KernelCall& call, int i) {
    return i < 0 ? nullptr : call.inputs[static_cast<std::size_t>(i)].data;
  }
  static void* out(const KernelCall& call, int o) {
    return o < 0 ? nullptr : call.outputs[static_cast<std::size_t>(o)].data;
  }

  cpu::Slopes slopes(const KernelCall& call, float* parts) const {
    cpu::Slopes slopes;
    slopes.other = static_cast<const std::byte*>(in(call, pattern_.other));
    slopes.kept = static_cast<const std::byte*>(in(call, pattern_.kept));
    slopes.sum = parts;
    slopes.count = static_cast<int>(count());
    for (std::size_t p = 0; p < count(); ++p)
      slopes.products[p] = {static_cast<const std::byte*>(in(call, norm(p).x)),
                            static_cast<const float*>(in(call, norm(p).mean)),
                            parts += gather_->part_floats()};
    return slopes;
  }

  // The mean's rounding is left out: of bf16 values it is far below their own.
  void normalize(const KernelCall& call, std::size_t p, const void* slope, double* sums) const {
    cpu::BatchNormBackward backward;
    backward.layout = layout_;
    backward.dy = {slope, DType::bf16};
    backward.x = {in(call, norm(p).x), DType::bf16};
    backward.scale = static_cast<const float*>(in(call, norm(p).scale));
    backward.mean = static_cast<const float*>(in(call, norm(p).mean));
    backward.inverse_std = static_cast<const float*>(in(call, norm(p).inverse_std));
    backward.dx = {out(call, norm(p).dx), DType::bf16};
    backward.scale_gradient = static_cast<float*>(out(call, norm(p).dscale));
    backward.bias_gradient = static_cast<float*>(out(call, norm(p).dbias));
    double* const product = sums + static_cast<std::int64_t>(1 + p) * layout_.channels;
    auto* const workspace = reinterpret_cast<std::byte*>(sums) + joined_bytes();
    batch_norm_backward_from(backward, {sums, product, nullptr}, workspace);
  }

  Pattern pattern_;
  std::shared_ptr<const cpu::BatchInnerGather> gather_;
  cpu::ChannelLayout layout_;
};

}  // namespace

Offer offer_fused_normalization_gradient(const Request& request) {
  auto pattern = Matcher(*request.as<Fused>().body).match();
  if (!pattern) return Offer::decline("no gradient of a normalization behind others");
  if (isa() != Isa::amx) return Offer::decline(concat("tiles need amx, this is ", name(isa())));
  const Operands operands{request};
  std::string reason = operand_reason(operands, *pattern);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const Operand& x = operands.in(pattern->normalizations[0].x);
  std::shared_ptr<const cpu::BatchInnerGather> gather;
  if (pattern->convolution) {
    TilesConvolution tiles = tiles_convolution(
        *pattern->convolution, x, operands.in(pattern->weights), operands.in(pattern->dy));
    if (!tiles.reason.empty()) return Offer::decline(std::move(tiles.reason));
    gather = std::make_shared<const cpu::BatchInnerGather>(tiles.convolution);
  } else {
    gather = std::make_shared<const cpu::BatchInnerGather>(x.dims);
  }
  Offer offer;
  offer.implementation =
      pattern->convolution ? "amx tiles, batch-inner, to normalization" : "slopes to normalization";
  const int written = pattern->slope >= 0 ? pattern->slope : pattern->normalizations[0].dx;
  if (pattern->other >= 0) offer.in_place.push_back({pattern->other, written});
  if (!pattern->convolution) offer.in_place.push_back({pattern->dy, written});
  const auto backward = std::make_shared<const Backward>(std::move(*pattern), std::move(gather),
                                                         shared_channels({&x}).layout);
  offer.workspace = backward->workspace();
  offer.run = [backward](const KernelCall& call) { backward->run(call); };
  return offer;
}

}  // namespace narrowgauge
