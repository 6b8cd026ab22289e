// SPDX-License-Identifier: Apache-2.0
// Every op of several outputs, where only one of them is read.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "all_ops/nearness.h"
#include "all_ops/sample_case.h"
#include "compile/compile.h"
#include "ops/composition/interpret.h"
#include "runtime/executor.h"

namespace narrowgauge::unread_outputs_test {
namespace {

using namespace testing_support;

Graph graph_of(const SampleCase& sample, int output) {
  Graph graph;
  const Value made =
      graph.add(*sample.op, sample.attributes, sample.add_inputs(graph), {.name = "tested"});
  graph.output("out", {made.node, output});
  return graph;
}

// What updates round off is small beside their other outputs, and differs with the order of sums.
void expect_near(const Tensor& got, const Tensor& expected, double largest) {
  ASSERT_EQ(got.type(), expected.type());
  expect_within(got, expected, 1e-5 * largest);
}

class UnreadOutputs : public OpTest {};

TEST_P(UnreadOutputs, leave_the_others_as_they_are) {
  if (GetParam()->info.random) GTEST_SKIP() << "draws numbers of its own";
  for_each_case(*GetParam(), DType::f32, [](const SampleCase& sample) {
    const Graph whole = sample.graph();
    const std::size_t outputs = whole.outputs().size();
    if (outputs < 2) return;
    const std::vector<Tensor> expected = interpret(whole, sample.fed());
    for (std::size_t o = 0; o < outputs; ++o) {
      SCOPED_TRACE(concat("output ", o));
      StateStore store;
      Executor executor(make_plan(graph_of(sample, static_cast<int>(o)), {}), store, 1);
      expect_near(executor.run(sample.fed()).at(0), expected[o], largest_of(expected));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(AllOps, UnreadOutputs, all_ops(), op_name);

}  // namespace
}  // namespace narrowgauge::unread_outputs_test
