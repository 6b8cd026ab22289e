// SPDX-License-Identifier: Apache-2.0
// Values with operators, so that decompose() and gradient() read like the formulas they build.
#pragma once

#include "narrowgauge/graph.h"
#include "ops/math/arithmetic.h"
#include "ops/math/comparison.h"
#include "ops/math/exponential.h"
#include "ops/math/where.h"

namespace narrowgauge {

// A value under construction. Numbers become scalar constants of the other operand's dtype.
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

  friend Expression operator+(Expression a, Expression b) { return a.apply(Add{}, b); }
  friend Expression operator-(Expression a, Expression b) { return a.apply(Sub{}, b); }
  friend Expression operator*(Expression a, Expression b) { return a.apply(Mul{}, b); }
  friend Expression operator/(Expression a, Expression b) { return a.apply(Div{}, b); }
  friend Expression operator+(Expression a, double b) { return a + a.number(b); }
  friend Expression operator-(Expression a, double b) { return a - a.number(b); }
  friend Expression operator*(Expression a, double b) { return a * a.number(b); }
  friend Expression operator/(Expression a, double b) { return a / a.number(b); }
  friend Expression operator+(double a, Expression b) { return b.number(a) + b; }
  friend Expression operator-(double a, Expression b) { return b.number(a) - b; }
  friend Expression operator*(double a, Expression b) { return b.number(a) * b; }
  friend Expression operator/(double a, Expression b) { return b.number(a) / b; }
  friend Expression operator-(Expression a) { return a.apply(Neg{}); }
  // bool values
  friend Expression operator<(Expression a, double b) { return a.apply(Less{}, a.number(b)); }
  friend Expression operator>(Expression a, double b) { return a.apply(Greater{}, a.number(b)); }
  friend Expression operator==(Expression a, double b) { return a.apply(Equal{}, a.number(b)); }

  friend Expression exp(Expression a) { return a.apply(Exp{}); }
  friend Expression log(Expression a) { return a.apply(Log{}); }
  friend Expression sqrt(Expression a) { return a.apply(Sqrt{}); }
  friend Expression pow(Expression a, Expression b) { return a.apply(Pow{}, b); }
  friend Expression where(Expression condition, Expression yes, Expression no) {
    return {*condition.r_, condition.r_->add(Where{}, {condition, yes, no})};
  }
  friend Expression where(Expression condition, Expression yes, double no) {
    return where(condition, yes, yes.number(no));
  }
  friend Expression where(Expression condition, double yes, Expression no) {
    return where(condition, no.number(yes), no);
  }

 private:
  Rewriting* r_;
  Value value_;
};

}  // namespace narrowgauge
