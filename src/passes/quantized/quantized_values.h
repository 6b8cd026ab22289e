// SPDX-License-Identifier: Apache-2.0
// How passes see quantised values: as bytes with a scale and a zero point.
#pragma once

#include <optional>

#include "narrowgauge/graph.h"

namespace narrowgauge {

struct QuantizedValue {
  Value bytes, scale, zero;  // the zero point may be absent
  bool operator==(const QuantizedValue&) const = default;
};

// The input of a node; absent also where the list of its inputs ends before.
inline Value input_or_absent(const Node& node, std::size_t input) {
  return input < node.inputs.size() ? node.inputs[input] : absent;
}
// Whether the graph only computes results: all nodes are forward, and no state changes.
bool only_predicts(const Graph& graph);
// Whether a value is the same in every run: a constant, a state that the graph leaves as it is, or
// computed from such.
bool lasts(const Graph& graph, Value value);
// The value without casts between float formats behind it, which a precision plan has put there.
Value before_float_casts(const Graph& graph, Value value);

// What a value in f32 was dequantised from: u8 or i8 with one scale, or with one for each index of
// an axis, which `axis` then gets; -1 if there is one for all.
std::optional<QuantizedValue> dequantized(const Graph& graph, Value value, int* axis);
// What a value in f32 was dequantised from, with one scale for all.
std::optional<QuantizedValue> dequantized(const Graph& graph, Value value);
// The zero point, 0 where there is none; nothing where it is not known or not the same for all.
std::optional<double> zero_point(const Graph& graph, Value zero);
// What a QuantizeLinear to u8 or i8 with one scale reads, with scale and zero point; nothing where
// the scale is known to be none above 0.
std::optional<QuantizedValue> quantization(const Graph& graph, const Node& node);

}  // namespace narrowgauge
