// SPDX-License-Identifier: Apache-2.0
#include "ops/pointwise/expression.h"

#include "ops/pointwise/arithmetic.h"
#include "ops/pointwise/comparison.h"
#include "ops/pointwise/exponential.h"
#include "ops/pointwise/where.h"

namespace narrowgauge {

Expression operator+(Expression a, Expression b) { return a.apply(Add{}, b); }
Expression operator-(Expression a, Expression b) { return a.apply(Sub{}, b); }
Expression operator*(Expression a, Expression b) { return a.apply(Mul{}, b); }
Expression operator/(Expression a, Expression b) { return a.apply(Div{}, b); }
Expression operator+(Expression a, double b) { return a + a.number(b); }
Expression operator-(Expression a, double b) { return a - a.number(b); }
Expression operator*(Expression a, double b) { return a * a.number(b); }
Expression operator/(Expression a, double b) { return a / a.number(b); }
Expression operator+(double a, Expression b) { return b.number(a) + b; }
Expression operator-(double a, Expression b) { return b.number(a) - b; }
Expression operator*(double a, Expression b) { return b.number(a) * b; }
Expression operator/(double a, Expression b) { return b.number(a) / b; }
Expression operator-(Expression a) { return a.apply(Neg{}); }
Expression operator<(Expression a, double b) { return a.apply(Less{}, a.number(b)); }
Expression operator>(Expression a, double b) { return a.apply(Greater{}, a.number(b)); }
Expression operator==(Expression a, double b) { return a.apply(Equal{}, a.number(b)); }

Expression exp(Expression a) { return a.apply(Exp{}); }
Expression log(Expression a) { return a.apply(Log{}); }
Expression sqrt(Expression a) { return a.apply(Sqrt{}); }
Expression pow(Expression a, Expression b) { return a.apply(Pow{}, b); }
Expression where(Expression condition, Expression yes, Expression no) {
  return {*condition.r_, condition.r_->add(Where{}, {condition, yes, no})};
}
Expression where(Expression condition, Expression yes, double no) {
  return where(condition, yes, yes.number(no));
}
Expression where(Expression condition, double yes, Expression no) {
  return where(condition, no.number(yes), no);
}

}  // namespace narrowgauge
