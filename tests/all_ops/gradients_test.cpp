// SPDX-License-Identifier: Apache-2.0
// Gradients of every op against central differences in f64, once and twice; decompositions against
// the op itself.
#include <algorithm>
#include <set>

#include "all_ops/sample_case.h"
#include "narrowgauge/graph.h"
#include "ops/control/interpret.h"
#include "passes/differentiate.h"

namespace narrowgauge {
namespace {

using namespace testing;

// What must be differentiable twice.
const std::set<std::string> twice{
    "Gelu", "Softmax", "LayerNormalization", "BatchNormalization", "ng.Attention", "Conv"};
// What has no gradient although floating values flow through it.
const std::set<std::string> without{"DequantizeLinear"};

bool is_f64(const Graph& graph, Value value) {
  return !value.is_absent() && graph.type(value).dtype == DType::f64;
}

// Uniform in [-1, 1]: what outputs are multiplied with, and directions.
Tensor weights(const TensorType& type, const std::string& name) {
  return random_tensor({type, -1, 1}, DType::f64, name);
}

// Inputs of the graph that may be varied: floating, and gradients flow to them.
std::vector<Value> sources_of(const SampleCase& sample, const Graph& graph, const Values& inputs) {
  std::vector<Value> sources;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (is_f64(graph, inputs[i]) && !sample.inputs[i].constant &&
        sample.op->input_port(static_cast<int>(i)).differentiable)
      sources.push_back(inputs[i]);
  return sources;
}

// The sum over all values of <value, weights>, as computed from values given back by interpret().
double weighted(const std::vector<Tensor>& values, std::size_t first, std::size_t count,
                const std::string& name) {
  double sum = 0;
  for (std::size_t o = 0; o < count; ++o) {
    const Tensor weight = weights(values[first + o].type(), concat(name, o));
    for (std::int64_t i = 0; i < weight.size(); ++i) sum += weight.at(i) * values[first + o].at(i);
  }
  return sum;
}

// A scalar function of tensors with the gradients that a graph claims for it: outputs [0, values)
// of the graph, weighted, are the function; outputs [values, ...) the gradients by `sources`.
struct Claim {
  Graph graph;
  std::vector<Tensor> inputs;
  std::vector<Value> sources;
  std::size_t values = 0;
  std::string name;
};

std::size_t input_index(const Graph& graph, Value source) {
  const Values& all = graph.inputs();
  return static_cast<std::size_t>(std::find(all.begin(), all.end(), source) - all.begin());
}

// Directions: single elements of small inputs, and random ones.
std::vector<Tensor> directions_for(const TensorType& type, const std::string& name) {
  std::vector<Tensor> all;
  const std::int64_t size = element_count(known_dims(type.shape));
  for (std::int64_t i = 0; i < std::min<std::int64_t>(size, 8); ++i) {
    all.emplace_back(DType::f64, known_dims(type.shape));
    all.back().set((i * 7919 + 3) % size, 1);
  }
  for (int i = 0; i < 3 && size > 1; ++i) all.push_back(weights(type, concat(name, "/along", i)));
  return all;
}

Tensor moved(const Tensor& from, const Tensor& along, double step) {
  Tensor to = from.clone();
  for (std::int64_t i = 0; i < to.size(); ++i) to.set(i, from.at(i) + step * along.at(i));
  return to;
}

void expect_central_differences(const Claim& claim) {
  const std::vector<Tensor> at = interpret(claim.graph, claim.inputs);
  for (std::size_t s = 0; s < claim.sources.size(); ++s) {
    const std::size_t input = input_index(claim.graph, claim.sources[s]);
    const Tensor& gradient = at[claim.values + s];
    ASSERT_EQ(gradient.type(), claim.inputs[input].type());
    for (const Tensor& along : directions_for(gradient.type(), concat(claim.name, s))) {
      constexpr double step = 1e-5;
      double sides[2];
      for (const int side : {0, 1}) {
        std::vector<Tensor> inputs = claim.inputs;
        inputs[input] = moved(inputs[input], along, side == 0 ? -step : step);
        sides[side] = weighted(interpret(claim.graph, inputs), 0, claim.values, claim.name);
      }
      const double expected = (sides[1] - sides[0]) / (2 * step);
      double claimed = 0, size = 1e-2;
      for (std::int64_t i = 0; i < gradient.size(); ++i) {
        claimed += gradient.at(i) * along.at(i);
        size += std::abs(gradient.at(i) * along.at(i));
      }
      // Rounding of the sum over the step, and the third derivative times its square.
      const double bound = 2e-6 * size + 1e-15 / step * (std::abs(sides[0]) + 1);
      ASSERT_NEAR(claimed, expected, bound)
          << "gradient by input '" << claim.graph.value_name(claim.sources[s]) << "'";
    }
  }
}

// Appends gradients of the outputs, weighted, to a graph and makes them outputs. The seeds are
// constants: weights of the same names as in weighted().
Values append_claim(Graph& graph, const Values& outputs, const std::vector<Value>& sources,
                    const std::string& name) {
  Values seeds;
  for (const Value& output : outputs)
    seeds.push_back(graph.constant(weights(graph.type(output), concat(name, seeds.size()))));
  Values gradients = append_gradients(graph, outputs, seeds, sources);
  for (std::size_t s = 0; s < gradients.size(); ++s)
    if (gradients[s].is_absent())
      gradients[s] = graph.constant(Tensor(DType::f64, known_dims(graph.type(sources[s]).shape)),
                                    concat(name, "/zero", s));
  return gradients;
}

Values made_by(const Graph& graph, Value first) {
  Values outputs;
  for (std::size_t o = 0; o < graph.producer(first).outputs.size(); ++o)
    outputs.push_back({first.node, static_cast<int>(o)});
  return outputs;
}

// Those through which gradients flow: floating, in f64, and so declared.
Values differentiable(const OpRecord& op, const Graph& graph, const Values& outputs) {
  Values result;
  for (std::size_t o = 0; o < outputs.size(); ++o)
    if (is_f64(graph, outputs[o]) && op.output_port(static_cast<int>(o)).differentiable)
      result.push_back(outputs[o]);
  return result;
}

// A floating output that is not f64 has been rounded: finite differences would see steps.
bool has_rounded_output(const Graph& graph, const Values& outputs) {
  return std::any_of(outputs.begin(), outputs.end(), [&](Value value) {
    return is_floating(graph.type(value).dtype) && !is_f64(graph, value);
  });
}

bool can_differentiate(const OpRecord& op) { return op.gradient || op.decompose; }
// The others are made after differentiation.
bool is_early(const OpRecord& op) { return op.info.stage == Stage::built && !op.kernels().empty(); }

class Gradients : public OpTest {
 protected:
  const OpRecord& op() const { return *GetParam(); }
};

// The graph of the sample: inputs, the op (or its decomposition), its outputs.
struct Built {
  Graph graph;
  std::vector<Value> sources;
  Values outputs;  // differentiable ones
};
std::optional<Built> build(const SampleCase& sample, bool decomposed = false) {
  Built built;
  const Values inputs = sample.add_inputs(built.graph);
  const Values direct =
      made_by(built.graph, built.graph.add(*sample.op, sample.attributes, inputs, {"tested"}));
  Values made = direct;
  if (decomposed) {
    Rewriting rewriting(built.graph, inputs, {});
    made = sample.op->decompose(sample.attributes.get(), rewriting);
    EXPECT_EQ(made.size(), direct.size());
    made.resize(direct.size());
  }
  if (has_rounded_output(built.graph, direct)) return std::nullopt;
  built.sources = sources_of(sample, built.graph, inputs);
  built.outputs = differentiable(*sample.op, built.graph, made);
  return built;
}

// First and, `times` = 2, second derivatives as a claim.
std::optional<Claim> claim_of(const SampleCase& sample, int times, bool decomposed = false) {
  std::optional<Built> built = build(sample, decomposed);
  if (!built || built->sources.empty() || built->outputs.empty()) return std::nullopt;
  Claim claim{std::move(built->graph), sample.fed(), built->sources, 0, sample.op->full_name()};
  Values function = built->outputs;
  for (int i = 1; i < times; ++i)
    function = append_claim(claim.graph, function, claim.sources, concat(claim.name, "/inner"));
  claim.values = function.size();
  for (std::size_t i = 0; i < function.size(); ++i)
    claim.graph.output(concat("value", i), function[i]);
  const Values gradients = append_claim(claim.graph, function, claim.sources, claim.name);
  for (std::size_t i = 0; i < gradients.size(); ++i)
    claim.graph.output(concat("gradient", i), gradients[i]);
  return claim;
}

TEST_P(Gradients, equal_central_differences) {
  for_each_case(op(), DType::f64, [&](const SampleCase& sample) {
    const std::optional<Built> built = build(sample);
    if (!built || built->sources.empty() || built->outputs.empty()) return;
    if (!can_differentiate(op())) {
      // A gradient op need not have a gradient itself.
      EXPECT_TRUE(op().info.domain == "ng" || without.contains(op().full_name()))
          << "has neither gradient nor decompose";
      return;
    }
    if (const auto claim = claim_of(sample, 1)) expect_central_differences(*claim);
  });
}

class SecondGradients : public Gradients {};

TEST_P(SecondGradients, equal_central_differences) {
  int done = 0;
  std::string missing;
  for_each_case(op(), DType::f64, [&](const SampleCase& sample) {
    try {
      if (const auto claim = claim_of(sample, 2)) {
        expect_central_differences(*claim);
        ++done;
      }
    } catch (const ModelError& error) {
      missing = error.what();
    }
  });
  if (twice.contains(op().full_name())) {
    EXPECT_EQ(missing, "");
    EXPECT_GT(done, 0);
  } else if (!missing.empty()) {
    GTEST_SKIP() << missing;
  }
}

void expect_near(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t o = 0; o < expected.size(); ++o) {
    ASSERT_EQ(actual[o].type(), expected[o].type());
    for (std::int64_t i = 0; i < expected[o].size(); ++i) {
      const double a = actual[o].at(i), e = expected[o].at(i);
      if (std::isnan(a) && std::isnan(e)) continue;
      ASSERT_NEAR(a, e, 1e-10 * (1 + std::abs(e))) << "output " << o << ", element " << i;
    }
  }
}

class Decompositions : public Gradients {};

TEST_P(Decompositions, compute_the_same) {
  for_each_case(op(), DType::f64, [&](const SampleCase& sample) {
    Graph direct = sample.graph(), decomposed;
    const Values inputs = sample.add_inputs(decomposed);
    Rewriting rewriting(decomposed, inputs, {});
    const Values made = op().decompose(sample.attributes.get(), rewriting);
    ASSERT_EQ(made.size(), direct.outputs().size());
    std::vector<Tensor> expected = interpret(direct, sample.fed()), kept;
    for (std::size_t o = 0; o < made.size(); ++o) {
      if (made[o].is_absent()) {
        EXPECT_TRUE(op().output_port(static_cast<int>(o)).optional) << "output " << o;
        continue;
      }
      decomposed.output(concat("out", o), made[o]);
      kept.push_back(expected[o]);
    }
    expect_near(interpret(decomposed, sample.fed()), kept);
    if (!op().gradient) return;
    const auto by_op = claim_of(sample, 1), by_parts = claim_of(sample, 1, true);
    if (by_op)
      expect_near(interpret(by_parts->graph, by_parts->inputs),
                  interpret(by_op->graph, by_op->inputs));
  });
}

INSTANTIATE_TEST_SUITE_P(AllOps, Gradients, ops_where(is_early), op_name);
INSTANTIATE_TEST_SUITE_P(AllOps, SecondGradients, ops_where([](const OpRecord& op) {
                           return is_early(op) && can_differentiate(op);
                         }),
                         op_name);
INSTANTIATE_TEST_SUITE_P(AllOps, Decompositions,
                         ops_where([](const OpRecord& op) { return op.decompose != nullptr; }),
                         op_name);

}  // namespace
}  // namespace narrowgauge
