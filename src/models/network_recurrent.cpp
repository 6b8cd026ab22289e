// SPDX-License-Identifier: Apache-2.0
// Recurrent layers of networks. PyTorch and ONNX order the gates differently, so that the weights
// are put in order on their way to the op.
#include <cmath>

#include "base/unloading.h"
#include "models/layer_input.h"
#include "narrowgauge/network.h"
#include "ops/recurrent/gru.h"
#include "ops/recurrent/lstm.h"
#include "ops/shape/concat.h"
#include "ops/shape/reshape.h"

namespace narrowgauge {

namespace {

// PyTorch's gates in ONNX's order.
using Gates = std::vector<int>;
const Gates& lstm_gates = immortal<Gates>(Gates{0, 3, 1, 2});  // i, o, f, c of i, f, g, o
const Gates& gru_gates = immortal<Gates>(Gates{1, 0, 2});      // z, r, h of r, z, n

// Layers of Op one after another.
template <class Op>
class Recurrent {
 public:
  Recurrent(Network& net, std::int64_t hidden, const RecurrentOptions& options, std::string name,
            const Gates& gates)
      : net_(net), hidden_(hidden), options_(options), name_(std::move(name)), gates_(gates) {}

  Value over(Value x) const {
    require_input(net_, x, name_);
    require(hidden_ >= 1 && options_.layers >= 1 && options_.dropout >= 0 && options_.dropout < 1,
            name_, ": expected hidden and layers of 1 or more and dropout from 0 to below 1, got ",
            hidden_, ", ", options_.layers, " and ", options_.dropout);
    require_count(name_, "hidden", hidden_);
    require(net_.shape(x).size() == 3 && net_.shape(x)[2].is_known(), name_,
            ": expected [N,T,features] with known features, got ", net_.graph().type(x));
    for (std::int64_t layer = 0; layer < options_.layers; ++layer) {
      if (layer > 0) x = net_.dropout(x, options_.dropout);
      const Shape y = net_.shape(x = over(x, layer));  // [N, T, directions, hidden]
      const bool is_last = layer + 1 == options_.layers;
      x = net_.graph().add(ReshapeTo{{y[0], y[1], y[2] * y[3]}}, {x},
                           {.name = is_last ? name_ : ""});
    }
    return x;
  }

 private:
  Value over(Value x, std::int64_t layer) const {
    const std::int64_t rows = std::ssize(gates_) * hidden_;
    Values w, r, b;
    for (const char* const end : {"", "_reverse"}) {
      if (*end && !options_.bidirectional) break;
      const std::string place = concat("_l", layer, end);
      w.push_back(row("weight_ih" + place, {rows, net_.shape(x)[2].value()}));
      r.push_back(row("weight_hh" + place, {rows, hidden_}));
      if (!options_.bias) continue;
      const Value of_x = row("bias_ih" + place, {rows});
      b.push_back(join({of_x, row("bias_hh" + place, {rows})}, 1));
    }
    Values inputs{x, join(w, 0), join(r, 0)};
    if (options_.bias) inputs.push_back(join(b, 0));
    Op op;
    op.direction = options_.bidirectional ? "bidirectional" : "forward";
    op.layout = 1;
    if constexpr (requires { op.linear_before_reset; }) op.linear_before_reset = 1;
    return net_.graph().add(std::move(op), std::move(inputs), {.name = concat(name_, ".l", layer)});
  }

  // A new parameter [gates * hidden, ...] with the gates in ONNX's order, as the row of one
  // direction.
  Value row(const std::string& kind, Dims dims) const {
    const double bound = 1 / std::sqrt(static_cast<double>(hidden_));
    const Value whole =
        net_.parameter(concat(name_, '.', kind), dims, Initial::uniform(-bound, bound));
    Graph& graph = net_.graph();
    const Value first = graph.add(Split{.num_outputs = std::ssize(gates_)}, {whole});
    Values ordered;
    for (const int gate : gates_) ordered.push_back({first.node, gate});
    Shape one(dims.begin(), dims.end());
    one.insert(one.begin(), 1);
    return graph.add(ReshapeTo{one}, {graph.add(Concat{0}, ordered)});
  }

  Value join(Values rows, std::int64_t axis) const {
    return rows.size() == 1 ? rows[0] : net_.graph().add(Concat{axis}, std::move(rows));
  }

  Network& net_;
  std::int64_t hidden_;
  const RecurrentOptions& options_;
  std::string name_;
  const Gates& gates_;
};

}  // namespace

Value Network::lstm(Value x, std::int64_t hidden, const RecurrentOptions& options,
                    std::string given) {
  return Recurrent<LSTM>(*this, hidden, options, layer_name(given, "lstm"), lstm_gates).over(x);
}

Value Network::gru(Value x, std::int64_t hidden, const RecurrentOptions& options,
                   std::string given) {
  return Recurrent<GRU>(*this, hidden, options, layer_name(given, "gru"), gru_gates).over(x);
}

}  // namespace narrowgauge
