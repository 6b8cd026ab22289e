// SPDX-License-Identifier: Apache-2.0
// A large batch is answered in parts, where that changes no answer.
#include "compile/batch_parts.h"

#include <gtest/gtest.h>

#include <limits>

#include "compile/compile.h"
#include "ops/table.h"
#include "passes/shapes/samples_apart.h"
#include "runtime/executor.h"

namespace narrowgauge::batch_parts_test {
namespace {

Graph graph_of(const std::string& nodes, const std::string& output) {
  return parse(concat("graph \"g\" {\n  %x = ng.Input {type=f32[N,4,6,6]} : f32[N,4,6,6]\n", nodes,
                      "  output \"y\" = %", output, "\n}\n"),
               op_table());
}

bool apart(const std::string& nodes, const std::string& output = "y") {
  return keeps_samples_apart(graph_of(nodes, output), "N");
}

const std::string network =
    R"(  %w = Constant {value=f32[2,4,1,1]{1,2,-3,4,-5,6,7,-8}} : f32[2,4,1,1]
  %c = Conv(%x, %w) {kernel_shape=[1,1]} : f32[N,2,6,6]
  %r = Relu(%c) : f32[N,2,6,6]
  %p = MaxPool(%r) {kernel_shape=[2,2], strides=[2,2]} : f32[N,2,3,3], i64[N,2,3,3], u8[N,2,3,3]
  %s = Add(%p, %p) : f32[N,2,3,3]
  %f = Flatten(%s) : f32[N,18]
  %y = Softmax(%f) : f32[N,18]
)";

TEST(samples_apart, of_a_network_that_classifies) {
  EXPECT_TRUE(apart(network));
  EXPECT_TRUE(apart(network + "  %z = Identity(%y) : f32[N,18]\n", "z"));
}

TEST(samples_apart, not_where_they_meet) {
  EXPECT_FALSE(apart("  %y = Softmax(%x) {axis=0} : f32[N,4,6,6]\n"));
  EXPECT_FALSE(apart("  %y = Softmax(%x) {axis=-4} : f32[N,4,6,6]\n"));
  EXPECT_FALSE(apart(network, "p@1")) << "indices count elements of the whole batch";
  EXPECT_FALSE(apart("  %y = Concat(%x, %x) {axis=0} : f32[N*2,4,6,6]\n"));
  EXPECT_FALSE(apart("  %y = Transpose(%x) {perm=[1,0,2,3]} : f32[4,N,6,6]\n"));
  EXPECT_FALSE(
      apart("  %k = Constant {value=i64[]{0}} : i64[]\n  %y = CumSum(%x, %k) : f32[N,4,6,6]\n"))
      << "an op that is not known";
}

TEST(batch_parts, are_equal_and_their_values_fit_into_caches) {
  // 4 MiB a sample.
  const Graph graph = parse(R"(graph "g" {
  %x = ng.Input {type=f32[N,16,256,256]} : f32[N,16,256,256]
  %y = Relu(%x) : f32[N,16,256,256]
  output "y" = %y
}
)",
                            op_table());
  const auto samples_of = [&](std::int64_t batch, bool in_parts) {
    const Plan plan =
        compile(graph, {.binding = {{"N", batch}}, .runs = false, .in_parts = in_parts});
    const std::int64_t samples = known_dims(plan.inputs[0].shape)[0];
    EXPECT_EQ(samples * plan.parts, batch);
    return samples;
  };
  EXPECT_EQ(samples_of(32, true), 8);
  EXPECT_EQ(samples_of(30, true), 6);
  EXPECT_EQ(samples_of(8, true), 8);
  EXPECT_EQ(samples_of(31, true), 31) << "has no equal parts";
  EXPECT_EQ(samples_of(32, false), 32);
}

// Plans for a batch of six, and for its three parts.
class InParts : public testing::Test {
 protected:
  InParts() {
    for (std::int64_t i = 0; i < x_.size(); ++i) x_.set(i, static_cast<double>(i * 37 % 101) - 50);
  }
  static Plan plan(std::int64_t samples) {
    return compile(graph_of(network, "y"), {.binding = {{"N", samples}}, .deterministic = true});
  }
  static Plan plan_of_parts() {
    Plan plan = InParts::plan(2);
    plan.parts = 3;
    return plan;
  }

  Tensor x_{DType::f32, {6, 4, 6, 6}};
  StateStore store_;
};

TEST_F(InParts, answers_are_those_of_the_whole_batch) {
  Executor whole(plan(6), store_, 1), parts(plan_of_parts(), store_, 1);
  const Tensor expected = whole.run({&x_, 1})[0];
  const Tensor y = parts.run({&x_, 1})[0];
  ASSERT_EQ(y.dims(), expected.dims());
  for (std::int64_t i = 0; i < y.size(); ++i) ASSERT_EQ(y.at(i), expected.at(i)) << i;
}

TEST_F(InParts, batches_of_another_size_are_refused_by_that_of_the_whole) {
  Executor parts(plan_of_parts(), store_, 1);
  const Tensor two(DType::f32, {2, 4, 6, 6});
  try {
    parts.run({&two, 1});
    FAIL() << "no error";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("f32[6,4,6,6]"), std::string::npos) << error.what();
  }
}

TEST_F(InParts, what_is_not_finite_is_found_in_any_part) {
  Executor parts(plan_of_parts(), store_, 1);
  EXPECT_FALSE(parts.find_not_finite({&x_, 1}, 0));
  for (std::int64_t i = 5 * 4 * 36; i < x_.size(); ++i)
    x_.set(i, std::numeric_limits<float>::max());
  EXPECT_TRUE(parts.find_not_finite({&x_, 1}, 0));
}

}  // namespace
}  // namespace narrowgauge::batch_parts_test
