// SPDX-License-Identifier: Apache-2.0
#include "quantize/equalize.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "ir/readers.h"
#include "ops/activation/relu.h"
#include "ops/convolution/conv.h"
#include "ops/pointwise/min_max.h"
#include "passes/core/rebuild.h"

namespace narrowgauge {

namespace {

using Numbers = std::vector<double>;  // f64, rounded once at the end

Numbers numbers_of(const Tensor& tensor) {
  const std::span<const float> values = tensor.values<float>();
  return {values.begin(), values.end()};
}

Tensor tensor_of(const Numbers& numbers, const Dims& dims) {
  return Tensor::from(dims, std::vector<float>(numbers.begin(), numbers.end()));
}

// The weights [outputs, inputs of a group, taps] and the bias of a convolution under way.
class Weights {
 public:
  Weights(const Graph& graph, const Node& conv)
      : dims_(graph.constant_value(conv.inputs[1])->dims()),
        weights_(numbers_of(*graph.constant_value(conv.inputs[1]))),
        groups_(conv.as<Conv>().group),
        taps_(std::ssize(weights_) / std::max<std::int64_t>(1, dims_[0] * dims_[1])) {
    if (conv.inputs.size() > 2 && !conv.inputs[2].is_absent())
      bias_ = numbers_of(*graph.constant_value(conv.inputs[2]));
  }

  std::size_t outputs() const { return static_cast<std::size_t>(dims_[0]); }
  std::size_t inputs() const { return static_cast<std::size_t>(dims_[1] * groups_); }

  // The largest weight of each channel, by absolute value.
  Numbers output_ranges() const {
    Numbers ranges(outputs());
    each([&](std::size_t i, std::size_t output, std::size_t) {
      ranges[output] = std::max(ranges[output], std::abs(weights_[i]));
    });
    return ranges;
  }
  Numbers input_ranges() const {
    Numbers ranges(inputs());
    each([&](std::size_t i, std::size_t, std::size_t input) {
      ranges[input] = std::max(ranges[input], std::abs(weights_[i]));
    });
    return ranges;
  }
  void divide_outputs(const Numbers& by) {
    each([&](std::size_t i, std::size_t output, std::size_t) { weights_[i] /= by[output]; });
    for (std::size_t i = 0; i < bias_.size(); ++i) bias_[i] /= by[i];
  }
  void multiply_inputs(const Numbers& by) {
    each([&](std::size_t i, std::size_t, std::size_t input) { weights_[i] *= by[input]; });
  }

  Tensor weights() const { return tensor_of(weights_, dims_); }
  Tensor bias() const { return tensor_of(bias_, {dims_[0]}); }

 private:
  // Calls visit(element, output channel, input channel).
  template <class Visit>
  void each(const Visit& visit) const {
    const std::int64_t outputs_of_group = dims_[0] / groups_;
    std::size_t i = 0;
    for (std::int64_t output = 0; output < dims_[0]; ++output)
      for (std::int64_t input = 0; input < dims_[1]; ++input)
        for (std::int64_t tap = 0; tap < taps_; ++tap)
          visit(i++, static_cast<std::size_t>(output),
                static_cast<std::size_t>(output / outputs_of_group * dims_[1] + input));
  }

  Dims dims_;
  Numbers weights_, bias_;
  std::int64_t groups_, taps_;
};

bool is_constant_f32(const Graph& graph, Value value) {
  const Tensor* const tensor = graph.constant_value(value);
  return tensor && tensor->dtype() == DType::f32 && tensor->size() > 0;
}

bool may_change(const Graph& graph, const Node& node) {
  if (!node.is<Conv>() || is_simulated(node.math)) return false;
  return std::all_of(node.inputs.begin() + 1, node.inputs.end(), [&](Value value) {
    return value.is_absent() || is_constant_f32(graph, value);
  });
}

// Whether a Clip cuts off what is negative, and what is above some number.
struct Cuts {
  bool below_zero = false, above = false;

  Cuts(const Graph& graph, const Node& clip) {
    const auto limit = [&](int port, double otherwise) {
      if (std::ssize(clip.inputs) <= port || clip.input(port).is_absent()) return otherwise;
      const Tensor* const constant = graph.constant_value(clip.input(port));
      return constant && constant->size() == 1 ? constant->at(0) : NAN;
    };
    const double high = limit(2, INFINITY);
    below_zero = limit(1, -INFINITY) == 0 && high > 0;
    above = high != INFINITY;
  }
};

// Two convolutions with nothing but perhaps a Relu between them; nodes of the graph.
struct Pair {
  int first, second;
  int clip = -1;  // that becomes a Relu
};

class Equalizer {
 public:
  Equalizer(const Graph& graph, const EqualizeOptions& options)
      : graph_(graph), options_(options), readers_(graph) {
    for (int i = 0; i < static_cast<int>(graph_.nodes().size()); ++i) find_pair(i);
  }

  Graph run() {
    keep_dead_channels();
    constexpr int most_rounds = 200;
    constexpr double change_that_matters = 1e-5;
    for (int round = 0; round < most_rounds; ++round) {
      double most = 0;
      for (std::size_t i = 0; i < pairs_.size(); ++i) most = std::max(most, equalize_pair(i));
      if (most < change_that_matters) break;
    }
    return rebuilt();
  }

 private:
  void find_pair(int first) {
    if (!may_change(graph_, graph_.node(first))) return;
    Pair pair{first, readers_.only({first, 0})};
    if (pair.second >= 0 && passes_on(pair.second, pair.clip))
      pair.second = readers_.only({pair.second, 0});
    if (pair.second < 0 || !may_change(graph_, graph_.node(pair.second))) return;
    pairs_.push_back(pair);
    for (const int conv : {pair.first, pair.second})
      weights_.try_emplace(conv, graph_, graph_.node(conv));
  }

  // Whether factors above 0 go through a node; `clip` is then the node if it must become a Relu.
  bool passes_on(int index, int& clip) const {
    const Node& node = graph_.node(index);
    if (node.is<Relu>()) return true;
    if (!node.is<Clip>()) return false;
    const Cuts cuts(graph_, node);
    if (!cuts.below_zero || (cuts.above && !options_.clip_as_relu)) return false;
    if (cuts.above) clip = index;
    return true;
  }

  // Finds the channels of each pair that keep their weights because those of one side hardly exist.
  void keep_dead_channels() {
    constexpr double negligible = 1e-6;  // of the largest weight of a layer
    for (const Pair& pair : pairs_) {
      const Numbers first = weights_.at(pair.first).output_ranges(),
                    second = weights_.at(pair.second).input_ranges();
      const double first_most = *std::ranges::max_element(first),
                   second_most = *std::ranges::max_element(second);
      std::vector<bool>& dead = dead_.emplace_back(first.size());
      for (std::size_t i = 0; i < first.size(); ++i)
        dead[i] = !(first[i] > negligible * first_most && second[i] > negligible * second_most);
    }
  }

  // Returns how far, as a logarithm, a factor was from 1.
  double equalize_pair(std::size_t index) {
    Weights &first = weights_.at(pairs_[index].first), &second = weights_.at(pairs_[index].second);
    const Numbers a = first.output_ranges(), b = second.input_ranges();
    Numbers factors(a.size(), 1);
    double most = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (dead_[index][i]) continue;
      factors[i] = std::sqrt(a[i] / b[i]);
      most = std::max(most, std::abs(std::log(factors[i])));
    }
    first.divide_outputs(factors);
    second.multiply_inputs(factors);
    return most;
  }

  Graph rebuilt() const {
    Rebuild rebuild(graph_);
    rebuild.graph().keep_names_for(graph_);
    for (int i = 0; i < static_cast<int>(graph_.nodes().size()); ++i) place(rebuild, i);
    return rebuild.finish();
  }

  void place(Rebuild& rebuild, int index) const {
    const Node& node = graph_.node(index);
    if (const auto found = weights_.find(index); found != weights_.end()) {
      Values inputs{rebuild.mapped(node.inputs[0]),
                    changed(rebuild, node.inputs[1], found->second.weights())};
      if (node.inputs.size() > 2)
        inputs.push_back(node.inputs[2].is_absent()
                             ? absent
                             : changed(rebuild, node.inputs[2], found->second.bias()));
      rebuild.copy(index, node.attributes, std::move(inputs));
    } else if (std::ranges::any_of(pairs_, [&](const Pair& p) { return p.clip == index; })) {
      const Value x = rebuild.mapped(node.inputs[0]);
      rebuild.map({index, 0}, rebuild.graph().add(Relu{}, {x}, options_of(node)));
    } else if (!is_replaced(index)) {
      const auto pass = [&](const Graph& region) { return equalize(region, options_); };
      rebuild.copy(index, with_regions(node, pass), rebuild.mapped(node.inputs));
    }
  }

  // A constant of its own for one convolution; with the old name where nobody else reads that one.
  static Value changed(Rebuild& rebuild, Value old, Tensor tensor) {
    const std::string& name = rebuild.source().producer(old).name;
    Graph& graph = rebuild.graph();
    return graph.constant(std::move(tensor), rebuild.has(old) ? graph.unique_name(name) : name);
  }

  // Whether a node is a constant that one convolution gets anew.
  bool is_replaced(int index) const {
    const Node& node = graph_.node(index);
    return node.is<Constant>() && weights_.contains(readers_.only({index, 0}));
  }

  const Graph& graph_;
  const EqualizeOptions options_;
  const Readers readers_;
  std::vector<Pair> pairs_;
  std::vector<std::vector<bool>> dead_;  // of each pair, by channel
  std::map<int, Weights> weights_;       // of convolutions in pairs
};

}  // namespace

Graph equalize(const Graph& graph, const EqualizeOptions& options) {
  return Equalizer(graph, options).run();
}

}  // namespace narrowgauge
