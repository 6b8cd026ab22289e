// SPDX-License-Identifier: Apache-2.0
// Every op in every format and math mode, as a plan runs it: forward, with weights that last, and
// its gradient, against the same graph in f64.
#include <algorithm>
#include <map>

#include "all_ops/sample_case.h"
#include "compile/compile.h"
#include "ops/control/interpret.h"
#include "ops/math/gemm.h"
#include "ops/math/matmul.h"
#include "ops/nn/conv.h"
#include "ops/nn/conv_transpose.h"
#include "passes/differentiate.h"
#include "precision/apply.h"
#include "precision/policy.h"
#include "precision/subnormals.h"
#include "runtime/executor.h"
#include "runtime/state_store.h"

namespace narrowgauge::modes_test {
namespace {

using namespace testing_support;

// Which inputs of the op are states or constants of the plan.
enum class Form { fed, weights_last, first_lasts, gradient };
constexpr Form forms[] = {Form::fed, Form::weights_last, Form::first_lasts, Form::gradient};
const char* name(Form form) {
  constexpr const char* names[] = {"fed", "weights last", "first lasts", "gradient"};
  return names[static_cast<int>(form)];
}

// A graph and what it is fed with.
struct Built {
  Graph graph{"tested"};
  std::vector<Tensor> fed;
};

Value add_input(Built& built, const CaseInput& input, std::size_t index, Form form) {
  const std::string name = concat("in", index);
  const bool lasts =
      form == Form::weights_last ? index > 0 : form == Form::first_lasts && index == 0;
  if (input.constant || (lasts && form == Form::first_lasts))
    return built.graph.constant(input.tensor, name);
  if (lasts)
    return built.graph.state({.name = name,
                              .type = input.tensor.type(),
                              .initial = Initial::of(input.tensor),
                              .current = {},
                              .next = {}});
  built.fed.push_back(input.tensor);
  return built.graph.input(name, input.tensor.type());
}

// Gradients of the floating outputs by the floating inputs, for seeds that are fed; false where
// there is none.
bool add_gradients(Built& built, const SampleCase& sample, const Values& outputs,
                   const Values& inputs) {
  Graph& graph = built.graph;
  Values differentiable, seeds, sources;
  for (std::size_t o = 0; o < outputs.size(); ++o)
    if (is_floating(graph.type(outputs[o]).dtype) &&
        sample.op->output_port(static_cast<int>(o)).differentiable)
      differentiable.push_back(outputs[o]);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i].is_absent() && !sample.inputs[i].constant &&
        is_floating(graph.type(inputs[i]).dtype) &&
        sample.op->input_port(static_cast<int>(i)).differentiable)
      sources.push_back(inputs[i]);
  for (const Value& output : differentiable) {
    const TensorType& type = graph.type(output);
    const std::string name = concat("seed", seeds.size());
    built.fed.push_back(random_tensor({type, -1, 1}, DType::bf16, name).cast(type.dtype));
    seeds.push_back(graph.input(name, type));
  }
  Values gradients = append_gradients(graph, differentiable, seeds, sources);
  std::erase_if(gradients, [](Value value) { return value.is_absent(); });
  for (std::size_t i = 0; i < gradients.size(); ++i)
    graph.output(concat("gradient", i), gradients[i]);
  return !gradients.empty();
}

// The sample's graph in a form; nothing where the op has none in that form.
std::optional<Built> build(const SampleCase& sample, Form form) {
  Built built;
  Values inputs;
  for (std::size_t i = 0; i < sample.inputs.size(); ++i)
    inputs.push_back(sample.inputs[i].present ? add_input(built, sample.inputs[i], i, form)
                                              : absent);
  const Value first = built.graph.add(*sample.op, sample.attributes, inputs, {.name = "tested"});
  Values outputs;
  for (std::size_t o = 0; o < built.graph.producer(first).outputs.size(); ++o)
    outputs.push_back({first.node, static_cast<int>(o)});
  if (form == Form::gradient) {
    if (sample.op->info.name.ends_with("Gradient")) return std::nullopt;  // a second derivative
    if (!add_gradients(built, sample, outputs, inputs)) return std::nullopt;
    return built;
  }
  if (form != Form::fed && built.fed.size() == sample.fed().size()) return std::nullopt;
  if (form != Form::fed && built.fed.empty()) return std::nullopt;
  for (std::size_t o = 0; o < outputs.size(); ++o) built.graph.output(concat("out", o), outputs[o]);
  return built;
}

// The same numbers in f64, where the op takes it.
std::optional<SampleCase> in_f64(const SampleCase& sample, std::size_t index) {
  auto wide = make_case(*sample.op, index, DType::f64);
  if (!wide) return std::nullopt;
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
    Tensor& tensor = wide->inputs[i].tensor;
    if (sample.inputs[i].present) tensor = sample.inputs[i].tensor.cast(tensor.dtype());
  }
  return wide;
}

std::vector<Math> modes_of(DType dtype) {
  const Math a100 = simulated(MatrixUnit::a100);
  if (dtype == DType::f64) return {Math::ieee};
  if (dtype != DType::f32) return {Math::f32, a100, simulated(MatrixUnit::h100)};
  return {Math::ieee,   Math::f32,   Math::tf32, Math::tf32x3,
          Math::bf16x3, Math::dfp16, a100,       simulated(MatrixUnit::ieee)};
}

bool has_contractions(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(),
                             [](const Node& node) { return node.math != Math::none; });
}

// The part of the error that the contract of contractions allows, beside that of the format.
double allowed_by(Math math) {
  switch (math) {
    case Math::f32:  // TF32's accuracy or better; of a few products in a row
    case Math::dfp16:
    case Math::tf32:
      return 0x1p-7;
    case Math::bf16x3:
      return 0x1p-13;
    default:
      return is_simulated(math) && unit_of(math) != MatrixUnit::ieee ? 0x1p-7 : 0;
  }
}

double allowed_by(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 0x1p-42;
    case DType::f32:
      return 0x1p-17;
    case DType::f16:
      return 0x1p-8;
    case DType::bf16:
      return 0x1p-5;
    case DType::f8e4m3fn:
    case DType::f8e5m2:
      return 0x1p-1;
    default:
      return 0;
  }
}

double root_mean_square(const Tensor& tensor) {
  double squares = 0;
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    if (std::isfinite(tensor.at(i))) squares += tensor.at(i) * tensor.at(i);
  return std::sqrt(squares / static_cast<double>(std::max<std::int64_t>(tensor.size(), 1)));
}

// The largest difference, relative to the element and the tensor's root mean square. What the
// format cannot hold is infinite.
double error_of(const Tensor& actual, const Tensor& exact) {
  const Tensor rounded = exact.cast(actual.dtype());
  const double scale = root_mean_square(exact);
  double worst = 0;
  for (std::int64_t i = 0; i < exact.size(); ++i) {
    const double a = actual.at(i), e = std::isfinite(rounded.at(i)) ? exact.at(i) : rounded.at(i);
    if (a == e || (std::isnan(a) && std::isnan(e))) continue;
    const double error = std::abs(a - e) / (std::abs(e) + scale);
    worst = std::isfinite(error) ? std::max(worst, error) : HUGE_VAL;
  }
  return worst;
}

struct Mode {
  Math math;
  bool deterministic;
};

Graph in_mode(const Graph& graph, Math math) {
  return apply(graph, make_precision_plan(graph, {.f32_math = math}));
}

std::vector<Tensor> run(const Built& built, const Mode& mode) {
  CompileOptions options;
  options.deterministic = mode.deterministic;
  options.subnormals = subnormals_of(mode.math);
  StateStore store;
  store.add(built.graph, 1);
  Executor executor(compile(in_mode(built.graph, mode.math), options), store, 1);
  return executor.run(built.fed);
}

// Also deterministic, which leaves some kernels out.
std::vector<Mode> modes(const Graph& graph, DType dtype, Form form) {
  std::vector<Mode> all;
  const bool contracts = has_contractions(in_mode(graph, Math::f32));
  for (const Math math : contracts ? modes_of(dtype) : std::vector{Math::ieee}) {
    all.push_back({math, false});
    if (form != Form::gradient && !is_simulated(math)) all.push_back({math, true});
  }
  return all;
}

std::vector<Tensor> interpreted(const Built& built) {
  std::map<std::string, Tensor> states;
  for (const State& state : built.graph.states()) states[state.name] = state.initial.data;
  return interpret(built.graph, built.fed, {.states = &states});
}

// `wide`: the sample in f64; where the op does not take that, its reference is what counts.
void expect_form(const SampleCase& sample, const std::optional<SampleCase>& wide, DType dtype,
                 Form form) {
  std::optional<Built> narrow;
  try {
    narrow = build(sample, form);
  } catch (const UnknownValueError&) {
    return;  // the op must know it
  } catch (const ModelError&) {
    return;  // it has no gradient
  }
  if (!narrow) return;
  const std::vector<Tensor> expected = interpreted(wide ? *build(*wide, form) : *narrow);
  for (const Mode& mode : modes(narrow->graph, dtype, form)) {
    SCOPED_TRACE(
        concat(name(form), ", math ", mode.math, mode.deterministic ? ", deterministic" : ""));
    const std::vector<Tensor> got = run(*narrow, mode);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t o = 0; o < got.size(); ++o) {
      const DType made = got[o].dtype();
      const double rounding = std::max(allowed_by(dtype), allowed_by(made));
      EXPECT_LE(error_of(got[o], expected[o]),
                is_floating(made) ? allowed_by(mode.math) + rounding : 0)
          << "output " << o;
    }
  }
}

constexpr DType dtypes[] = {DType::f32, DType::f16, DType::bf16, DType::f64};

class Modes : public OpTest {};

TEST_P(Modes, compute_what_f64_does) {
  const OpRecord& op = *GetParam();
  for (const DType dtype : dtypes)
    for (std::size_t i = 0; i < samples_of(op).size(); ++i) {
      const auto sample = make_case(op, i, dtype);
      if (!sample) continue;
      SCOPED_TRACE(sample->text);
      const auto wide = in_f64(*sample, i);
      for (const Form form : forms) expect_form(*sample, wide, dtype, form);
    }
}

template <Op T>
SampleCase sample_of(const T& op, const std::vector<Dims>& dims, DType dtype) {
  SampleCase sample{&record_of<T>(), Attributes::of(op), {}, {}};
  for (const Dims& each : dims) {
    const TensorType type{DType::f32, Shape(each.begin(), each.end())};
    const Tensor values =
        random_tensor({type, -1, 1}, DType::bf16, concat(each, sample.inputs.size()));
    sample.inputs.push_back({values.cast(dtype), true, false});
  }
  return sample;
}

// Of sizes that kernels pack weights for.
std::vector<SampleCase> large_contractions(DType dtype) {
  const Dims image{2, 16, 13, 13}, sides{1, 1, 1, 1};
  return {sample_of(Conv{.pads = sides}, {image, {32, 16, 3, 3}, {32}}, dtype),
          sample_of(Conv{.pads = sides, .strides = {2, 2}}, {image, {32, 16, 3, 3}}, dtype),
          sample_of(Conv{}, {image, {48, 16, 1, 1}, {48}}, dtype),
          sample_of(Conv{.group = 16, .pads = sides}, {image, {16, 1, 3, 3}, {16}}, dtype),
          sample_of(Conv{.group = 2}, {image, {32, 8, 3, 3}}, dtype),
          sample_of(Conv{.pads = sides}, {{2, 3, 24, 24}, {16, 3, 3, 3}, {16}}, dtype),
          sample_of(ConvTranspose{.strides = {2, 2}}, {image, {16, 32, 3, 3}, {32}}, dtype),
          sample_of(MatMul{}, {{33, 64}, {64, 96}}, dtype),
          sample_of(MatMul{}, {{3, 5, 64}, {64, 48}}, dtype),
          sample_of(Gemm{.transB = 1}, {{17, 64}, {80, 64}, {80}}, dtype),
          sample_of(Gemm{.alpha = 0.5, .beta = 2}, {{17, 64}, {64, 80}, {80}}, dtype)};
}

TEST(modes, of_large_contractions_are_those_of_f64) {
  for (const DType dtype : dtypes) {
    const auto samples = large_contractions(dtype), wide = large_contractions(DType::f64);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      SCOPED_TRACE(concat(samples[i].op->full_name(), " ", i, " in ", dtype));
      for (const Form form : forms) expect_form(samples[i], wide[i], dtype, form);
    }
  }
}

// The sample with one floating input scaled into the subnormals; nothing where it has none there.
std::optional<SampleCase> made_subnormal(SampleCase sample, std::size_t input) {
  CaseInput& chosen = sample.inputs[input];
  if (!chosen.present || chosen.constant || chosen.tensor.dtype() != DType::f32)
    return std::nullopt;
  chosen.tensor = chosen.tensor.clone();
  for (std::int64_t i = 0; i < chosen.tensor.size(); ++i)
    chosen.tensor.set(i, chosen.tensor.at(i) * 0x1p-130);
  return sample;
}

// Within some units of f32's least number, beside what rounding costs.
void expect_subnormals(const Tensor& got, const Tensor& expected, const std::string& what) {
  if (!is_floating(got.dtype())) return;
  const double scale = root_mean_square(expected);
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    const double e = expected.at(i), a = got.at(i);
    if (!(std::abs(e) <= std::numeric_limits<float>::max())) continue;
    ASSERT_NEAR(a, e, 0x1p-17 * (std::abs(e) + scale) + 64 * 0x1p-149) << what << ", element " << i;
  }
}

class SubnormalNumbers : public OpTest {};

TEST_P(SubnormalNumbers, are_kept_in_ieee) {
  const OpRecord& op = *GetParam();
  for (std::size_t s = 0; s < samples_of(op).size(); ++s) {
    const auto sample = make_case(op, s, DType::f32);
    for (std::size_t i = 0; sample && i < sample->inputs.size(); ++i) {
      const auto tiny = made_subnormal(*sample, i);
      const auto wide = tiny ? in_f64(*tiny, s) : std::nullopt;
      if (!wide) continue;
      const std::string what = concat(sample->text, ", input ", i, " subnormal");
      const std::optional<Built> narrow = build(*tiny, Form::fed), exact = build(*wide, Form::fed);
      const std::vector<Tensor> got = run(*narrow, {Math::ieee, false}),
                                expected = interpret(exact->graph, exact->fed);
      for (std::size_t o = 0; o < got.size(); ++o) expect_subnormals(got[o], expected[o], what);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllOps, SubnormalNumbers, ops_where([](const OpRecord& op) {
                           return !op.kernels().empty() && !op.info.random &&
                                  (op.elementwise || op.info.fusion == Fusion::contraction);
                         }),
                         op_name);
INSTANTIATE_TEST_SUITE_P(AllOps, Modes, ops_where([](const OpRecord& op) {
                           return !op.kernels().empty() && !op.info.random &&
                                  op.info.stage <= Stage::trained;
                         }),
                         op_name);

}  // namespace
}  // namespace narrowgauge::modes_test
