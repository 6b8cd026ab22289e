// SPDX-License-Identifier: Apache-2.0
#include "ops/math/where.h"

#include "narrowgauge/graph.h"
#include "ops/math/broadcast_gradient.h"
#include "ops/table.h"

namespace narrowgauge {

Values Where::gradient(Gradient& g) const {
  const Value zero = g.scalar(0, g.type(g.output()).dtype);
  const Value dz = g.output_gradient();
  Values result(3);
  if (g.wants(1)) result[1] = reduce_to(g, g.add(Where{}, {g.input(0), dz, zero}), g.input(1));
  if (g.wants(2)) result[2] = reduce_to(g, g.add(Where{}, {g.input(0), zero, dz}), g.input(2));
  return result;
}

}  // namespace narrowgauge

NG_OPS(where, narrowgauge::Where)
