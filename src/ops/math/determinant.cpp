// SPDX-License-Identifier: Apache-2.0
#include "ops/math/determinant.h"

#include <cmath>
#include <utility>

#include "narrowgauge/graph.h"
#include "ops/axes/axes.h"
#include "ops/index/gather.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/reduce/reduce.h"
#include "ops/reference.h"
#include "ops/shape/reshape.h"
#include "ops/shape/views.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

// A square matrix in f64.
class Square {
 public:
  explicit Square(std::int64_t size)
      : size_(size), values_(static_cast<std::size_t>(size * size)) {}
  double& at(std::int64_t row, std::int64_t column) {
    return values_[static_cast<std::size_t>(row * size_ + column)];
  }

  // The matrix without a row and a column.
  Square minor(std::int64_t row, std::int64_t column) {
    Square result(size_ - 1);
    for (std::int64_t i = 0; i < size_ - 1; ++i)
      for (std::int64_t j = 0; j < size_ - 1; ++j)
        result.at(i, j) = at(i + (i >= row), j + (j >= column));
    return result;
  }

  // The determinant by elimination, each time with the largest element of the column. Leaves other
  // values behind.
  double determinant() {
    double product = 1;
    for (std::int64_t k = 0; k < size_; ++k) {
      std::int64_t pivot = k;
      for (std::int64_t i = k + 1; i < size_; ++i)
        if (std::abs(at(i, k)) > std::abs(at(pivot, k))) pivot = i;
      if (at(pivot, k) == 0) return 0;
      if (pivot != k) product = -product;
      for (std::int64_t j = k; j < size_; ++j) std::swap(at(k, j), at(pivot, j));
      product *= at(k, k);
      for (std::int64_t i = k + 1; i < size_; ++i) subtract_row(i, k);
    }
    return product;
  }

 private:
  void subtract_row(std::int64_t i, std::int64_t k) {
    const double factor = at(i, k) / at(k, k);
    for (std::int64_t j = k; j < size_; ++j) at(i, j) -= factor * at(k, j);
  }
  std::int64_t size_;
  std::vector<double> values_;
};

Square matrix_of(const ReferenceView& x, std::int64_t number) {
  const std::int64_t size = x.dims().back();
  Square matrix(size);
  for (std::int64_t i = 0; i < size; ++i)
    for (std::int64_t j = 0; j < size; ++j) matrix.at(i, j) = x[(number * size + i) * size + j];
  return matrix;
}

Offer determinant_reference(const Request& request) {
  return reference_offer(request, [](const auto& in, const auto& out, const KernelCall&) {
    for (std::int64_t m = 0; m < out[0].size(); ++m)
      out[0].set(m, matrix_of(in[0], m).determinant());
  });
}

Offer determinant_gradient_reference(const Request& request) {
  return reference_offer(request, [](const auto& in, const auto& out, const KernelCall&) {
    const std::int64_t size = in[0].dims().back();
    for (std::int64_t at = 0; at < out[0].size(); ++at) {
      const std::int64_t m = at / (size * size), row = at / size % size, column = at % size;
      const double minor = matrix_of(in[0], m).minor(row, column).determinant();
      out[0].set(at, in[1][m] * ((row + column) % 2 == 0 ? minor : -minor));
    }
  });
}

constexpr Kernel determinant_kernels[] = {{"reference", determinant_reference}};
constexpr Kernel determinant_gradient_kernels[] = {{"reference", determinant_gradient_reference}};

Shape batch_of(const Inference& in) {
  const Shape& x = in.shape(0);
  require(x.size() >= 2 && x[x.size() - 1] == x[x.size() - 2], in.op_name(),
          ": expected square matrices, got ", in.type(0));
  return {x.begin(), x.end() - 2};
}

}  // namespace

TensorTypes Det::infer(const Inference& in) const { return {{in.dtype(0), batch_of(in)}}; }

Values Det::gradient(Gradient& g) const {
  return {g.add(DetGradient{}, {g.input(0), g.output_gradient()})};
}

namespace {

// For each element of a square matrix its minor's elements, by their places in the matrix:
// [size, size, size - 1, size - 1].
Tensor places_of_minors(std::int64_t size) {
  std::vector<std::int64_t> places;
  for (std::int64_t row = 0; row < size; ++row)
    for (std::int64_t column = 0; column < size; ++column)
      for (std::int64_t i = 0; i < size - 1; ++i)
        for (std::int64_t j = 0; j < size - 1; ++j)
          places.push_back((i + (i >= row)) * size + j + (j >= column));
  return Tensor::from<std::int64_t>({size, size, size - 1, size - 1}, places);
}

Tensor signs_of_cofactors(std::int64_t size, DType dtype) {
  Tensor signs(dtype, {size, size});
  for (std::int64_t i = 0; i < signs.size(); ++i)
    signs.set(i, (i / size + i % size) % 2 == 0 ? 1 : -1);
  return signs;
}

// The cofactors as determinants of minors, which can be differentiated again.
struct Cofactors {
  Shape matrices, flat;  // [..., M, M], [..., M * M]
  std::int64_t size;
  Value minors, signs;  // [..., M, M, M - 1, M - 1], [M, M]

  Cofactors(Gradient& g, Value x) : matrices(g.shape(x)), flat(matrices) {
    require<UnknownValueError>(flat.back().is_known(),
                               "DetGradient: the size of the matrices must be known, got ", flat);
    size = flat.back().value();
    flat.pop_back();
    flat.back() = size * size;
    minors = g.add(Gather{.axis = -1},
                   {g.add(ReshapeTo{flat}, {x}), g.constant(places_of_minors(size))});
    signs = g.constant(signs_of_cofactors(size, g.type(x).dtype));
  }
  // What reaches x where this reaches the cofactors.
  Value back(Gradient& g, Value gradient) const {
    const Value to_minors = g.add(DetGradient{}, {minors, g.add(Mul{}, {gradient, signs})});
    const Value sums = g.add(GatherGradient{.axis = -1, .shape = flat},
                             {to_minors, g.constant(places_of_minors(size))});
    return g.add(ReshapeTo{matrices}, {sums});
  }
};

}  // namespace

// dx = dy cofactors(x)
Values DetGradient::gradient(Gradient& g) const {
  const Value x = g.input(0), dy = g.input(1), flowing = g.output_gradient();
  const Dim size = g.shape(x).back();
  if (size == Dim(0)) return g.absent_inputs();
  const Cofactors cofactors(g, x);
  const Value axes = g.constant(list_of(Dims{-2, -1}));
  Values gradients = g.absent_inputs();
  if (g.wants(0))
    gradients[0] = cofactors.back(g, g.add(Mul{}, {flowing, g.add(Unsqueeze{}, {dy, axes})}));
  if (g.wants(1)) {
    const Value of_x = g.add(Mul{}, {g.add(Det{}, {cofactors.minors}), cofactors.signs});
    gradients[1] = g.add(ReduceSum{.keepdims = 0}, {g.add(Mul{}, {flowing, of_x}), axes});
  }
  return gradients;
}

TensorTypes DetGradient::infer(const Inference& in) const {
  require(in.shape(1) == batch_of(in), "DetGradient: dy must be of shape ", batch_of(in), ", got ",
          in.type(1));
  return {in.type(0)};
}

std::span<const Kernel> Det::kernels() { return determinant_kernels; }
std::span<const Kernel> DetGradient::kernels() { return determinant_gradient_kernels; }

}  // namespace narrowgauge

NG_OPS(determinant, narrowgauge::Det, narrowgauge::DetGradient)
