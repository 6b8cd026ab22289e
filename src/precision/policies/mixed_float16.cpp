// SPDX-License-Identifier: Apache-2.0
#include "precision/colouring/policy.h"
#include "precision/colouring/whole_network.h"

NG_POLICY(mixed_float16, "mixed_float16", "the whole network in f16, variables in f32, as Keras",
          narrowgauge::cast_whole_network, narrowgauge::DType::f16)
