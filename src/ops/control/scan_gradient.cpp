// SPDX-License-Identifier: Apache-2.0
// The gradient of Scan: runs the forward scan again, also recording the states that each step began
// with and its products; then scans backwards over the body's own gradient. Gradients of states are
// carried, gradients of slices are scanned out. Gradients of captured values are carried and
// summed, but for those that are products of two matrices: there the matrices of all steps are
// scanned out and multiplied at once.
#include <algorithm>
#include <map>

#include "base/enumerate.h"
#include "ops/activation/relu.h"
#include "ops/control/control_flow.h"
#include "ops/control/inline_region.h"
#include "ops/math/arithmetic.h"
#include "ops/math/matmul.h"
#include "ops/shape/reshape.h"

namespace narrowgauge {

namespace {

class ScanGradient {
 public:
  ScanGradient(const Scan& scan, Gradient& g)
      : scan_(scan),
        g_(g),
        inputs_(scan.body->inputs().size()),
        states_(static_cast<std::size_t>(scan.state_count(g.input_count()))),
        scans_(static_cast<std::size_t>(scan.num_scan_inputs)),
        stacked_(scan.body->outputs().size() - states_),
        stream_(scan.stream.empty() ? g.graph().producer(g.output()).name : scan.stream) {
    for (std::size_t i = 0; i < inputs_; ++i)
      if (is_floating(type_of_input(i).dtype) && (i < states_ || g.wants(static_cast<int>(i))))
        wanted_.push_back(i);
    for (std::size_t o = 0; o < scan.body->outputs().size(); ++o)
      if (is_floating(scan.body->type(scan.body->outputs()[o].value).dtype) &&
          (o < states_ || g.has_output_gradient(static_cast<int>(o))))
        outputs_.push_back(o);
    for (const auto& [i, node] : enumerate(scan.body->nodes()))
      if (node.op->info.fusion == Fusion::contraction && node.outputs.size() == 1)
        kept_.push_back({i, 0});
  }

  Values build() {
    recorded_ = add_recording_scan().node;
    const std::vector<int> outputs(outputs_.begin(), outputs_.end());
    const std::vector<int> inputs(wanted_.begin(), wanted_.end());
    backward_ = *g_.differentiate(scan_.body, outputs, inputs);
    for (std::size_t k = 0; k < wanted_.size(); ++k)
      if (is_captured(wanted_[k])) find_product(k);
    return add_backward_scan();
  }

 private:
  // A gradient a^T b, summed over all steps.
  struct Product {
    std::size_t input;  // of the body, whose gradient it is
    Value a, b;         // of the backward graph
  };

  const TensorType& type_of_input(std::size_t i) const {
    return scan_.body->type(scan_.body->inputs()[i]);
  }
  bool is_scanned(std::size_t i) const { return i >= states_ && i < states_ + scans_; }
  bool is_captured(std::size_t i) const { return i >= states_ + scans_; }
  bool is_product(std::size_t i) const {
    return std::ranges::find(products_, i, &Product::input) != products_.end();
  }
  // Outputs of the recording scan: its own, states before, products.
  Value before(std::size_t state) const {
    return {recorded_, static_cast<int>(states_ + stacked_ + state)};
  }
  Value kept(std::size_t k) const {
    return {recorded_, static_cast<int>(2 * states_ + stacked_ + k)};
  }

  static std::string free_name(const Graph& body) {
    std::string name = concat("recorded.", body.outputs().size());
    while (std::ranges::find(body.outputs(), name, &GraphOutput::name) != body.outputs().end())
      name += '.';
    return name;
  }

  // The forward scan with more scan outputs: each state before the step, then products.
  Value add_recording_scan() {
    Graph body = *scan_.body;
    body.set_name(scan_.body->name() + ".recording");
    Values added(body.inputs().begin(),
                 body.inputs().begin() + static_cast<std::ptrdiff_t>(states_));
    added.insert(added.end(), kept_.begin(), kept_.end());
    for (const Value value : added) body.output(free_name(body), value);
    Scan recording = scan_;
    recording.stream = stream_;
    recording.body = std::make_shared<const Graph>(std::move(body));
    recording.scan_output_directions.resize(stacked_ + states_ + kept_.size());
    Values operands;
    for (std::size_t i = 0; i < inputs_; ++i) operands.push_back(g_.input(static_cast<int>(i)));
    return g_.add(std::move(recording), operands);
  }

  // Of the backward graph, whose inputs are the body's, then gradients; beyond both for other
  // values.
  std::size_t place_of_input(Value value) const {
    const auto found = std::ranges::find(backward_.inputs(), value);
    return static_cast<std::size_t>(found - backward_.inputs().begin());
  }

  // Whether the gradient of a captured value is a product of matrices that change with the step.
  void find_product(std::size_t k) {
    const Node& node = backward_.producer(backward_.outputs()[k].value);
    if (!node.is<FusedMatMul>()) return;
    const auto& op = node.as<FusedMatMul>();
    const auto fits = [&](Value operand) {
      const std::size_t place = place_of_input(operand);
      const bool same_in_all_steps = is_captured(place) && place < inputs_;
      return backward_.type(operand).shape.size() == 2 && !same_in_all_steps;
    };
    if (op.transA && !op.transB && fits(node.inputs[0]) && fits(node.inputs[1]))
      products_.push_back({wanted_[k], node.inputs[0], node.inputs[1]});
  }

  // The body: (state gradients, captured gradients; slices, states before, products, gradients of
  // scan outputs; captured) -> (state gradients, captured gradients; slice gradients, factors).
  Values add_backward_scan() {
    Graph body(scan_.body->name() + ".backward");
    Values operands, carried = add_carried(body, operands);
    Values arguments(inputs_);
    Scan scan{nullptr, 0, 0, {}, {}, stream_, !scan_.stream_backwards};
    add_scanned(body, operands, arguments, scan);
    const std::map<Value, Value> known = add_kept(body, operands, scan);
    Values seeds = carried_state_gradients(carried);
    for (const std::size_t o : outputs_) {
      if (o < states_) continue;
      TensorType type = scan_.body->type(scan_.body->outputs()[o].value);
      seeds.push_back(body.input(concat("dout.", o), type));
      operands.push_back(g_.output_gradient(static_cast<int>(o)));
      scan.scan_input_directions.push_back(
          !is_backwards(scan_.scan_output_directions, o - states_));
    }
    for (std::size_t i = states_ + scans_; i < inputs_; ++i) {
      arguments[i] = body.input(concat("captured.", i), type_of_input(i));
      operands.push_back(g_.input(static_cast<int>(i)));
      ++scan.captured;
    }
    scan.num_scan_inputs = static_cast<std::int64_t>(scan.scan_input_directions.size());
    arguments.insert(arguments.end(), seeds.begin(), seeds.end());
    for (const Product& product : products_)
      for (const Value factor : {product.a, product.b})
        if (!is_state(factor))
          backward_.output(concat("factor.", backward_.outputs().size()), factor);
    const Values found = inline_region(body, backward_, arguments, "", known);
    return finish(std::move(body), std::move(scan), std::move(operands), carried, found);
  }

  static bool is_backwards(const Dims& directions, std::size_t index) {
    return index < directions.size() && directions[index] == 1;
  }

  // Adds the carried gradients: one for each wanted state and captured value.
  Values add_carried(Graph& body, Values& operands) {
    Values carried(inputs_);
    for (const std::size_t i : wanted_) {
      if (is_scanned(i) || is_product(i)) continue;
      carried[i] = body.input(concat("carried.", i), type_of_input(i));
      const Value given = i < states_ ? g_.output_gradient(static_cast<int>(i)) : absent;
      operands.push_back(given.is_absent() ? zeros(type_of_input(i)) : given);
    }
    return carried;
  }

  Value zeros(const TensorType& type) {
    return g_.add(ExpandTo{type.shape}, {g_.scalar(0, type.dtype)});
  }

  void add_scanned(Graph& body, Values& operands, Values& arguments, Scan& scan) {
    for (std::size_t i = 0; i < states_ + scans_; ++i) {
      arguments[i] = body.input(concat("at.", i), type_of_input(i));
      operands.push_back(i < states_ ? before(i) : g_.input(static_cast<int>(i)));
      const bool forward_reads_backwards =
          i >= states_ && is_backwards(scan_.scan_input_directions, i - states_);
      scan.scan_input_directions.push_back(forward_reads_backwards ? 0 : 1);
    }
  }

  // The products of the forward steps. The backward graph begins with the nodes of the body.
  std::map<Value, Value> add_kept(Graph& body, Values& operands, Scan& scan) {
    std::map<Value, Value> known;
    for (const auto& [k, value] : enumerate(kept_)) {
      known[value] = body.input(concat("kept.", k), scan_.body->type(value));
      operands.push_back(kept(k));
      scan.scan_input_directions.push_back(1);
    }
    return known;
  }

  Values carried_state_gradients(const Values& carried) const {
    Values seeds;
    for (const std::size_t o : outputs_)
      if (o < states_) seeds.push_back(carried[o]);
    return seeds;
  }

  Values finish(Graph body, Scan scan, Values operands, const Values& carried,
                const Values& found) {
    std::vector<std::size_t> order;  // of inputs, by the outputs of the scan
    for (const bool scanned : {false, true}) {
      for (const auto& [k, i] : enumerate(wanted_)) {
        if (is_scanned(i) != scanned || is_product(i)) continue;
        const Value own = found[static_cast<std::size_t>(k)];
        body.output(concat("gradient.", i),
                    is_captured(i) ? body.add(Add{}, {carried[i], own}) : own);
        order.push_back(i);
        if (scanned)
          scan.scan_output_directions.push_back(
              is_backwards(scan_.scan_input_directions, i - states_) ? 0 : 1);
      }
    }
    for (std::size_t f = wanted_.size(); f < found.size(); ++f) {
      body.output(concat("factor.", f), found[f]);
      scan.scan_output_directions.push_back(1);
    }
    scan.body = std::make_shared<const Graph>(std::move(body));
    const int made = g_.add(std::move(scan), std::move(operands)).node;
    Values gradients(inputs_);
    for (const auto& [o, i] : enumerate(order)) gradients[i] = {made, static_cast<int>(o)};
    int next = static_cast<int>(order.size());
    for (const Product& product : products_) {
      const Value a = rows_of_steps(product.a, made, next);
      const Value b = rows_of_steps(product.b, made, next);
      gradients[product.input] = g_.add(FusedMatMul{true, false}, {a, b});
    }
    return gradients;
  }

  // Whether it is a state before the step, which the recording scan has for all steps.
  bool is_state(Value factor) const { return place_of_input(factor) < states_; }

  // The matrices of all steps [T, N, M] one above the other [T * N, M]: those of a state, or the
  // next output of the backward scan.
  Value rows_of_steps(Value factor, int scan, int& next) {
    const Value steps = is_state(factor) ? before(place_of_input(factor)) : Value{scan, next++};
    const Shape& shape = g_.shape(steps);
    return g_.add(ReshapeTo{{shape[0] * shape[1], shape[2]}}, {steps});
  }

  const Scan& scan_;
  Gradient& g_;
  std::size_t inputs_, states_, scans_, stacked_;
  std::string stream_;
  std::vector<std::size_t> wanted_;   // inputs of the body whose gradients are computed
  std::vector<std::size_t> outputs_;  // outputs of the body that gradients flow back from
  Values kept_;                       // products in the body
  std::vector<Product> products_;     // of the backward graph
  int recorded_ = 0;                  // the recording scan
  Graph backward_;                    // of the body
};

}  // namespace

Values Scan::gradient(Gradient& g) const { return ScanGradient(*this, g).build(); }

}  // namespace narrowgauge
