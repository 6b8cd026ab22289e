// SPDX-License-Identifier: Apache-2.0
#include "ops/math/determinant.h"

#include <cmath>
#include <utility>

#include "narrowgauge/graph.h"
#include "ops/reference.h"
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

  // By elimination, each time with the largest element of the column. Leaves other values behind.
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

TensorTypes DetGradient::infer(const Inference& in) const {
  require(in.shape(1) == batch_of(in), "DetGradient: dy must be of shape ", batch_of(in), ", got ",
          in.type(1));
  return {in.type(0)};
}

std::span<const Kernel> Det::kernels() { return determinant_kernels; }
std::span<const Kernel> DetGradient::kernels() { return determinant_gradient_kernels; }

}  // namespace narrowgauge

NG_OPS(determinant, narrowgauge::Det, narrowgauge::DetGradient)
