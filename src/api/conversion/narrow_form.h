// SPDX-License-Identifier: Apache-2.0
// Frozen networks in 16 bits, wholly or beside contractions on bytes.
#pragma once

#include "narrowgauge/precision.h"

namespace narrowgauge {

// The network by a plan for this graph, with its weights stored in its formats.
Graph in_narrow(const Graph& f32, const PrecisionPlan& plan);

// The network as the precision lists have it in f16 or bf16, with its weights stored so.
Graph in_narrow(const Graph& f32, DType narrow);

// A quantized network with its ops in bf16, but for contractions on bytes, which stay as they are.
Graph bf16_beside_bytes(const Graph& quantized);

// Whether this machine computes contractions faster in bf16 than in f32.
bool has_bf16_unit();

}  // namespace narrowgauge
