// SPDX-License-Identifier: Apache-2.0
// What names of an ONNX graph stand for while it is imported.
#pragma once

#include <memory>
#include <vector>

#include "io/onnx/texts.h"
#include "narrowgauge/graph.h"

namespace narrowgauge::onnx {

// A value of the graph, a sequence of items, texts, or nothing (an optional without content).
// Sequences and texts exist only at import: how long they are and what they say is known then.
struct Item {
  enum class Kind : std::uint8_t { nothing, value, sequence, texts };
  Kind kind = Kind::nothing;
  Value value = absent;
  std::vector<Item> elements{};
  std::shared_ptr<const Texts> texts{};

  static Item of(Value value) {
    return value.is_absent() ? Item{} : Item{Kind::value, value, {}, {}};
  }
  static Item of(Texts texts) {
    return {Kind::texts, absent, {}, std::make_shared<const Texts>(std::move(texts))};
  }
  static Item sequence(std::vector<Item> elements) {
    return {Kind::sequence, absent, std::move(elements), {}};
  }
};
using Items = std::vector<Item>;

}  // namespace narrowgauge::onnx
