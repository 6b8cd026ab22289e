// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/cpu/normalization/layer_norm.h"
#include "ops/axes/axes.h"
#include "ops/axes/axis.h"
#include "ops/normalization/layer_normalization.h"
#include "ops/offers/channels.h"
#include "ops/reference.h"
#include "tensor/dtype_sets.h"

namespace narrowgauge {

namespace {

// x as rows; `axis` and all later axes are columns.
cpu::RowLayout rows_of(std::string_view op, const Dims& x, std::int64_t axis) {
  const std::size_t first = normalize_axis(op, axis, x.size());
  return {element_count(std::span(x).first(first)), element_count(std::span(x).subspan(first))};
}

std::string rows_reason(const Request& request) {
  for (const auto operands : {request.inputs, request.outputs})
    for (const Operand& operand : operands) {
      if (!operand.present) continue;
      const DType dtype = operand.dtype;
      if (!is_f32_or_narrow(dtype)) return concat("dtype ", dtype);
      if (!is_dense(operand)) return "operands with gaps";
      if (element_count(operand.dims) == 0) return "no elements";
    }
  if (!request.outputs[0].present) return "nobody reads the result";
  return {};
}

std::vector<DType> dtypes_of(std::span<const Operand> operands) {
  std::vector<DType> dtypes;
  for (const Operand& operand : operands) dtypes.push_back(operand.dtype);
  return dtypes;
}

// The arrays of one call, in the dtypes of its operands.
struct Arrays {
  const KernelCall& call;
  const std::vector<DType>&inputs, &outputs;
  cpu::ConstArray in(std::size_t i) const {
    if (i >= call.inputs.size()) return {};
    return {call.inputs[i].data, inputs[i]};
  }
  cpu::Array out(std::size_t o) const {
    return {call.outputs[o].data, outputs[o], 0, call.flushed_at(o)};
  }
};

Offer offer_layer_norm(const Request& request) {
  std::string reason = rows_reason(request);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const auto op = request.as<LayerNormalization>();
  const cpu::RowLayout layout = rows_of("LayerNormalization", request.inputs[0].dims, op.axis);
  Offer offer;
  offer.implementation = "rows, f32 statistics";
  offer.workspace = cpu::layer_norm_workspace(layout);
  offer.in_place = {{0, 0}};
  offer.run = [op, layout, inputs = dtypes_of(request.inputs),
               outputs = dtypes_of(request.outputs)](const KernelCall& call) {
    const Arrays arrays{call, inputs, outputs};
    cpu::LayerNormForward norm;
    norm.layout = layout;
    norm.x = arrays.in(0);
    norm.scale = arrays.in(1);
    norm.bias = arrays.in(2);
    norm.y = arrays.out(0);
    norm.epsilon = static_cast<float>(op.epsilon);
    norm.mean = call.outputs[1].as<float>();
    norm.inverse_std = call.outputs[2].as<float>();
    layer_norm_forward(norm, call.workspace);
  };
  return offer;
}

Offer offer_layer_norm_gradient(const Request& request) {
  std::string reason = rows_reason(request);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const cpu::RowLayout layout = rows_of("LayerNormalizationGradient", request.inputs[0].dims,
                                        request.as<LayerNormalizationGradient>().axis);
  const std::int64_t vectors = FloatVectors::bytes(layout.rows, 2);
  Offer offer;
  offer.implementation = "rows, f32 statistics";
  offer.workspace = vectors + cpu::layer_norm_backward_workspace(layout);
  offer.run = [layout, vectors, inputs = dtypes_of(request.inputs),
               outputs = dtypes_of(request.outputs)](const KernelCall& call) {
    const Arrays arrays{call, inputs, outputs};
    FloatVectors floats(layout.rows, call.workspace);
    cpu::LayerNormBackward norm;
    norm.layout = layout;
    norm.dy = arrays.in(0);
    norm.x = arrays.in(1);
    norm.scale = arrays.in(2);
    norm.mean = floats.input(call.inputs[3], inputs[3]);
    norm.inverse_std = floats.input(call.inputs[4], inputs[4]);
    norm.dx = arrays.out(0);
    norm.scale_gradient = arrays.out(1);
    norm.bias_gradient = arrays.out(2);
    layer_norm_backward(norm, call.workspace + vectors);
  };
  return offer;
}

Offer layer_norm_reference(const Request& request) {
  const auto op = request.as<LayerNormalization>();
  const cpu::RowLayout layout = rows_of("LayerNormalization", request.inputs[0].dims, op.axis);
  return reference_offer(request, [op, layout](const auto& in, const auto& out, const KernelCall&) {
    const auto count = static_cast<double>(layout.columns);
    for (std::int64_t row = 0; row < layout.rows; ++row) {
      const std::int64_t first = row * layout.columns;
      double mean = 0, variance = 0;
      for (std::int64_t c = 0; c < layout.columns; ++c) mean += in[0][first + c] / count;
      for (std::int64_t c = 0; c < layout.columns; ++c) {
        const double centred = in[0][first + c] - mean;
        variance += centred * centred / count;
      }
      const double inverse_std = 1 / std::sqrt(variance + op.epsilon);
      for (std::int64_t c = 0; c < layout.columns; ++c) {
        const double bias = in.size() > 2 && in[2].present() ? in[2][c] : 0.0;
        out[0].set(first + c, (in[0][first + c] - mean) * inverse_std * in[1][c] + bias);
      }
      out[1].set(row, mean);
      out[2].set(row, inverse_std);
    }
  });
}

Offer layer_norm_gradient_reference(const Request& request) {
  const cpu::RowLayout layout = rows_of("LayerNormalizationGradient", request.inputs[0].dims,
                                        request.as<LayerNormalizationGradient>().axis);
  return reference_offer(request, [layout](const auto& in, const auto& out, const KernelCall&) {
    const auto count = static_cast<double>(layout.columns);
    ReferenceSums dscale(layout.columns), dbias = dscale;
    for (std::int64_t row = 0; row < layout.rows; ++row) {
      const std::int64_t first = row * layout.columns;
      const auto normal = [&](std::int64_t c) {
        return (in[1][first + c] - in[3][row]) * in[4][row];
      };
      double sum = 0, product = 0;
      for (std::int64_t c = 0; c < layout.columns; ++c) {
        const double dy = in[0][first + c];
        sum += dy * in[2][c];
        product += dy * in[2][c] * normal(c);
        dscale[c] += dy * normal(c);
        dbias[c] += dy;
      }
      for (std::int64_t c = 0; c < layout.columns; ++c)
        out[0].set(first + c, in[4][row] * (in[0][first + c] * in[2][c] - sum / count -
                                            normal(c) * product / count));
    }
    for (std::int64_t c = 0; c < layout.columns; ++c) {
      out[1].set(c, dscale[c]);
      out[2].set(c, dbias[c]);
    }
  });
}

constexpr Kernel layer_norm_kernels[] = {{"rows", offer_layer_norm},
                                         {"reference", layer_norm_reference}};
constexpr Kernel layer_norm_gradient_kernels[] = {{"rows", offer_layer_norm_gradient},
                                                  {"reference", layer_norm_gradient_reference}};

}  // namespace

std::span<const Kernel> LayerNormalization::kernels() { return layer_norm_kernels; }
std::span<const Kernel> LayerNormalizationGradient::kernels() {
  return layer_norm_gradient_kernels;
}

}  // namespace narrowgauge
