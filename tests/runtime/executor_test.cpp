// SPDX-License-Identifier: Apache-2.0
// One plan after another over a store of states: what goes in, what comes out, what stays.
#include "runtime/executor.h"

#include <gtest/gtest.h>

#include "compile/compile.h"
#include "ops/table.h"

namespace narrowgauge::executor_test {
namespace {

// The nodes as they stand: no pass changes them.
Plan plan_of(std::string_view text) {
  return make_plan(parse(text, op_table()), {.deterministic = true});
}

Tensor vector_of(std::vector<float> values) {
  return Tensor::from({static_cast<std::int64_t>(values.size())}, values);
}

std::vector<float> numbers(const Tensor& tensor) {
  const auto values = tensor.values<float>();
  return {values.begin(), values.end()};
}

std::string error_of(Executor& executor, std::span<const Tensor> inputs) {
  try {
    executor.run(inputs);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

constexpr std::string_view two_inputs = R"(graph "pair" {
  %x = ng.Input {type=f32[2]} : f32[2]
  %y = ng.Input {type=f32[2]} : f32[2]
  %s = Sub(%x, %y) : f32[2]
  %k = Constant {value=f32[2]{5,6}} : f32[2]
  output "difference" = %s
  output "as it came" = %y
  output "constant" = %k
}
)";

TEST(executor, inputs_and_outputs_are_in_the_order_of_the_graph) {
  StateStore store;
  Executor executor(plan_of(two_inputs), store, 1);
  const Tensor inputs[] = {vector_of({7, 5}), vector_of({1, 2})};
  const std::vector<Tensor> results = executor.run(inputs);
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(numbers(results[0]), (std::vector<float>{6, 3}));
  EXPECT_EQ(numbers(results[1]), (std::vector<float>{1, 2}));
  EXPECT_EQ(numbers(results[2]), (std::vector<float>{5, 6}));
  EXPECT_NE(results[1].data(), inputs[1].data()) << "an output must be the caller's own";
}

TEST(executor, each_run_reads_the_inputs_it_is_given) {
  StateStore store;
  Executor executor(plan_of(two_inputs), store, 1);
  for (const float first : {3.0F, 4.0F}) {
    const Tensor inputs[] = {vector_of({first, 0}), vector_of({1, 0})};
    EXPECT_EQ(executor.run(inputs)[0].at(0), first - 1);
  }
}

TEST(executor, inputs_of_another_number_or_type_are_refused_by_name) {
  StateStore store;
  Executor executor(plan_of(two_inputs), store, 1);
  const Tensor one[] = {vector_of({1, 2})};
  EXPECT_EQ(error_of(executor, one), "graph 'pair': takes 2 inputs, got 1");
  const Tensor longer[] = {vector_of({1, 2}), vector_of({1, 2, 3})};
  EXPECT_EQ(error_of(executor, longer), "graph 'pair': input 'y' is f32[2], got f32[3]");
  const Tensor whole[] = {Tensor(DType::i32, {2}), vector_of({1, 2})};
  EXPECT_EQ(error_of(executor, whole), "graph 'pair': input 'x' is f32[2], got i32[2]");
}

// sum = sum + x; and a copy of the sum before it, as an output.
constexpr std::string_view counter = R"(graph "counter" {
  %sum = ng.State {type=f32[2]} : f32[2]
  %x = ng.Input {type=f32[2]} : f32[2]
  %next = Add(%sum, %x) : f32[2]
  state %sum role=control initial=constant(10) next=%next
  output "before" = %sum
}
)";

TEST(executor, a_state_advances_after_the_outputs_are_read) {
  StateStore store;
  Executor executor(plan_of(counter), store, 1);
  const Tensor one[] = {vector_of({1, 2})};
  EXPECT_EQ(numbers(executor.run(one)[0]), (std::vector<float>{10, 10}));
  EXPECT_EQ(numbers(executor.run(one)[0]), (std::vector<float>{11, 12}));
  EXPECT_EQ(numbers(store.at("sum")), (std::vector<float>{12, 14}));
}

TEST(executor, a_refused_run_leaves_the_states) {
  StateStore store;
  Executor executor(plan_of(counter), store, 1);
  error_of(executor, {});
  EXPECT_EQ(numbers(store.at("sum")), (std::vector<float>{10, 10}));
}

TEST(executor, states_that_change_places_do) {
  StateStore store;
  Executor executor(plan_of(R"(graph "g" {
  %a = ng.State {type=f32[2]} : f32[2]
  %b = ng.State {type=f32[2]} : f32[2]
  state %a role=moment initial=constant(1) next=%b
  state %b role=moment initial=constant(2) next=%a
}
)"),
                    store, 1);
  executor.run({});
  EXPECT_EQ(numbers(store.at("a")), (std::vector<float>{2, 2}));
  EXPECT_EQ(numbers(store.at("b")), (std::vector<float>{1, 1}));
}

TEST(executor, executors_share_the_states_of_a_store) {
  StateStore store;
  Executor first(plan_of(counter), store, 1), second(plan_of(counter), store, 1);
  const Tensor one[] = {vector_of({1, 2})};
  first.run(one);
  EXPECT_EQ(numbers(second.run(one)[0]), (std::vector<float>{11, 12}));
}

// `copy` is derived from `w`, which the first graph changes and the second reads through `copy`.
constexpr std::string_view writes = R"(graph "writes" {
  %w = ng.State {type=f32[2]} : f32[2]
  %next = Relu(%w) : f32[2]
  state %w role=parameter initial=constant(-3) next=%next
}
)";
constexpr std::string_view reads = R"(graph "reads" {
  %w = ng.State {type=f32[2]} : f32[2]
  %copy = ng.State {type=f32[2]} : f32[2]
  state %w role=parameter initial=constant(-3) next=%w
  state %copy role=derived initial=constant(0) next=%copy from=["w"] derivation=graph "copy" {
    %source = ng.Input {type=f32[2]} : f32[2]
    %negated = Neg(%source) : f32[2]
    output "copy" = %negated
  }
  output "copy" = %copy
}
)";

TEST(executor, what_is_derived_follows_a_state_that_another_plan_changed) {
  StateStore store;
  Executor reader(plan_of(reads), store, 1), writer(plan_of(writes), store, 1);
  EXPECT_EQ(numbers(reader.run({})[0]), (std::vector<float>{3, 3}));
  writer.run({});
  EXPECT_FALSE(reader.is_fresh());
  writer.run({});  // refreshes nothing that it does not read
  EXPECT_FALSE(reader.is_fresh());
  EXPECT_EQ(numbers(reader.run({})[0]), (std::vector<float>{0, 0}));
}

// A convolution of `images` images whose weights are a state, changed by the graph or not.
Plan convolution(int images, bool trains) {
  const std::string x = concat("f32[", images, ",16,8,8]"), y = concat("f32[", images, ",32,8,8]");
  return plan_of(concat("graph \"g\" {\n  %x = ng.Input {type=", x, "} : ", x, R"(
  %w = ng.State {type=f32[32,16,3,3]} : f32[32,16,3,3]
  %y = Conv(%x, %w) {pads=[1,1,1,1]} : )",
                        y, R"( @math=ieee
  %n = Neg(%w) : f32[32,16,3,3]
  state %w role=parameter initial=normal(0,1) next=)",
                        trains ? "%n" : "%w", R"(
  output "y" = %y
  output "n" = %n
}
)"));
}

std::vector<float> convolve(Executor& executor) {
  const Tensor x[] = {Tensor::full(DType::f32, known_dims(executor.plan().inputs[0].shape), 1)};
  return numbers(executor.run(x)[0]);
}

TEST(executor, weights_are_packed_once_and_again_when_they_change) {
  StateStore store;
  Executor predicts(convolution(2, false), store, 1), trains(convolution(2, true), store, 1);
  if (predicts.plan().packings.empty()) GTEST_SKIP() << "the first kernel here packs nothing ahead";
  EXPECT_TRUE(trains.plan().packings.empty());
  const std::vector<float> before = convolve(predicts);
  EXPECT_EQ(convolve(trains), before);
  EXPECT_FALSE(predicts.is_fresh());
  std::vector<float> negated = convolve(predicts);
  for (float& value : negated) value = -value;
  EXPECT_EQ(negated, before);
  EXPECT_TRUE(predicts.is_fresh());
  store.set("w", Tensor(DType::f32, {32, 16, 3, 3}));
  EXPECT_EQ(convolve(predicts), std::vector<float>(before.size()));
}

TEST(executor, plans_for_other_batches_share_what_is_packed_alike) {
  StateStore store;
  Executor two(convolution(2, false), store, 1);
  if (two.plan().packings.empty()) GTEST_SKIP() << "the first kernel here packs nothing ahead";
  const std::size_t states = store.entries().size();
  Executor again(convolution(2, false), store, 1);
  EXPECT_EQ(store.entries().size(), states);
  convolve(two);
  EXPECT_TRUE(again.is_fresh());
}

TEST(executor, constants_are_packed_with_the_plan) {
  const Plan plan = plan_of(R"(graph "g" {
  %x = ng.Input {type=f32[1,2,4,4]} : f32[1,2,4,4]
  %w = Constant {value=f32[3,2,1,1]{1,2,1,2,1,2}} : f32[3,2,1,1]
  %y = Conv(%x, %w) : f32[1,3,4,4] @math=ieee
  output "y" = %y
}
)");
  StateStore store;
  Executor executor(plan, store, 1);
  EXPECT_TRUE(store.entries().empty());
  EXPECT_EQ(convolve(executor), std::vector<float>(48, 3));
}

// Random numbers depend on the seed and on the step that the caller names.
TEST(executor, the_same_seed_and_step_draw_the_same_numbers) {
  const Plan plan = plan_of(R"(graph "g" {
  %x = ng.Input {type=f32[64]} : f32[64]
  %ratio = Constant {value=f32[]{0.5}} : f32[]
  %training = Constant {value=bool[]{1}} : bool[]
  %d = Dropout(%x, %ratio, %training) : f32[64], bool[64]
  output "d" = %d
}
)");
  const Tensor ones[] = {Tensor::full(DType::f32, {64}, 1)};
  const auto draw = [&](std::uint64_t seed, std::uint64_t step) {
    StateStore store;
    Executor executor(plan, store, seed);
    return numbers(executor.run(ones, step)[0]);
  };
  EXPECT_EQ(draw(1, 5), draw(1, 5));
  EXPECT_NE(draw(1, 5), draw(1, 6));
  EXPECT_NE(draw(1, 5), draw(2, 5));
}

TEST(executor, a_profile_has_a_row_for_each_step_and_times_those_that_ran_since) {
  StateStore store;
  Executor executor(plan_of(two_inputs), store, 1);
  const Tensor inputs[] = {vector_of({7, 5}), vector_of({1, 2})};
  executor.run(inputs);
  ASSERT_EQ(executor.profile().size(), 1u);
  EXPECT_EQ(executor.profile()[0].node, "s");
  EXPECT_EQ(executor.profile()[0].op, "Sub");
  EXPECT_EQ(executor.profile()[0].bytes, 3 * 2 * 4);
  EXPECT_EQ(executor.profile()[0].milliseconds, 0);
  executor.enable_profile(true);
  executor.run(inputs);
  EXPECT_GT(executor.profile()[0].milliseconds, 0);
}

// 1e-9 is zero in f16; only gradients are counted.
TEST(executor, counts_the_gradient_values_that_f16_makes_zero) {
  StateStore store;
  Executor executor(plan_of(R"(graph "g" {
  %x = ng.Input {type=f32[4]} : f32[4]
  %forward = Cast(%x) {to=f16} : f16[4]
  %dx = Cast(%x) {to=f16} : f16[4] @phase=backward
  output "forward" = %forward
  output "dx" = %dx
}
)"),
                    store, 1);
  const Tensor x[] = {vector_of({1, 1e-9F, 0, -1e-9F})};
  EXPECT_EQ(executor.gradient_elements(), 0);
  EXPECT_TRUE(executor.flushed().empty());
  executor.run(x);
  executor.run(x);
  EXPECT_EQ(executor.gradient_elements(), 8);
  ASSERT_EQ(executor.flushed().size(), 1u);
  EXPECT_EQ(executor.flushed()[0].value, "dx");
  EXPECT_EQ(executor.flushed()[0].flushed, 4);
  EXPECT_EQ(executor.flushed()[0].elements, 8);
}

TEST(executor, of_a_group_of_both_passes_it_counts_the_gradients_alone) {
  StateStore store;
  Executor executor(plan_of(R"(graph "g" {
  %x = ng.Input {type=f32[4]} : f32[4]
  %both = ng.Fused(%x) {dtypes="f16,f16", body=graph "body" {
    %x = ng.Input {type=f32[4]} : f32[4]
    %y = Relu(%x) : f32[4]
    %dx = Neg(%x) : f32[4] @phase=backward
    output "y" = %y
    output "dx" = %dx
  }} : f16[4], f16[4] @phase=backward
  output "y" = %both
  output "dx" = %both@1
}
)"),
                    store, 1);
  const Tensor x[] = {vector_of({1, 1e-9F, 0, 2e-9F})};
  executor.run(x);
  EXPECT_EQ(executor.gradient_elements(), 4);
  ASSERT_EQ(executor.flushed().size(), 1u);
  EXPECT_EQ(executor.flushed()[0].value, "dx");
  EXPECT_EQ(executor.flushed()[0].flushed, 2);
}

}  // namespace
}  // namespace narrowgauge::executor_test
