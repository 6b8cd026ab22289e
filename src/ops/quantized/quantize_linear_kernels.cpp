// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/quantize_linear_kernels.h"

#include <cmath>

#include "kernels/cpu/convert/convert.h"
#include "kernels/cpu/convert/keep_subnormals.h"
#include "kernels/cpu/core/quantize.h"
#include "ops/axes/axis.h"
#include "ops/quantized/quantize_linear.h"
#include "ops/reference.h"
#include "tensor/dtype_sets.h"
#include "tensor/values.h"

namespace narrowgauge {

namespace {

// Finds the scale that belongs to an element of x.
class ScaleIndex {
 public:
  ScaleIndex(const Dims& x, const Dims& scale, std::int64_t axis, std::int64_t block_size)
      : block_(block_size) {
    if (element_count(scale) == 1 && scale.size() <= 1 && block_size == 0) return;
    const auto at = static_cast<std::size_t>(axis < 0 ? axis + std::ssize(x) : axis);
    for (std::size_t i = at + 1; i < x.size(); ++i) inner_ *= x[i];
    size_ = x[at];
    one_ = false;
  }
  std::int64_t operator()(std::int64_t i) const {
    if (one_) return 0;
    const std::int64_t place = i / inner_ % size_;
    if (block_ == 0) return place;
    const std::int64_t blocks = (size_ + block_ - 1) / block_;
    return (i / inner_ / size_ * blocks + place / block_) * inner_ + i % inner_;
  }
  bool has_blocks() const { return block_ > 0; }
  bool is_one() const { return one_; }
  cpu::ScalePlaces places() const { return {size_, inner_, block_, one_}; }
  cpu::QuantizedLayout layout(std::int64_t count) const {
    if (one_) return {1, 1, count};
    return {count / (size_ * inner_), size_, inner_};
  }

 private:
  bool one_ = true;
  std::int64_t block_, inner_ = 1, size_ = 1;
};

ScaleIndex scale_index(const Request& request, std::int64_t axis, std::int64_t block_size) {
  return {request.inputs[0].dims, request.inputs[1].dims, axis, block_size};
}

std::int64_t zero_at(const std::vector<ReferenceView>& in, std::int64_t i) {
  return in.size() > 2 && in[2].present() ? in[2].integer(i) : 0;
}

// x / scale, in f32 except for f64.
double ratio_of(const ReferenceView& x, std::int64_t i, double scale) {
  if (x.dtype() == DType::f64) return x[i] / scale;
  return static_cast<double>(static_cast<float>(x[i]) / static_cast<float>(scale));
}

double stored_as(DType to, double ratio, std::int64_t zero, bool saturate) {
  if (is_small_float(to)) {
    const double most = largest_finite(to);
    return saturate && !std::isnan(ratio) ? std::min(std::max(ratio, -most), most) : ratio;
  }
  return (std::isnan(ratio) ? 0.0 : std::nearbyint(ratio)) + static_cast<double>(zero);
}

Offer quantize_reference(const Request& request) {
  const auto& op = request.as<QuantizeLinear>();
  const ScaleIndex index = scale_index(request, op.axis, op.block_size);
  return reference_offer(request, [index, saturate = op.saturate != 0](
                                      const auto& in, const auto& out, const KernelCall&) {
    const cpu::KeepSubnormals keep;
    for (std::int64_t i = 0; i < out[0].size(); ++i) {
      const std::int64_t at = index(i);
      const double ratio = ratio_of(in[0], i, in[1][at]);
      out[0].set(i, stored_as(out[0].dtype(), ratio, zero_at(in, at), saturate));
    }
  });
}

Offer dequantize_reference(const Request& request) {
  const auto& op = request.as<DequantizeLinear>();
  const ScaleIndex index = scale_index(request, op.axis, op.block_size);
  return reference_offer(request, [index](const auto& in, const auto& out, const KernelCall&) {
    const cpu::KeepSubnormals keep;
    const bool has_zeros = in.size() > 2 && in[2].present();
    for (std::int64_t i = 0; i < out[0].size(); ++i) {
      const std::int64_t at = index(i);
      const double x = in[0][i] - (has_zeros ? in[2][at] : 0.0), scale = in[1][at];
      const bool wide = out[0].dtype() == DType::f64;
      out[0].set(i, wide ? x * scale
                         : static_cast<double>(static_cast<float>(x) * static_cast<float>(scale)));
    }
  });
}

bool is_byte(DType dtype) { return dtype == DType::u8 || dtype == DType::i8; }

// Why the kernels cannot run through the memory of x and y side by side; "" if they can. With one
// scale, any order will do.
std::string layout_reason(const Request& request, const ScaleIndex& index) {
  const Operand &x = request.inputs[0], &y = request.outputs[0];
  if (index.is_one() && x.storage == y.storage && x.storage.blocks.empty() &&
      x.storage.encoding.empty())
    return x.strides == strides_of(x.dims, x.storage) && y.strides == x.strides
               ? ""
               : "an operand with gaps";
  for (const auto operands : {request.inputs, request.outputs})
    for (const Operand& operand : operands)
      if (operand.present && !is_dense(operand)) return "an operand with gaps";
  return {};
}

// Why the kernels cannot take the request; `wide` is the float side.
std::string kernel_reason(const Request& request, const ScaleIndex& index, const Operand& wide,
                          const Operand& narrow) {
  if (!is_f32_or_narrow(wide.dtype) || !is_byte(narrow.dtype))
    return concat(wide.dtype, " and ", narrow.dtype);
  if (index.has_blocks()) return "blocks of scales";
  if (std::string reason = layout_reason(request, index); !reason.empty()) return reason;
  if (element_count(wide.dims) == 0) return "nothing to compute";
  return {};
}

// Loads scales and zero points of all channels into a workspace.
struct ScaleLoader {
  DType scale, zero;
  bool has_zeros;
  std::int64_t count;

  explicit ScaleLoader(const Request& request)
      : scale(request.inputs[1].dtype),
        zero(DType::u8),
        has_zeros(request.inputs.size() > 2 && request.inputs[2].present),
        count(element_count(request.inputs[1].dims)) {
    if (has_zeros) zero = request.inputs[2].dtype;
  }
  std::int64_t bytes() const { return 8 * count; }
  cpu::QuantizedScales load(const KernelCall& call) const {
    auto* const scales = reinterpret_cast<float*>(call.workspace);
    auto* const zeros = reinterpret_cast<std::int32_t*>(scales + count);
    for (std::int64_t i = 0; i < count; ++i) {
      scales[i] = static_cast<float>(load_element(scale, call.inputs[1].data, i));
      zeros[i] =
          has_zeros ? static_cast<std::int32_t>(load_element(zero, call.inputs[2].data, i)) : 0;
    }
    return {scales, zeros};
  }
};

Offer offer_quantize(const Request& request) {
  const auto& op = request.as<QuantizeLinear>();
  const ScaleIndex index = scale_index(request, op.axis, op.block_size);
  const Operand &x = request.inputs[0], &y = request.outputs[0];
  std::string reason = kernel_reason(request, index, x, y);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const ScaleLoader loader(request);
  Offer offer;
  offer.workspace = loader.bytes();
  offer.run = [loader, layout = index.layout(element_count(x.dims)), from = x.dtype,
               to = y.dtype](const KernelCall& call) {
    cpu::quantize({call.inputs[0].data, from}, layout, loader.load(call), to,
                  call.outputs[0].as<std::uint8_t>());
  };
  return offer;
}

Offer offer_dequantize(const Request& request) {
  const auto& op = request.as<DequantizeLinear>();
  const ScaleIndex index = scale_index(request, op.axis, op.block_size);
  const Operand &x = request.inputs[0], &y = request.outputs[0];
  std::string reason = kernel_reason(request, index, y, x);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const ScaleLoader loader(request);
  Offer offer;
  offer.workspace = loader.bytes();
  offer.run = [loader, layout = index.layout(element_count(x.dims)), from = x.dtype,
               to = y.dtype](const KernelCall& call) {
    cpu::dequantize(call.inputs[0].as<std::uint8_t>(), from, layout, loader.load(call),
                    {call.outputs[0].data, to, 0, call.flushed_at(0)});
  };
  return offer;
}

// Loads scales and zero points, whatever their number and dtype, as f32 into a workspace.
struct BlockLoader {
  cpu::ScalePlaces places;
  DType scale, zero;
  bool has_zeros;
  std::int64_t count;

  BlockLoader(const Request& request, const ScaleIndex& index)
      : places(index.places()),
        scale(request.inputs[1].dtype),
        zero(DType::u8),
        has_zeros(request.inputs.size() > 2 && request.inputs[2].present),
        count(element_count(request.inputs[1].dims)) {
    if (has_zeros) zero = request.inputs[2].dtype;
  }
  std::int64_t bytes() const { return 8 * count; }
  cpu::BlockQuantization load(const KernelCall& call, bool saturate) const {
    auto* const scales = reinterpret_cast<float*>(call.workspace);
    cpu::widen_row(scale, call.inputs[1].data, scales, count);
    if (has_zeros) cpu::widen_row(zero, call.inputs[2].data, scales + count, count);
    return {places, scales, has_zeros ? scales + count : nullptr, saturate};
  }
};

std::string block_reason(const Request& request, const Operand& wide) {
  if (wide.dtype == DType::f64 || request.inputs[1].dtype == DType::f64) return "f64";
  for (const auto operands : {request.inputs, request.outputs})
    for (const Operand& operand : operands)
      if (operand.present && !is_dense(operand)) return "an operand with gaps";
  if (element_count(wide.dims) == 0) return "nothing to compute";
  return {};
}

Offer offer_quantize_blocks(const Request& request) {
  const auto& op = request.as<QuantizeLinear>();
  const Operand &x = request.inputs[0], &y = request.outputs[0];
  if (std::string reason = block_reason(request, x); !reason.empty())
    return Offer::decline(std::move(reason));
  const BlockLoader loader(request, scale_index(request, op.axis, op.block_size));
  Offer offer;
  offer.workspace = loader.bytes();
  offer.run = [loader, count = element_count(x.dims), from = x.dtype, to = y.dtype,
               saturate = op.saturate != 0](const KernelCall& call) {
    cpu::quantize_blocks({call.inputs[0].data, from}, count, loader.load(call, saturate), to,
                         call.outputs[0].data);
  };
  return offer;
}

Offer offer_dequantize_blocks(const Request& request) {
  const auto& op = request.as<DequantizeLinear>();
  const Operand &x = request.inputs[0], &y = request.outputs[0];
  if (std::string reason = block_reason(request, y); !reason.empty())
    return Offer::decline(std::move(reason));
  const BlockLoader loader(request, scale_index(request, op.axis, op.block_size));
  Offer offer;
  offer.workspace = loader.bytes();
  offer.run = [loader, count = element_count(x.dims), from = x.dtype,
               to = y.dtype](const KernelCall& call) {
    cpu::dequantize_blocks(call.inputs[0].data, from, count, loader.load(call, true),
                           {call.outputs[0].data, to, 0, call.flushed_at(0)});
  };
  return offer;
}

struct DynamicScale {
  float scale = 0;
  std::int32_t zero = 0;
};

DynamicScale dynamic_scale(const cpu::ValueRange& range) {
  const float scale = (range.most - range.least) / 255.0F;
  if (!(scale > 0)) return {};
  const float zero = std::nearbyint((0.0F - range.least) / scale);
  return {scale, static_cast<std::int32_t>(std::min(std::max(zero, 0.0F), 255.0F))};
}

Offer dynamic_reference(const Request& request) {
  return reference_offer(request, [](const auto& in, const auto& out, const KernelCall&) {
    cpu::ValueRange range;
    for (std::int64_t i = 0; i < in[0].size(); ++i) {
      const auto x = static_cast<float>(in[0][i]);
      if (x < range.least) range.least = x;
      if (x > range.most) range.most = x;
    }
    const DynamicScale to = dynamic_scale(range);
    for (std::int64_t i = 0; i < in[0].size(); ++i)
      out[0].set(i, to.scale == 0 ? 0.0
                                  : stored_as(DType::u8, ratio_of(in[0], i, double{to.scale}),
                                              to.zero, true));
    out[1].set(0, double{to.scale});
    out[2].set(0, to.zero);
  });
}

Offer offer_dynamic(const Request& request) {
  const std::int64_t count = element_count(request.inputs[0].dims);
  if (!is_dense(request.inputs[0]) || !is_dense(request.outputs[0]) || count == 0)
    return Offer::decline("an operand with gaps, or empty");
  Offer offer;
  offer.run = [count](const KernelCall& call) {
    const auto* const x = call.inputs[0].as<const float>();
    auto* const y = call.outputs[0].as<std::uint8_t>();
    const DynamicScale to = dynamic_scale(cpu::value_range(x, count));
    *call.outputs[1].as<float>() = to.scale;
    *call.outputs[2].as<std::uint8_t>() = static_cast<std::uint8_t>(to.zero);
    if (to.scale == 0)
      std::fill_n(y, count, std::uint8_t{0});
    else
      cpu::quantize({x, DType::f32}, {1, 1, count}, {&to.scale, &to.zero}, DType::u8, y);
  };
  return offer;
}

constexpr Kernel quantize_kernels[] = {
    {"rows", offer_quantize}, {"blocks", offer_quantize_blocks}, {"reference", quantize_reference}};
constexpr Kernel dequantize_kernels[] = {{"rows", offer_dequantize},
                                         {"blocks", offer_dequantize_blocks},
                                         {"reference", dequantize_reference}};
constexpr Kernel dynamic_kernels[] = {{"rows", offer_dynamic}, {"reference", dynamic_reference}};

}  // namespace

std::span<const Kernel> quantize_linear_kernels() { return quantize_kernels; }
std::span<const Kernel> dequantize_linear_kernels() { return dequantize_kernels; }
std::span<const Kernel> dynamic_quantize_kernels() { return dynamic_kernels; }

}  // namespace narrowgauge
