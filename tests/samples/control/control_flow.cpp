// SPDX-License-Identifier: Apache-2.0
#include "ops/control/control_flow.h"

#include "narrowgauge/graph.h"
#include "ops/math/arithmetic.h"
#include "ops/math/comparison.h"
#include "samples/samples.h"

namespace narrowgauge {

namespace {

// a' = a * k + k, and with `stacked` also the square of a'. It goes on before iteration `last`, or
// always if that is negative.
Region sample_body(bool stacked, double last) {
  Graph body("body");
  const Value iteration = body.input("iteration", TensorType::parse("i64[]"));
  const Value going = body.input("going", TensorType::parse("bool[]"));
  const Value a = body.input("a", TensorType::parse("f32[2]"));
  const Value k = body.input("k", TensorType::parse("f32[2]"));
  const Value next = body.add(Add{}, {body.add(Mul{}, {a, k}), k});
  const Value before =
      body.add(Less{}, {iteration, body.constant(Tensor::scalar(DType::i64, last))});
  body.output("going", last < 0 ? going : before);
  body.output("a", next);
  if (stacked) body.output("square", body.add(Mul{}, {next, next}));
  return std::make_shared<const Graph>(std::move(body));
}

std::vector<Sample<Loop>> loop_samples() {
  const SampleInput values = sample("f32[2]");
  const auto trips = [](double count) { return sample(Tensor::scalar(DType::i64, count)); };
  const auto going = [](bool value) { return sample(Tensor::scalar(DType::boolean, value)); };
  return {{{sample_body(true, -1), 1}, {trips(3), no_sample(), values, values}},
          {{sample_body(false, 1), 1}, {trips(5), no_sample(), values, values}},
          {{sample_body(false, -1), 1}, {trips(3), going(true), values, values}},
          {{sample_body(false, 3), 1}, {trips(2), going(true), values, values}},
          {{sample_body(false, -1), 1}, {trips(3), going(false), values, values}},
          {{sample_body(true, -1), 1}, {trips(0), no_sample(), values, values}}};
}

std::vector<Sample<If>> if_samples() {
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

std::vector<Sample<Scan>> scan_samples() {
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

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(control_flow, if_samples(), loop_samples(), scan_samples())
