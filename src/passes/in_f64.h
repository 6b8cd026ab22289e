// SPDX-License-Identifier: Apache-2.0
// A network in double precision: what its results in narrower formats are measured by.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

// Every f32 value, input, state and constant of a forward graph becomes f64, in regions too, and so
// does every attribute that names f32 as a format (Cast's `to`, RandomNormal's `dtype`). Numbers
// keep the value that f32 gave them. Other formats stay as they are. Where an op takes or gives f32
// alone (the scales of Resize, BitCast of i32) a constant or a Cast stands between.
Graph in_f64(const Graph& graph);

}  // namespace narrowgauge
