// SPDX-License-Identifier: Apache-2.0
// The colouring of TensorFlow's automatic mixed precision, made independent of the order of nodes:
// allow ops are narrow; deny spreads forward through infer and clear ops; allow spreads between
// allow ops, to infer ops after narrow ones, and to clear ops beside narrow ones.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "narrowgauge/precision.h"
#include "precision/vertices/vertices.h"

namespace narrowgauge {

// What the colouring needs to know about a vertex.
struct Candidate {
  PrecisionClass precision = PrecisionClass::unlisted;
  std::optional<PrecisionRule> refusal;  // why it cannot become narrow, whatever the colours
  bool forced = false;                   // narrow by name, whatever its class
  std::string note;                      // of the refusal or the force
};

struct Colour {
  bool narrow = false;
  PrecisionRule rule = PrecisionRule::unlisted;
  int cause = -1;  // the neighbouring vertex that made the rule fire
  std::string note;
};

// Infer ops after narrow ones become narrow although no allow op follows. TensorFlow takes this
// step for bf16 (its MKL lists) only; here f16 takes it too.
std::vector<Colour> colour(std::span<const PrecisionVertex> vertices,
                           std::span<const Candidate> candidates);

}  // namespace narrowgauge
