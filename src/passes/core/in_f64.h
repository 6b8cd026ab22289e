// SPDX-License-Identifier: Apache-2.0
// A network in double precision: what its results in narrower formats are measured by.
#pragma once

#include <cstdint>

#include "narrowgauge/graph.h"

namespace narrowgauge {

// Every f32 value, input, state and constant of a forward graph becomes f64, in regions too, and so
// does every attribute that names f32 as a format (Cast's `to`, RandomNormal's `dtype`). Numbers
// keep the value that f32 gave them. Other formats stay as they are. Where an op takes or gives f32
// alone (the scales of Resize, BitCast of i32) a constant or a Cast stands between.
// Inputs that are `kept` stay f32 and are widened in the graph.
enum class InputsInF64 : std::uint8_t { widened, kept };
Graph in_f64(const Graph& graph, InputsInF64 inputs = InputsInF64::widened);

}  // namespace narrowgauge
