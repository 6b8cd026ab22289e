// SPDX-License-Identifier: Apache-2.0
// Splits attention whose products must round their operands as no attention kernel does: into
// matrix products, each with the math asked of the whole, and the steps between them in f32. Also
// in regions.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

Graph attention_in_parts(const Graph& graph, const Target& target);

}  // namespace narrowgauge
