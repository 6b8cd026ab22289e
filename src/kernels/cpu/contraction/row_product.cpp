// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/contraction/row_product.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>

#include "base/threads/parallel.h"
#include "kernels/cpu/contraction/matmul_operands.h"
#include "kernels/cpu/core/strided_copy.h"
#include "kernels/cpu/core/workspace.h"
#include "kernels/cpu/lanes/simd.h"
#include "tensor/dtype_sets.h"

namespace narrowgauge::cpu {
namespace {

constexpr int most_rows = 4;
// Columns that one thread takes: long runs of each row, but work for all. Their sums stay in the
// first cache.
constexpr std::int64_t fewest_columns = 128, most_columns = 1024;
constexpr int depth_at_once = 4;

// One run: a is [rows, depth] and sums [rows, columns], both dense.
struct Task {
  const float* a;
  float* sums;
  std::int64_t depth, columns;
};

// Sums of columns whose elements stand one after another: `wide` columns side by side, so that
// several additions are under way at a time.
template <class Narrow, int rows, int wide>
void dots(const Task& task, const Narrow* b, std::int64_t stride, std::int64_t column) {
  Float8 sums[rows][wide];
  for (auto& row : sums)
    for (Float8& sum : row) sum = Float8::set(0);
  std::int64_t k = 0;
  for (; k + Float8::lanes <= task.depth; k += Float8::lanes)
    for (int c = 0; c < wide; ++c) {
      const Float8 w = Float8::load(b + c * stride + k);
      for (int r = 0; r < rows; ++r)
        sums[r][c] = fma(Float8::load(task.a + r * task.depth + k), w, sums[r][c]);
    }
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < wide; ++c) {
      const Float8 parts[] = {sums[r][c], Float8::set(0)};
      float sum = Float8::sum_of_sixteen(parts);
      for (std::int64_t rest = k; rest < task.depth; ++rest)
        sum += task.a[r * task.depth + rest] * Float8::one(b[c * stride + rest]);
      task.sums[r * task.columns + column + c] = sum;
    }
}

template <class Narrow, int rows>
void add_columns(const Task& task, const Narrow* b, std::int64_t stride, std::int64_t begin,
                 std::int64_t end) {
  constexpr int wide = rows == 1 ? 4 : 2;
  std::int64_t column = begin;
  for (; column + wide <= end; column += wide)
    dots<Narrow, rows, wide>(task, b + column * stride, stride, column);
  for (; column < end; ++column) dots<Narrow, rows, 1>(task, b + column * stride, stride, column);
}

// Adds `deep` rows of the matrix, which stand one after another, to columns [begin, end).
template <class Narrow, int rows, int deep>
void add_rows(const Task& task, const Narrow* b, std::int64_t stride, std::int64_t k,
              std::int64_t begin, std::int64_t end) {
  std::int64_t column = begin;
  for (; column + Float8::lanes <= end; column += Float8::lanes) {
    Float8 w[deep];
    for (int d = 0; d < deep; ++d) w[d] = Float8::load(b + (k + d) * stride + column);
    for (int r = 0; r < rows; ++r) {
      float* const at = task.sums + r * task.columns + column;
      Float8 sum = Float8::load(at);
      for (int d = 0; d < deep; ++d)
        sum = fma(Float8::set(task.a[r * task.depth + k + d]), w[d], sum);
      sum.store(at);
    }
  }
  for (; column < end; ++column)
    for (int r = 0; r < rows; ++r)
      for (int d = 0; d < deep; ++d)
        task.sums[r * task.columns + column] +=
            task.a[r * task.depth + k + d] * Float8::one(b[(k + d) * stride + column]);
}

template <class Narrow, int rows>
void add_rows(const Task& task, const Narrow* b, std::int64_t stride, std::int64_t begin,
              std::int64_t end) {
  for (int r = 0; r < rows; ++r)
    std::fill(task.sums + r * task.columns + begin, task.sums + r * task.columns + end, 0.0F);
  std::int64_t k = 0;
  for (; k + depth_at_once <= task.depth; k += depth_at_once)
    add_rows<Narrow, rows, depth_at_once>(task, b, stride, k, begin, end);
  for (; k < task.depth; ++k) add_rows<Narrow, rows, 1>(task, b, stride, k, begin, end);
}

bool has_dense_columns(const View& b) { return b.strides[0] == 1; }

template <class Narrow, int rows>
void multiply(const Task& task, const View& b, const void* data) {
  const auto* narrow = static_cast<const Narrow*>(data);
  const bool by_columns = has_dense_columns(b);
  const std::int64_t stride = b.strides[by_columns ? 1 : 0];
  const std::int64_t share =
      std::clamp(task.columns / thread_count(), fewest_columns, most_columns);
  parallel_for(task.columns, (share + 63) / 64 * 64, [&](std::int64_t begin, std::int64_t end) {
    (by_columns ? add_columns<Narrow, rows> : add_rows<Narrow, rows>)(task, narrow, stride, begin,
                                                                      end);
  });
}

using Multiply = void (*)(const Task&, const View&, const void*);

template <class Narrow>
Multiply multiply_for(std::int64_t rows) {
  constexpr Multiply all[most_rows] = {multiply<Narrow, 1>, multiply<Narrow, 2>,
                                       multiply<Narrow, 3>, multiply<Narrow, 4>};
  return all[rows - 1];
}

Multiply multiply_of(DType dtype, std::int64_t rows) {
  if (dtype == DType::f32) return multiply_for<float>(rows);
  return dtype == DType::f16 ? multiply_for<Float8::F16>(rows) : multiply_for<Float8::Bf16>(rows);
}

class RowProduct {
 public:
  explicit RowProduct(const MatMulViews& views)
      : operands_(matmul_operands(views)),
        bias_(views.bias),
        wide_a_(wide(operands_.a)),
        wide_y_(wide(operands_.y)),
        rows_(operands_.y.dims[0]),
        columns_(operands_.y.dims[1]),
        depth_(operands_.a.dims[1]),
        multiply_(multiply_of(operands_.b.dtype, rows_)) {
    if (bias_) wide_bias_ = wide(*bias_);
    a_ = layout_.add<float>(rows_ * depth_);
    sums_ = layout_.add<float>(rows_ * columns_);
    added_ = layout_.add<float>(bias_ ? columns_ : 0);
  }

  std::int64_t workspace() const { return layout_.bytes(); }

  void run(const Call& call) const {
    auto* const workspace = static_cast<std::byte*>(call.workspace);
    float* const a = a_.in(workspace);
    float* const sums = sums_.in(workspace);
    copy_strided(operands_.a, call.inputs[0], wide_a_, a);
    multiply_({a, sums, depth_, columns_}, operands_.b, call.inputs[1]);
    if (bias_) {
      float* const added = added_.in(workspace);
      copy_strided(*bias_, call.inputs[2], *wide_bias_, added);
      for (std::int64_t i = 0; i < rows_ * columns_; ++i) sums[i] += added[i % columns_];
    }
    std::int64_t flushed = 0;
    copy_strided(wide_y_, sums, operands_.y, call.outputs[0], &flushed);
    if (call.flushed && operands_.y.dtype == DType::f16)
      std::atomic_ref(*call.flushed).fetch_add(flushed, std::memory_order_relaxed);
  }

 private:
  static View wide(const View& view) { return dense_view(DType::f32, view.dims); }

  MatMulOperands operands_;
  std::optional<View> bias_, wide_bias_;
  View wide_a_, wide_y_;  // as the workspace has them
  std::int64_t rows_, columns_, depth_;
  Multiply multiply_;
  Workspace layout_;
  WorkspaceArray<float> a_, sums_, added_;
};

}  // namespace

std::string row_product_reason(const MatMulViews& views) {
  const MatMulOperands operands = matmul_operands(views);
  const View &a = operands.a, &b = operands.b, &y = operands.y;
  if (operands.batch_rank() > 0) return "several matrices";
  if (y.dims[0] > most_rows) return concat(y.dims[0], " rows");
  if (element_count(y.dims) == 0 || a.dims[1] == 0) return "nothing to multiply";
  if (!is_f32_or_narrow(b.dtype)) return concat("a matrix of ", b.dtype);
  for (const View* rows : {&a, &y})
    if (!is_f32_or_narrow(rows->dtype)) return concat("rows of ", rows->dtype);
  if (b.strides[0] != 1 && b.strides[1] != 1) return "neither rows nor columns are dense";
  return {};
}

Prepared prepare_row_product(const MatMulViews& views) {
  check_matmul_shapes(views);
  const std::string reason = row_product_reason(views);
  require(reason.empty(), "product of rows: ", reason);
  const auto product = std::make_shared<const RowProduct>(views);
  return {concat("rows, ", views.b.dtype, " read as it is"),
          product->workspace(),
          [product](const Call& call) { product->run(call); },
          {.isa = Isa::avx2, .widened = views.b.dtype != DType::f32}};
}

}  // namespace narrowgauge::cpu
