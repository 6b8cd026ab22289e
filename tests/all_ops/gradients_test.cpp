// SPDX-License-Identifier: Apache-2.0
// Gradients of every op against central differences in f64, once and twice; decompositions against
// the op itself.
#include <algorithm>
#include <map>
#include <set>

#include "all_ops/sample_case.h"
#include "narrowgauge/graph.h"
#include "ops/control/interpret.h"
#include "ops/no_gradient.h"
#include "passes/differentiate.h"

namespace narrowgauge::gradients_test {
namespace {

using namespace testing_support;

// What must be differentiable twice.
const std::set<std::string> twice{
    "Gelu",         "Softmax", "LayerNormalization",     "BatchNormalization",
    "ng.Attention", "Conv",    "SoftmaxCrossEntropyLoss"};
// Gradients of ops that have none themselves: what is differentiated once only.
const std::set<std::string> once{"ng.DetGradient", "ng.GridSampleGradient", "ng.MaxUnpoolGradient",
                                 "ng.RoiAlignGradient", "ng.TensorScatterGradient"};
// Samples that cannot be compared: "op sample", or "op" for all whose results are rounded.
const std::map<std::string, std::string> exceptions{
    {"Cast", "finite differences see the steps of a narrow format"},
    {"CastLike", "finite differences see the steps of a narrow format"},
    {"LpNormalization 3", "a row of zeros stands on a kink"},
    {"ai.onnx.ml.Imputer 1", "numbers stand on the one that is replaced"},
    {"ai.onnx.ml.Imputer 2", "numbers stand on the one that is replaced"},
    {"ng.PowGradientBase 1", "the exponent 0 is a case of its own"}};

bool is_f64(const Graph& graph, Value value) {
  return !value.is_absent() && graph.type(value).dtype == DType::f64;
}

// Uniform in [-1, 1]: what outputs are multiplied with, and directions.
Tensor weights(const TensorType& type, const std::string& name) {
  return random_tensor({type, -1, 1}, type.dtype, name);
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
  double step = 0x1p-15, rounding = 4e-15, bound = 1e-7;
};

std::size_t input_index(const Graph& graph, Value source) {
  const Values& all = graph.inputs();
  return static_cast<std::size_t>(std::find(all.begin(), all.end(), source) - all.begin());
}

// Directions: single elements of small inputs, and random ones.
std::vector<Tensor> directions_for(const TensorType& type, const std::string& name) {
  std::vector<Tensor> all;
  const std::int64_t size = element_count(known_dims(type.shape));
  for (std::int64_t i = 0; i < std::min<std::int64_t>(size, 4); ++i) {
    all.emplace_back(DType::f64, known_dims(type.shape));
    all.back().set((i * 7919 + 3) % size, 1);
  }
  for (int i = 0; i < 2 && size > 1; ++i) all.push_back(weights(type, concat(name, "/along", i)));
  return all;
}

Tensor moved(const Tensor& from, const Tensor& along, double step) {
  Tensor to = from.clone();
  for (std::int64_t i = 0; i < to.size(); ++i) to.set(i, from.at(i) + step * along.at(i));
  return to;
}

// The derivative of the function along a direction of one input, by differences at four places
// (of fourth order: the fifth derivative times the step to the fourth power is left), and its
// rounding error.
struct Difference {
  double value = 0, error = 0;
};
Difference difference(const Claim& claim, std::size_t input, const Tensor& along) {
  const auto at = [&](double places) {
    std::vector<Tensor> inputs = claim.inputs;
    inputs[input] = moved(inputs[input], along, places * claim.step);
    return weighted(interpret(claim.graph, inputs, {.reference = true}), 0, claim.values,
                    claim.name);
  };
  const double left = at(-1), right = at(1);
  const double value = (8 * (right - left) - (at(2) - at(-2))) / (12 * claim.step);
  return {value, claim.rounding / claim.step * (std::abs(left) + 1)};
}

void expect_central_differences(const Claim& claim) {
  const std::vector<Tensor> at = interpret(claim.graph, claim.inputs, {.reference = true});
  for (std::size_t s = 0; s < claim.sources.size(); ++s) {
    const std::size_t input = input_index(claim.graph, claim.sources[s]);
    const Tensor& gradient = at[claim.values + s];
    ASSERT_EQ(gradient.type(), claim.inputs[input].type());
    for (const Tensor& along : directions_for(gradient.type(), concat(claim.name, s))) {
      double claimed = 0, size = 1e-2;
      for (std::int64_t i = 0; i < gradient.size(); ++i) {
        claimed += gradient.at(i) * along.at(i);
        size += std::abs(gradient.at(i) * along.at(i));
      }
      const Difference expected = difference(claim, input, along);
      ASSERT_NEAR(claimed, expected.value, claim.bound * size + expected.error)
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

// Those through which gradients flow: floating, and so declared.
Values differentiable(const OpRecord& op, const Graph& graph, const Values& outputs) {
  Values result;
  for (std::size_t o = 0; o < outputs.size(); ++o)
    if (is_floating(graph.type(outputs[o]).dtype) &&
        op.output_port(static_cast<int>(o)).differentiable)
      result.push_back(outputs[o]);
  return result;
}

int fewest_bits(const Graph& graph, const Values& values) {
  int fewest = 64;
  for (const Value& value : values) fewest = std::min(fewest, bits(graph.type(value).dtype));
  return fewest;
}

bool can_differentiate(const OpRecord& op) { return op.gradient || op.decompose; }
// The others are made after differentiation.
bool is_early(const OpRecord& op) { return op.info.stage == Stage::built && !op.kernels().empty(); }

class Gradients : public OpTest {
 protected:
  const OpRecord& op() const { return *GetParam(); }
};

// The sample with its floating constants as inputs that vary, but for those that must be known.
SampleCase freed(SampleCase sample) {
  for (CaseInput& input : sample.inputs) {
    if (!input.constant || input.tensor.dtype() != DType::f64) continue;
    input.constant = false;
    try {
      sample.graph();
    } catch (const UnknownValueError&) {
      input.constant = true;
    }
  }
  return sample;
}

// The graph of the sample: inputs, the op (or its decomposition), its outputs.
struct Built {
  Graph graph;
  std::vector<Value> sources;
  Values outputs;  // differentiable ones
  bool flows() const { return !sources.empty() && !outputs.empty(); }
};
Built build(const SampleCase& sample, bool decomposed = false) {
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
  built.sources = sources_of(sample, built.graph, inputs);
  built.outputs = differentiable(*sample.op, built.graph, made);
  return built;
}

// Differences of results in f32 need longer steps.
Claim rounded_to_f32(Claim claim) {
  claim.step = 0x1p-8;
  claim.rounding = 1e-6;
  claim.bound = 1e-4;
  return claim;
}

// First and, `times` = 2, second derivatives as a claim.
std::optional<Claim> claim_of(const SampleCase& sample, int times, bool decomposed = false) {
  Built built = build(sample, decomposed);
  const int precision = fewest_bits(built.graph, built.outputs);
  if (!built.flows() || precision < 32) return std::nullopt;
  Claim claim{std::move(built.graph), sample.fed(), built.sources, 0, sample.op->full_name()};
  if (precision == 32) claim = rounded_to_f32(std::move(claim));
  Values function = built.outputs;
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

// Whether the sample as it is written has floating numbers that gradients could flow to.
bool has_floating_input(const OpRecord& op, const ErasedSample& sample) {
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
    const SampleInput& input = sample.inputs[i];
    const DType dtype = input.constant ? input.constant->dtype() : input.type.dtype;
    if (input.present && dtype == DType::f32 && op.input_port(static_cast<int>(i)).differentiable)
      return true;
  }
  return false;
}

TEST_P(Gradients, equal_central_differences) {
  const bool none = !why_no_gradient(op()).empty() || once.contains(op().full_name());
  EXPECT_NE(none, op().gradient || (op().decompose && why_no_gradient(op()).empty()));
  int compared = 0;
  for (std::size_t i = 0; i < samples_of(op()).size(); ++i) {
    if (!has_floating_input(op(), samples_of(op())[i])) continue;
    SCOPED_TRACE(i);
    const auto made = make_case(op(), i, DType::f64);
    ASSERT_TRUE(made) << "a sample that f64 does not take";
    const SampleCase sample = freed(*made);
    SCOPED_TRACE(sample.text);
    const Built built = build(sample);
    EXPECT_FALSE(built.flows() && !why_no_gradient(op()).empty());
    if (none || built.outputs.empty()) continue;
    const std::string name = op().full_name();
    if (exceptions.contains(name) && fewest_bits(built.graph, built.outputs) < 32) continue;
    if (exceptions.contains(concat(name, ' ', i))) continue;
    const auto claim = claim_of(sample, 1);
    ASSERT_TRUE(claim) << "a sample whose gradients are not compared";
    expect_central_differences(*claim);
    ++compared;
  }
  EXPECT_EQ(compared == 0, none) << "compared " << compared << " samples";
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
}  // namespace narrowgauge::gradients_test
