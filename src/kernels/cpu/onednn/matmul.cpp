// SPDX-License-Identifier: Apache-2.0
#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/threads/parallel.h"
#include "kernels/cpu/contraction/contraction.h"
#include "kernels/cpu/contraction/contraction_parts.h"
#include "kernels/cpu/contraction/matmul_operands.h"
#include "kernels/cpu/onednn/sharded_primitive.h"

namespace narrowgauge::cpu {
namespace {

// A dense view by rows or columns, as the given view has it: oneDNN's fast kernels need one.
View dense_matrices(const View& view, DType dtype) {
  const std::size_t rows = view.dims.size() - 2, columns = rows + 1;
  View dense = dense_view(dtype, view.dims);
  const bool by_columns = view.dims[rows] > 1 && view.strides[rows] == 1 &&
                          (view.strides[columns] > 1 || view.dims[columns] == 1);
  if (by_columns) {
    dense.strides[rows] = 1;
    dense.strides[columns] = view.dims[rows];
  }
  return dense;
}

class MatMul {
 public:
  MatMul(const MatMulViews& views, const ContractionOptions& options)
      : operands_(matmul_operands(views)),
        bias_(views.bias),
        options_(options),
        shards_(choose_shards()) {}

  Prepared prepare() const {
    const Computing computing =
        *computing_for("matmul", {&operands_.a, &operands_.b, &operands_.y});
    if (may_be_native({&operands_.a, &operands_.b}, operands_.y, options_) && native_is_amx())
      return prepared({DType::bf16, ""});
    return prepared(computing);
  }

 private:
  // Cuts between whole matrices of a batch, else rows or columns of the one product.
  int cut_axis() const {
    if (operands_.batch_rank() > 0) return 0;
    return operands_.y.dims[0] >= operands_.y.dims[1] ? 0 : 1;
  }

  Shards choose_shards() const {
    const int axis = cut_axis();
    const double operations = 2.0 * static_cast<double>(element_count(operands_.y.dims)) *
                              static_cast<double>(operands_.a.dims.back());
    ShardRequest request{.extent = operands_.y.dims[static_cast<std::size_t>(axis)],
                         .operations = operations,
                         .elements = static_cast<double>(element_count(operands_.y.dims))};
    if (operands_.batch_rank() == 0) request.granule = axis == 0 ? 32 : 64;
    if (reads_columns_once())
      request.elements += static_cast<double>(element_count(operands_.b.dims));
    return cut(request);
  }

  // Whether b is cut by columns without being copied in each run. With few rows, most of the time
  // goes into reading it.
  bool reads_columns_once() const {
    if (operands_.batch_rank() > 0 || cut_axis() != 1) return false;
    const bool by_columns = operands_.b.strides[0] == 1;
    return by_columns || std::ranges::find(options_.lasting, 1) != options_.lasting.end();
  }

  static Port port(int number, int index, const View& view, DType dtype) {
    return {number, index, false, whole, view, dense_matrices(view, dtype), false};
  }

  std::vector<Port> ports(DType dtype) const {
    const View &a = operands_.a, &b = operands_.b, &y = operands_.y;
    const DType result = y.dtype == DType::bf16 ? dtype : DType::f32;
    std::vector<Port> ports{port(DNNL_ARG_SRC, 0, a, dtype), port(DNNL_ARG_WEIGHTS, 1, b, dtype),
                            port(DNNL_ARG_DST, 0, y, result)};
    ports[2].output = true;
    ports[2].wanted = dense_view(result, y.dims);
    const int axis = cut_axis();
    ports[2].axis = axis;
    const bool batch = operands_.batch_rank() > 0;
    if (batch ? a.dims[0] > 1 : axis == 0) ports[0].axis = axis;
    if (batch ? b.dims[0] > 1 : axis == 1) ports[1].axis = axis;
    // Packed once for all shards instead of in each of them.
    ports[1].free = !batch && axis == 0 && shards_.count > 1;
    if (bias_) ports.push_back(bias_port());
    return ports;
  }

  Port bias_port() const {
    View row{bias_->dtype, Dims(operands_.y.dims.size(), 1), Dims(operands_.y.dims.size(), 0)};
    row.dims.back() = bias_->dims[0];
    row.strides.back() = bias_->strides[0];
    const bool cut = operands_.batch_rank() == 0 && cut_axis() == 1;
    return {DNNL_ARG_BIAS, 2, false, cut ? 1 : whole, row, dense_view(DType::f32, row.dims), false};
  }

  static onednn::PrimitiveDescription describe(const std::vector<Port>& ports, const Range& range) {
    const onednn::Format a = shard_format(ports[0], range), b = shard_format(ports[1], range),
                         y = shard_format(ports[2], range);
    const onednn::Format bias = ports.size() > 3 ? shard_format(ports[3], range) : nullptr;
    dnnl_primitive_desc_t created = nullptr;
    onednn::check(dnnl_matmul_primitive_desc_create(&created, onednn::engine(), a.get(), b.get(),
                                                    bias.get(), y.get(), onednn::user_scratchpad()),
                  "dnnl_matmul_primitive_desc_create");
    return onednn::PrimitiveDescription(created);
  }

  bool native_is_amx() const {
    const std::vector<Port> ports = this->ports(DType::bf16);
    return is_amx(ports, shards_, [&](const Range& range) { return describe(ports, range); });
  }

  Prepared prepared(const Computing& computing) const {
    const std::vector<Port> ports = this->ports(computing.inputs);
    return prepare_sharded(
        ports, shards_, options_, [&](const Range& range) { return describe(ports, range); },
        computing.widening);
  }

  MatMulOperands operands_;
  std::optional<View> bias_;
  ContractionOptions options_;
  Shards shards_;
};

std::optional<View> broadcast_column_bias(const MatMulViews& views) {
  if (!views.bias) return std::nullopt;
  View view{views.bias->dtype, views.y.dims, Dims(views.y.dims.size(), 0)};
  view.strides.back() = views.bias->strides[0];
  return view;
}

}  // namespace

Prepared prepare_matmul(const MatMulViews& views, const ContractionOptions& options) {
  check_matmul_shapes(views);
  const View& bias = views.bias ? *views.bias : views.a;
  const bool f64 = !computing_for("matmul", {&views.a, &views.b, &views.y, &bias});
  if (element_count(views.y.dims) == 0 || views.a.dims.back() == 0)
    return prepare_fill(views.y, broadcast_column_bias(views), 2);
  if (f64) return prepare_matmul_f64(views);
  ContractionOptions settled = options;
  if (settled.threads == 0) settled.threads = thread_count();
  return MatMul(views, settled).prepare();
}

}  // namespace narrowgauge::cpu
