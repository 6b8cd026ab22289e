// SPDX-License-Identifier: Apache-2.0
// Recurrent layers of networks. PyTorch and ONNX order the gates differently, so that the weights
// are put in order on their way to the op.
#include <cmath>

#include "narrowgauge/network.h"
#include "ops/recurrent/gru.h"
#include "ops/recurrent/lstm.h"
#include "ops/shape/concat.h"
#include "ops/shape/reshape.h"

namespace narrowgauge {

namespace {

// PyTorch's gates in ONNX's order.
const std::vector<int> lstm_gates{0, 3, 1, 2};  // i, o, f, c of i, f, g, o
const std::vector<int> gru_gates{1, 0, 2};      // z, r, h of r, z, n

// One layer while it is built.
struct Recurrent {
  Graph& graph;
  std::int64_t hidden;
  const std::vector<int>& order;

  // [gates * hidden, ...] with the gates in ONNX's order, as a row for one direction.
  Value row(Value parameter) const {
    const Shape shape = graph.type(parameter).shape;
    const Value first = graph.add(ConcatGradient{0, Shape(order.size(), Dim(hidden))}, {parameter});
    Values gates;
    for (const int gate : order) gates.push_back({first.node, gate});
    Shape one = shape;
    one.insert(one.begin(), 1);
    return graph.add(ReshapeTo{one}, {graph.add(Concat{0}, gates)});
  }
  // The rows of both directions.
  Value join(Values rows, std::int64_t axis) const {
    return rows.size() == 1 ? rows[0] : graph.add(Concat{axis}, std::move(rows));
  }
};

template <class Op>
Value add_op(Graph& graph, const RecurrentOptions& options, Values inputs,
             const std::string& name) {
  Op op;
  op.direction = options.bidirectional ? "bidirectional" : "forward";
  op.layout = 1;
  if constexpr (requires { op.linear_before_reset; }) op.linear_before_reset = 1;
  return graph.add(std::move(op), std::move(inputs), {.name = name});
}

void check(const RecurrentOptions& options, std::int64_t hidden) {
  require(hidden >= 1 && options.layers >= 1 && options.dropout >= 0 && options.dropout < 1,
          "recurrent layer: expected hidden and layers of 1 or more and dropout from 0 to below 1, "
          "got ",
          hidden, ", ", options.layers, " and ", options.dropout);
}

}  // namespace

// w, r and b of one layer, for the op; no b without a bias.
Values Network::recurrent_weights(std::int64_t features, std::int64_t hidden,
                                  const RecurrentOptions& options, const std::string& name,
                                  std::int64_t layer, std::int64_t gates) {
  const Recurrent parts{graph_, hidden, gates == 4 ? lstm_gates : gru_gates};
  const double bound = 1 / std::sqrt(static_cast<double>(hidden));
  Values w, r, b;
  for (const char* const end : {"", "_reverse"}) {
    if (*end && !options.bidirectional) break;
    const auto of = [&](const char* kind, Dims dims) {
      const std::string full = narrowgauge::concat(name, '.', kind, "_l", layer, end);
      return parts.row(parameter(full, std::move(dims), Initial::uniform(-bound, bound)));
    };
    w.push_back(of("weight_ih", {gates * hidden, features}));
    r.push_back(of("weight_hh", {gates * hidden, hidden}));
    if (!options.bias) continue;
    const Value of_x = of("bias_ih", {gates * hidden});
    b.push_back(parts.join({of_x, of("bias_hh", {gates * hidden})}, 1));
  }
  Values joined{parts.join(w, 0), parts.join(r, 0)};
  if (options.bias) joined.push_back(parts.join(b, 0));
  return joined;
}

Value Network::recurrent(Value x, std::int64_t hidden, const RecurrentOptions& options,
                         const std::string& name, std::int64_t gates) {
  check(options, hidden);
  require(shape(x).size() == 3 && shape(x)[2].is_known(), name,
          ": expected [N,T,features] with known features, got ", graph_.type(x));
  for (std::int64_t layer = 0; layer < options.layers; ++layer) {
    Values inputs = recurrent_weights(shape(x)[2].value(), hidden, options, name, layer, gates);
    inputs.insert(inputs.begin(), x);
    const std::string node = graph_.unique_name(narrowgauge::concat(name, ".l", layer));
    const Value y = gates == 4 ? add_op<LSTM>(graph_, options, std::move(inputs), node)
                               : add_op<GRU>(graph_, options, std::move(inputs), node);
    const Shape from = shape(y);  // [N, T, directions, hidden]
    x = graph_.add(ReshapeTo{{from[0], from[1], from[2] * hidden}}, {y});
    if (layer + 1 < options.layers) x = dropout(x, options.dropout);
  }
  return x;
}

Value Network::lstm(Value x, std::int64_t hidden, const RecurrentOptions& options,
                    std::string given) {
  return recurrent(x, hidden, options, layer_name(given, "lstm"), 4);
}

Value Network::gru(Value x, std::int64_t hidden, const RecurrentOptions& options,
                   std::string given) {
  return recurrent(x, hidden, options, layer_name(given, "gru"), 3);
}

}  // namespace narrowgauge
