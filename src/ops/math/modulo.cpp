// SPDX-License-Identifier: Apache-2.0
#include "ops/math/modulo.h"

#include "ops/elementwise/expression.h"
#include "ops/math/broadcast_gradient.h"
#include "ops/table.h"

namespace narrowgauge {

TensorTypes Mod::infer(const Inference& in) const {
  require(fmod == 0 || fmod == 1, "Mod: fmod must be 0 or 1, got ", fmod);
  require(fmod == 1 || !is_floating(in.dtype(0)), "Mod: ", in.dtype(0), " needs fmod = 1");
  return elementwise_types(in);
}

// y = a - b n, where n, the whole part of a / b, is constant almost everywhere.
Values Mod::gradient(Gradient& g) const {
  const Expression a(g, g.input(0)), b(g, g.input(1)), y(g, g.output());
  const Expression dy(g, g.output_gradient());
  Values result(2);
  if (g.wants(0)) result[0] = reduce_to(g, dy, a);
  if (g.wants(1)) result[1] = reduce_to(g, -(dy * ((a - y) / b)), b);
  return result;
}

std::vector<Sample<Mod>> Mod::samples() {
  std::vector<Sample<Mod>> all = binary_samples<Mod>(0.5, 3, {.fmod = 1});
  all.push_back({{.fmod = 1}, {sample("f32[9]", -6, 6), sample("f32[9]", -2, -1)}});
  for (const std::int64_t fmod : {0, 1})
    all.push_back({{fmod}, {sample("i64[5,3]", -9, 9), sample("i64[3]", -4, 4)}});
  all.push_back({{}, {sample("u8[9]", 0, 255), sample("u8[9]", 1, 20)}});
  return all;
}

}  // namespace narrowgauge

NG_OPS(modulo, narrowgauge::Mod)
