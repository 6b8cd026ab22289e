// SPDX-License-Identifier: Apache-2.0
// The shape of the engine carries what comes: groups around contractions, layouts, slices,
// recomputation, regions.
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "compile/compile.h"
#include "groups/fused.h"
#include "narrowgauge/models.h"
#include "ops/activation/relu.h"
#include "ops/composition/interpret.h"
#include "ops/control/control_flow.h"
#include "ops/convolution/conv.h"
#include "ops/index/expand.h"
#include "ops/nn/dropout.h"
#include "ops/normalization/batch_normalization.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/table.h"
#include "passes/training/differentiate.h"
#include "passes/training/recompute.h"
#include "runtime/executor.h"

namespace narrowgauge::shape_test {
namespace {

Tensor random_tensor(const TensorType& type, std::string_view name) {
  Tensor tensor(type.dtype, known_dims(type.shape));
  const RandomStream random(11, name);
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    tensor.set(i, random.normal(static_cast<std::uint64_t>(i)));
  return tensor;
}

std::vector<Tensor> random_inputs(const Graph& graph) {
  std::vector<Tensor> inputs;
  for (const Value& value : graph.inputs())
    inputs.push_back(random_tensor(graph.type(value), graph.value_name(value)));
  return inputs;
}

std::vector<Tensor> run(const Graph& graph, const CompileOptions& options = {}) {
  StateStore store;
  Executor executor(compile(graph, options), store, 1);
  return executor.run(random_inputs(graph));
}

double worst_difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.dims(), b.dims());
  double worst = 0;
  for (std::int64_t i = 0; i < a.size(); ++i)
    worst = std::max(worst, std::abs(a.at(i) - b.at(i)) / (1 + std::abs(b.at(i))));
  return worst;
}

// y = relu(bn(conv(x, w)) + x), and the batch mean.
Graph residual_body() {
  Graph body("body");
  const Value x = body.input("x", TensorType::parse("f32[2,4,5,5]"));
  const Value w = body.input("w", TensorType::parse("f32[4,4,3,3]"));
  const Value scale = body.input("scale", TensorType::parse("f32[4]"));
  const Value bias = body.input("bias", TensorType::parse("f32[4]"));
  const Value mean = body.input("mean", TensorType::parse("f32[4]"));
  const Value variance = body.input("variance", TensorType::parse("f32[4]"));
  Conv conv;
  conv.pads = {1, 1, 1, 1};
  BatchNormalization norm;
  norm.training_mode = 1;
  const Value c = body.add(conv, {x, w});
  const Value n = body.add(norm, {c, scale, bias, mean, variance});
  body.output("y", body.add(Relu{}, {body.add(Add{}, {n, x})}));
  body.output("batch_mean", {n.node, 3});
  return body;
}

TEST(shape, a_group_around_a_convolution_gives_what_its_body_gives) {
  const Graph body = residual_body();
  Graph graph("fused");
  Values inputs;
  for (const Value& value : body.inputs())
    inputs.push_back(graph.input(body.value_name(value), body.type(value)));
  const Fused op{std::make_shared<const Graph>(body), "f32,f32"};
  const NodeOptions options;
  // Groups are legal after fusion only: the plan is made of the finished graph.
  const Value y = graph.add(op, inputs, options);
  graph.output("y", y);
  graph.output("batch_mean", {y.node, 1});
  StateStore store;
  Executor executor(make_plan(graph, {}), store, 1);
  const std::vector<Tensor> fused = executor.run(random_inputs(graph));
  const std::vector<Tensor> apart = run(body, {.layout = Layout::plain});
  EXPECT_LT(worst_difference(fused[0], apart[0]), 1e-5);
  EXPECT_LT(worst_difference(fused[1], apart[1]), 1e-5);
}

int count_nodes_other_than_relayouts(const Graph& graph) {
  int count = 0;
  for (const Node& node : graph.nodes()) count += node.op->info.name != "Relayout";
  return count;
}

TEST(layouts, values_stay_and_only_relayouts_are_added) {
  Graph graph = residual_body();
  const Graph moved = assign_layout(graph, Layout::channels_last, Target::machine());
  verify(moved, Stage::laid_out);
  EXPECT_EQ(count_nodes_other_than_relayouts(moved), static_cast<int>(graph.nodes().size()));
  int activations_moved = 0;
  for (const Node& node : moved.nodes()) {
    if (node.op->info.name == "Relayout" || node.inputs.empty()) continue;
    if (node.outputs[0].type.shape.size() != 4) continue;
    EXPECT_FALSE(node.outputs[0].storage.is_plain()) << node.name;
    ++activations_moved;
  }
  EXPECT_EQ(activations_moved, 4);
  const std::vector<Tensor> inputs = random_inputs(graph);
  const std::vector<Tensor> plain = interpret(graph, inputs);
  const std::vector<Tensor> laid_out = interpret(moved, inputs);
  for (std::size_t i = 0; i < plain.size(); ++i)
    EXPECT_LT(worst_difference(laid_out[i], plain[i]), 1e-6) << i;
  StateStore store;
  Executor executor(make_plan(moved, {}), store, 1);
  EXPECT_LT(worst_difference(executor.run(inputs)[0], plain[0]), 1e-5);
}

TEST(shape, a_convolution_writes_into_a_channel_slice_of_a_wider_buffer) {
  const Dims x_dims{2, 3, 6, 6}, w_dims{4, 3, 3, 3}, y_dims{2, 4, 4, 4};
  const Storage last = Storage::channels_last(4);
  const Tensor x = random_tensor({DType::f32, {2, 6, 6, 3}}, "x");  // as it lies: N, H, W, C
  const Tensor w = random_tensor({DType::f32, {4, 3, 3, 3}}, "w");
  constexpr std::int64_t wide = 10, first = 5;  // channels of the buffer; where the slice begins
  Tensor buffer = Tensor::full(DType::f32, {2, 4, 4, wide}, 7);
  Operand in_x{DType::f32, x_dims, strides_of(x_dims, last), last};
  Operand in_w{DType::f32, w_dims, dense_strides(w_dims)};
  Operand out{DType::f32, y_dims, {4 * 4 * wide, 1, 4 * wide, wide}, last};
  const Operand inputs[] = {in_x, in_w}, outputs[] = {out};
  const Attributes attributes = Attributes::of(Conv{});
  const Target target = Target::machine();
  const Request request{record_of<Conv>(), attributes, inputs, outputs, target, Math::ieee, "conv"};
  const Offer offer = choose_kernel(request, false);
  EXPECT_NE(offer.implementation, "reference");
  const View in_views[] = {{const_cast<std::byte*>(x.data())}, {const_cast<std::byte*>(w.data())}};
  const View out_views[] = {{buffer.values<float>().data() + first}};
  Tensor workspace(DType::u8, {offer.workspace + 64});
  offer.run({in_views, out_views, workspace.data(), {}, {}});
  for (std::int64_t p = 0; p < 2 * 16; ++p)
    for (std::int64_t c = 0; c < wide; ++c) {
      const double value = buffer.at(p * wide + c);
      if (c < first || c >= first + 4) {
        EXPECT_EQ(value, 7);
        continue;
      }
      double expected = 0;
      const std::int64_t n = p / 16, i = p / 4 % 4, j = p % 4;
      for (std::int64_t k = 0; k < 3; ++k)
        for (std::int64_t a = 0; a < 3; ++a)
          for (std::int64_t b = 0; b < 3; ++b)
            expected += x.at(((n * 6 + i + a) * 6 + j + b) * 3 + k) *
                        w.at((((c - first) * 3 + k) * 3 + a) * 3 + b);
      EXPECT_NEAR(value, expected, 1e-5);
    }
}

TEST(shape, recomputed_dropout_and_normalization_give_the_stored_bits) {
  Graph graph("g");
  const Value x = graph.input("x", TensorType::parse("f32[16,4,5,5]"));
  Values norm_inputs{x};
  for (const char* name : {"scale", "bias", "mean", "variance"})
    norm_inputs.push_back(graph.input(name, TensorType::parse("f32[4]")));
  BatchNormalization norm;
  norm.training_mode = 1;
  const Value n = graph.add(norm, norm_inputs);
  const Value d = graph.add(Dropout{}, {n, graph.constant(Tensor::scalar(DType::f32, 0.4)),
                                        graph.constant(Tensor::scalar(DType::boolean, 1))});
  graph.output("y", graph.add(Mul{}, {d, d}));
  const Graph training = differentiate(graph);
  const Graph again = recompute(training, [](const Node& node) {
    return node.op->info.name == "Dropout" || node.op->info.name == "BatchNormalization";
  });
  EXPECT_GT(again.nodes().size(), training.nodes().size());
  const CompileOptions options{.layout = Layout::plain};
  const std::vector<Tensor> stored = run(training, options), recomputed = run(again, options);
  ASSERT_EQ(stored.size(), recomputed.size());
  for (std::size_t i = 0; i < stored.size(); ++i)
    EXPECT_TRUE(stored[i].same_bits(recomputed[i])) << training.outputs()[i].name;
}

// h' = h * w + x with h carried, x scanned, w captured; also y = h' * h'. In f64.
Graph scan_graph(Dims input_direction, Dims output_direction) {
  Graph body("body");
  const TensorType type = TensorType::parse("f64[2]");
  const Value h = body.input("h", type), x = body.input("x", type), w = body.input("w", type);
  const Value next = body.add(Add{}, {body.add(Mul{}, {h, w}), x});
  body.output("h", next);
  body.output("y", body.add(Mul{}, {next, next}));
  Graph graph("scan");
  const Value h0 = graph.input("h0", type), xs = graph.input("xs", TensorType::parse("f64[5,2]"));
  const Value weights = graph.input("w", type);
  const Value made = graph.add(Scan{std::make_shared<const Graph>(std::move(body)), 1, 1,
                                    std::move(input_direction), std::move(output_direction)},
                               {h0, xs, weights});
  const Value ys{made.node, 1};
  graph.output("sum", graph.add(Mul{}, {ys, xs}));
  return graph;
}

void expect_gradient_by_differences(const Graph& graph) {
  const Graph backward = differentiate(graph);
  std::vector<Tensor> inputs = random_inputs(backward);
  const std::vector<Tensor> results = interpret(backward, inputs);
  const Tensor& seed = inputs.back();
  const auto value = [&](const std::vector<Tensor>& at) {
    const Tensor y = interpret(graph, std::span(at).first(graph.inputs().size())).at(0);
    double sum = 0;
    for (std::int64_t i = 0; i < y.size(); ++i) sum += y.at(i) * seed.at(i);
    return sum;
  };
  constexpr double step = 1e-5;
  std::size_t output = 1;
  for (std::size_t k = 0; k < graph.inputs().size(); ++k) {
    if (inputs[k].dtype() != DType::f64) continue;
    for (std::int64_t i = 0; i < inputs[k].size(); ++i) {
      std::vector<Tensor> up = inputs, down = inputs;
      up[k] = inputs[k].clone();
      down[k] = inputs[k].clone();
      up[k].set(i, inputs[k].at(i) + step);
      down[k].set(i, inputs[k].at(i) - step);
      EXPECT_NEAR(results[output].at(i), (value(up) - value(down)) / (2 * step), 1e-6)
          << graph.value_name(graph.inputs()[k]) << '[' << i << ']';
    }
    ++output;
  }
}

TEST(shape, scan_with_a_captured_value_is_printed_parsed_and_differentiated) {
  for (const std::int64_t in : {0, 1})
    for (const std::int64_t out : {0, 1}) {
      const Graph graph = scan_graph({in}, {out});
      EXPECT_EQ(print(parse(print(graph), op_table())), print(graph));
      expect_gradient_by_differences(graph);
      const Graph backward = differentiate(graph);
      EXPECT_EQ(print(parse(print(backward), op_table())), print(backward));
    }
}

TEST(shape, if_with_captured_values_is_differentiated) {
  const auto branch = [](auto op) {
    Graph body("branch");
    const TensorType type = TensorType::parse("f64[3]");
    const Value a = body.input("a", type), b = body.input("b", type);
    body.output("y", body.add(op, {a, b}));
    return std::make_shared<const Graph>(std::move(body));
  };
  for (const double chosen : {0.0, 1.0}) {
    Graph graph("if");
    const Value a = graph.input("a", TensorType::parse("f64[3]"));
    const Value b = graph.input("b", TensorType::parse("f64[3]"));
    const Value condition = graph.constant(Tensor::scalar(DType::boolean, chosen));
    graph.output("y", graph.add(If{branch(Mul{}), branch(Sub{})}, {condition, a, b}));
    EXPECT_EQ(print(parse(print(graph), op_table())), print(graph));
    expect_gradient_by_differences(graph);
  }
}

TEST(shape, the_plan_of_a_network_runs_in_place_and_reads_inputs_where_they_are) {
  Network network("lenet", Mode::evaluate);
  network.graph().output("logits", find_model("lenet", {}, 10)(network));
  const Plan plan = compile(network.graph(), {.binding = {{"N", 8}}});
  for (const PlanStep& step : plan.steps) EXPECT_NE(step.implementation, "reference") << step.node;
  EXPECT_LE(plan.value_bytes, plan.arena_bytes);
}

TEST(shape, a_value_too_large_for_memory_is_refused_by_name) {
  Graph graph;
  const Value x = graph.input("x", TensorType::parse("f32[1]"));
  const std::vector<std::int64_t> count{std::int64_t{1} << 59};
  const Value dims = graph.constant(Tensor::from<std::int64_t>({1}, count));
  const Value wide = graph.add(Expand{}, {x, dims}, {.name = "wide"});
  graph.output("y", graph.add(Relu{}, {wide}));
  try {
    compile(graph, {});
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("is too large"), std::string::npos) << error.what();
  }
}

TEST(shape, a_state_node_without_a_state_is_refused) {
  Graph graph;
  const Value w = graph.add(StateValue{TensorType::parse("f32[2]")}, {}, {.name = "w"});
  graph.output("y", graph.add(Relu{}, {w}));
  EXPECT_THROW(compile(graph, {}), UsageError);
}

}  // namespace
}  // namespace narrowgauge::shape_test
