// SPDX-License-Identifier: Apache-2.0
#include "ops/math/einsum.h"

#include <algorithm>

#include "narrowgauge/graph.h"
#include "ops/control/composite.h"
#include "ops/math/arithmetic.h"
#include "ops/math/einsum_equation.h"
#include "ops/math/matmul.h"
#include "ops/math/reduce.h"
#include "ops/shape/axes.h"
#include "ops/shape/gather.h"
#include "ops/shape/reshape.h"
#include "ops/shape/transpose.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

bool contains(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

Labels joined(Labels a, const Labels& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

struct Term {
  Value value;
  Labels labels;
};

// Contracts terms whose axes are told by their labels.
class Contraction {
 public:
  Contraction(Rewriting& r, const EinsumEquation& equation) : r_(r), equation_(equation) {}

  Value result() const {
    Term all = simplified(0);
    for (std::size_t i = 1; i < equation_.terms.size(); ++i) {
      Labels needed = equation_.output;
      for (std::size_t later = i + 1; later < equation_.terms.size(); ++later)
        needed = joined(needed, equation_.terms[later]);
      all = product(all, simplified(i), needed);
    }
    return ordered(summed(all, equation_.output), equation_.output);
  }

 private:
  // An input with each label once, without axes of size 1 that are broadcast.
  Term simplified(std::size_t i) const {
    Term term{r_.input(static_cast<int>(i)), equation_.terms[i]};
    for (std::size_t axis = term.labels.size(); axis-- > 0;) {
      Shape shape = r_.shape(term.value);
      if (shape[axis] == equation_.sizes.at(term.labels[axis])) continue;
      shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
      term = {r_.add(ReshapeTo{shape}, {term.value}), without(term.labels, axis)};
    }
    for (std::size_t axis = 0; axis < term.labels.size(); ++axis)
      while (std::count(term.labels.begin(), term.labels.end(), term.labels[axis]) > 1)
        term = diagonal(term, axis);
    return term;
  }
  static Labels without(Labels labels, std::size_t axis) {
    labels.erase(labels.begin() + static_cast<std::ptrdiff_t>(axis));
    return labels;
  }

  // Joins the next axis of the same label with this one.
  Term diagonal(const Term& term, std::size_t axis) const {
    const auto first = term.labels.begin() + static_cast<std::ptrdiff_t>(axis);
    const auto second = std::find(first + 1, term.labels.end(), *first);
    Dims perm{static_cast<std::int64_t>(axis), second - term.labels.begin()};
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(term.labels.size()); ++i)
      if (i != perm[0] && i != perm[1]) perm.push_back(i);
    const Value square = r_.add(Transpose{perm}, {term.value});
    Shape shape = r_.shape(square);
    const std::int64_t size = shape[0].value();
    shape.erase(shape.begin());
    shape[0] = size * size;
    Dims places;
    for (std::int64_t i = 0; i < size; ++i) places.push_back(i * (size + 1));
    const Value rows = r_.add(ReshapeTo{shape}, {square});
    Labels labels{*first};
    for (std::size_t i = 2; i < perm.size(); ++i)
      labels.push_back(term.labels[static_cast<std::size_t>(perm[i])]);
    return {r_.add(Gather{}, {rows, r_.constant(list_of(places))}), labels};
  }

  // Sums over the axes whose labels are not among the kept ones.
  Term summed(const Term& term, const Labels& kept) const {
    Dims axes;
    Labels labels;
    for (std::size_t i = 0; i < term.labels.size(); ++i) {
      if (contains(kept, term.labels[i]))
        labels.push_back(term.labels[i]);
      else
        axes.push_back(static_cast<std::int64_t>(i));
    }
    if (axes.empty()) return term;
    ReduceSum sum;
    sum.keepdims = 0;
    return {r_.add(sum, {term.value, r_.constant(list_of(axes))}), labels};
  }

  // The axes in the order of `labels`, which are those of the term.
  Value ordered(const Term& term, const Labels& labels) const {
    if (term.labels == labels) return term.value;
    Dims perm;
    for (const int label : labels)
      perm.push_back(std::find(term.labels.begin(), term.labels.end(), label) -
                     term.labels.begin());
    return r_.add(Transpose{perm}, {term.value});
  }

  Shape sizes_of(const Labels& labels) const {
    Shape sizes;
    for (const int label : labels) sizes.push_back(equation_.sizes.at(label));
    return sizes;
  }
  Dim count(const Labels& labels) const { return element_count(sizes_of(labels)); }
  Value reshaped(Value value, const Shape& shape) const {
    return r_.add(ReshapeTo{shape}, {value});
  }

  // A product of matrices: axes of both terms are its batch, or are summed over if not needed.
  Term product(const Term& left, const Term& right, const Labels& needed) const {
    const Term a = summed(left, joined(right.labels, needed));
    const Term b = summed(right, joined(left.labels, needed));
    Labels batch, inner, rows, columns;
    for (const int label : a.labels)
      (!contains(b.labels, label) ? rows
       : contains(needed, label)  ? batch
                                  : inner)
          .push_back(label);
    for (const int label : b.labels)
      if (!contains(a.labels, label)) columns.push_back(label);
    const Value x = reshaped(ordered(a, joined(joined(batch, rows), inner)),
                             {count(batch), count(rows), count(inner)});
    const Value y = reshaped(ordered(b, joined(joined(batch, inner), columns)),
                             {count(batch), count(inner), count(columns)});
    const Labels labels = joined(joined(batch, rows), columns);
    return {reshaped(matrix_product(x, y), sizes_of(labels)), labels};
  }

  Value matrix_product(Value x, Value y) const {
    if (is_floating(r_.type(x).dtype)) return r_.add(MatMul{}, {x, y});
    Shape left = r_.shape(x), right = r_.shape(y);
    left.push_back(1);
    right.insert(right.begin() + 1, 1);
    ReduceSum sum;
    sum.keepdims = 0;
    const Value products = r_.add(Mul{}, {reshaped(x, left), reshaped(y, right)});
    return r_.add(sum, {products, r_.constant(list_of(Dims{2}))});
  }

  Rewriting& r_;
  const EinsumEquation& equation_;
};

}  // namespace

TensorTypes Einsum::infer(const Inference& in) const {
  require(in.count() > 0, "Einsum: at least one input is expected");
  std::vector<Shape> shapes;
  for (int i = 0; i < in.count(); ++i) shapes.push_back(in.shape(i));
  const EinsumEquation read(equation, shapes);
  Shape shape;
  for (const int label : read.output) shape.push_back(read.sizes.at(label));
  return {{in.dtype(0), shape}};
}

Values Einsum::decompose(Rewriting& r) const {
  std::vector<Shape> shapes;
  for (int i = 0; i < r.input_count(); ++i) shapes.push_back(r.shape(r.input(i)));
  const EinsumEquation read(equation, shapes);
  return {Contraction(r, read).result()};
}

std::span<const Kernel> Einsum::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(einsum, narrowgauge::Einsum)
