// SPDX-License-Identifier: Apache-2.0
// Networks that take pixels of pictures, where they took normalized images.
#pragma once

#include "narrowgauge/engine.h"
#include "narrowgauge/graph.h"

namespace narrowgauge {

// The network behind ops that make its only input, f32 [N,C,H,W], from pixels. Throws UsageError
// for another input, and for pixels that it cannot be made from.
Graph with_pixels(const Graph& graph, const EnginePixels& pixels);

}  // namespace narrowgauge
