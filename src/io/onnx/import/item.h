// SPDX-License-Identifier: Apache-2.0
// What names of an ONNX graph stand for while it is imported.
#pragma once

#include <memory>
#include <vector>

#include "narrowgauge/graph.h"

namespace narrowgauge::onnx {

// A value of the graph, a sequence of items, or nothing (an optional without content). Sequences
// exist only at import: how long they are is known then.
struct Item {
  enum class Kind : std::uint8_t { nothing, value, sequence };
  Kind kind = Kind::nothing;
  Value value = absent;
  std::vector<Item> elements{};

  static Item of(Value value) { return value.is_absent() ? Item{} : Item{Kind::value, value, {}}; }
  static Item sequence(std::vector<Item> elements) {
    return {Kind::sequence, absent, std::move(elements)};
  }
};
using Items = std::vector<Item>;

}  // namespace narrowgauge::onnx
