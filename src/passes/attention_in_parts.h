// SPDX-License-Identifier: Apache-2.0
// Attention whose products are to round their operands in a way that no kernel of attention has:
// its matrix products apart, each with the math that was asked of the whole, and what is between
// them in f32. In regions too.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

Graph attention_in_parts(const Graph& graph);

}  // namespace narrowgauge
