// SPDX-License-Identifier: Apache-2.0
// Values with operators, so that decompose() and gradient() read like the formulas they build.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

// A value under construction. Numbers become scalar constants of the other operand's dtype. The
// operators are compiled once, in expression.cpp: a source that defines ops makes the record of
// every op that it adds, and inline they would have each such source make those of Add, Mul, ...
class Expression {
 public:
  Expression(Rewriting& r, Value value) : r_(&r), value_(value) {}
  operator Value() const { return value_; }  // NOLINT: it is one

  template <Op T>
  Expression apply(T op) const {
    return {*r_, r_->add(std::move(op), {value_})};
  }
  template <Op T>
  Expression apply(T op, Value other) const {
    return {*r_, r_->add(std::move(op), {value_, other})};
  }
  Expression number(double value) const { return {*r_, r_->scalar(value, r_->type(value_).dtype)}; }

  friend Expression operator+(Expression a, Expression b);
  friend Expression operator-(Expression a, Expression b);
  friend Expression operator*(Expression a, Expression b);
  friend Expression operator/(Expression a, Expression b);
  friend Expression operator+(Expression a, double b);
  friend Expression operator-(Expression a, double b);
  friend Expression operator*(Expression a, double b);
  friend Expression operator/(Expression a, double b);
  friend Expression operator+(double a, Expression b);
  friend Expression operator-(double a, Expression b);
  friend Expression operator*(double a, Expression b);
  friend Expression operator/(double a, Expression b);
  friend Expression operator-(Expression a);
  // bool values
  friend Expression operator<(Expression a, double b);
  friend Expression operator>(Expression a, double b);
  friend Expression operator==(Expression a, double b);

  friend Expression exp(Expression a);
  friend Expression log(Expression a);
  friend Expression sqrt(Expression a);
  friend Expression pow(Expression a, Expression b);
  friend Expression where(Expression condition, Expression yes, Expression no);
  friend Expression where(Expression condition, Expression yes, double no);
  friend Expression where(Expression condition, double yes, Expression no);

 private:
  Rewriting* r_;
  Value value_;
};

}  // namespace narrowgauge
