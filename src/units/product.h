// SPDX-License-Identifier: Apache-2.0
// Matrix products as a matrix unit computes them, bit by bit. Each element of the result is one
// dot_product_add() along k from k = 0 on; the fast ways (AVX-512 vectors, chains of FMAs) give the
// same bits, whatever the CPU, the number of threads or the flushing of subnormals.
#pragma once

#include <cstdint>

#include "base/indexed_vector.h"
#include "narrowgauge/matrix_unit.h"
#include "units/elements.h"

namespace narrowgauge::sim {

// How a product is computed.
enum class Way : std::uint8_t { scalar, cut_sums, chains, integers };

// The operand b of a model's products, unpacked once for any number of rows. multiply() still reads
// `b`, whose lines are columns, if it is not unpacked or not finite.
class PackedColumns {
 public:
  PackedColumns(const UnitModel& model, std::int64_t columns, std::int64_t depth,
                const Elements& b);

  static constexpr std::int64_t panel = 16;  // columns that lie together: [panel][k][column]
  Way way() const { return way_; }
  const Elements& elements() const { return elements_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t depth() const { return depth_; }
  // The panel that begins with `column`: first() has significands or values, second() exponents.
  const float* first(std::int64_t column) const { return first_.data() + column * depth_; }
  const float* second(std::int64_t column) const { return second_.data() + column * depth_; }
  bool is_finite(std::int64_t column) const { return finite_[column]; }

 private:
  using Numbers = IndexedVector<std::int64_t, float>;

  void pack(std::int64_t column);

  Way way_;
  Elements elements_;
  std::int64_t columns_, depth_;
  Numbers first_, second_;
  IndexedVector<std::int64_t, char> finite_;
};

// Rows of a result: element (i, j) of the model's result format at data[i * row_stride + j].
struct ResultRows {
  void* data = nullptr;
  std::int64_t row_stride = 0;
};

// d = c + a b; rows of a are its lines. c may be null (zeros), and may be d. If a sum becomes NaN,
// the result is the unit's own NaN (GPUs: 0x7fffffff, 0x7fff), else the quiet NaN.
void multiply(const UnitModel& model, std::int64_t rows, const Elements& a, const PackedColumns& b,
              const ResultRows& c, const ResultRows& d);

}  // namespace narrowgauge::sim
