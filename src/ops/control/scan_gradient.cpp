// SPDX-License-Identifier: Apache-2.0
// The gradient of Scan: runs the forward scan again, also recording the states that each step began
// with; then scans backwards over the body's own gradient. Gradients of states are carried,
// gradients of captured values are carried and summed, gradients of slices are scanned out.
#include "base/enumerate.h"
#include "ops/activation/relu.h"
#include "ops/control/control_flow.h"
#include "ops/control/inline_region.h"
#include "ops/math/arithmetic.h"
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
  }

  Values build() {
    const Value states_at_start = add_recording_scan();
    return add_backward_scan(states_at_start);
  }

 private:
  const TensorType& type_of_input(std::size_t i) const {
    return scan_.body->type(scan_.body->inputs()[i]);
  }
  bool is_scanned(std::size_t i) const { return i >= states_ && i < states_ + scans_; }
  bool is_captured(std::size_t i) const { return i >= states_ + scans_; }

  // The forward scan with one more scan output for each state: its value before the step.
  Value add_recording_scan() {
    Graph body(scan_.body->name() + ".recording");
    Values arguments;
    for (std::size_t i = 0; i < inputs_; ++i)
      arguments.push_back(body.input(concat("in.", i), type_of_input(i)));
    const Values results = inline_region(body, *scan_.body, arguments);
    for (std::size_t o = 0; o < results.size(); ++o) body.output(concat("out.", o), results[o]);
    for (std::size_t s = 0; s < states_; ++s) body.output(concat("before.", s), arguments[s]);
    Scan recording = scan_;
    recording.stream = stream_;
    recording.body = std::make_shared<const Graph>(std::move(body));
    recording.scan_output_directions.resize(stacked_ + states_);
    Values operands;
    for (std::size_t i = 0; i < inputs_; ++i) operands.push_back(g_.input(static_cast<int>(i)));
    return g_.add(std::move(recording), operands);
  }

  // The body: (state gradients, captured gradients; slices, states before, gradients of scan
  // outputs; captured) -> (state gradients, captured gradients; slice gradients).
  Values add_backward_scan(Value recorded) {
    const std::vector<int> outputs(outputs_.begin(), outputs_.end());
    const std::vector<int> inputs(wanted_.begin(), wanted_.end());
    const Region backward = g_.differentiate(scan_.body, outputs, inputs);
    Graph body(scan_.body->name() + ".backward");
    Values operands, carried = add_carried(body, operands);
    Values arguments(inputs_);
    Scan scan{nullptr, 0, 0, {}, {}, stream_, !scan_.stream_backwards};
    add_scanned(body, operands, arguments, scan, recorded);
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
    const Values found = inline_region(body, *backward, arguments);
    return finish(std::move(body), std::move(scan), std::move(operands), carried, found);
  }

  static bool is_backwards(const Dims& directions, std::size_t index) {
    return index < directions.size() && directions[index] == 1;
  }

  // Adds the carried gradients: one for each wanted state and captured value.
  Values add_carried(Graph& body, Values& operands) {
    Values carried(inputs_);
    for (const std::size_t i : wanted_) {
      if (is_scanned(i)) continue;
      carried[i] = body.input(concat("carried.", i), type_of_input(i));
      const Value given = i < states_ ? g_.output_gradient(static_cast<int>(i)) : absent;
      operands.push_back(given.is_absent() ? zeros(type_of_input(i)) : given);
    }
    return carried;
  }

  Value zeros(const TensorType& type) {
    return g_.add(ExpandTo{type.shape}, {g_.scalar(0, type.dtype)});
  }

  void add_scanned(Graph& body, Values& operands, Values& arguments, Scan& scan, Value recorded) {
    for (std::size_t i = 0; i < states_ + scans_; ++i) {
      arguments[i] = body.input(concat("at.", i), type_of_input(i));
      const int before = static_cast<int>(states_ + stacked_ + i);
      operands.push_back(i < states_ ? Value{recorded.node, before}
                                     : g_.input(static_cast<int>(i)));
      const bool forward_reads_backwards =
          i >= states_ && is_backwards(scan_.scan_input_directions, i - states_);
      scan.scan_input_directions.push_back(forward_reads_backwards ? 0 : 1);
    }
  }

  Values carried_state_gradients(const Values& carried) const {
    Values seeds;
    for (const std::size_t o : outputs_)
      if (o < states_) seeds.push_back(carried[o]);
    return seeds;
  }

  Values finish(Graph body, Scan scan, Values operands, const Values& carried,
                const Values& found) {
    int next = 0;
    Values gradients(inputs_);
    std::vector<std::size_t> order;
    for (const bool scanned : {false, true}) {
      for (std::size_t k = 0; k < wanted_.size(); ++k) {
        const std::size_t i = wanted_[k];
        if (is_scanned(i) != scanned) continue;
        const Value sum = is_captured(i) ? body.add(Add{}, {carried[i], found[k]}) : found[k];
        body.output(concat("gradient.", i), sum);
        order.push_back(i);
        if (scanned)
          scan.scan_output_directions.push_back(
              is_backwards(scan_.scan_input_directions, i - states_) ? 0 : 1);
      }
    }
    scan.body = std::make_shared<const Graph>(std::move(body));
    const Value made = g_.add(std::move(scan), std::move(operands));
    for (const std::size_t i : order) gradients[i] = {made.node, next++};
    return gradients;
  }

  const Scan& scan_;
  Gradient& g_;
  std::size_t inputs_, states_, scans_, stacked_;
  std::string stream_;
  std::vector<std::size_t> wanted_;   // inputs of the body whose gradients are computed
  std::vector<std::size_t> outputs_;  // outputs of the body that gradients flow back from
};

}  // namespace

Values Scan::gradient(Gradient& g) const { return ScanGradient(*this, g).build(); }

std::vector<Sample<If>> If::samples() {
  const auto branch = [](auto op) {
    Graph body("branch");
    const Value x = body.input("x", TensorType::parse("f32[3]"));
    body.output("y", body.add(op, {x, x}));
    return std::make_shared<const Graph>(std::move(body));
  };
  const Tensor yes = Tensor::scalar(DType::boolean, 1), no = Tensor::scalar(DType::boolean, 0);
  return {{{branch(Add{}), branch(Mul{})}, {sample(yes), sample("f32[3]")}},
          {{branch(Add{}), branch(Mul{})}, {sample(no), sample("f32[3]")}}};
}

std::vector<Sample<Scan>> Scan::samples() {
  Graph body("body");
  const Value h = body.input("h", TensorType::parse("f32[2]"));
  const Value x = body.input("x", TensorType::parse("f32[2]"));
  const Value w = body.input("w", TensorType::parse("f32[2]"));
  const Value next = body.add(Add{}, {body.add(Mul{}, {h, w}), x});
  body.output("h", next);
  body.output("y", body.add(Mul{}, {next, next}));
  const Region region = std::make_shared<const Graph>(std::move(body));
  const std::vector<SampleInput> inputs{sample("f32[2]"), sample("f32[4,2]"), sample("f32[2]")};
  return {{{region, 1, 1, {}, {}}, inputs}, {{region, 1, 1, {1}, {1}}, inputs}};
}

}  // namespace narrowgauge
