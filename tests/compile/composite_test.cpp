// SPDX-License-Identifier: Apache-2.0
// Ops that are computed by their parts alone: compilation leaves none of them, and what it makes
// computes the same.
#include "ops/composition/composite.h"

#include "all_ops/sample_case.h"
#include "compile/compile.h"
#include "ops/composition/interpret.h"

namespace narrowgauge::composite_test {
namespace {

using namespace testing_support;

bool has_composite(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Node& node) { return is_composite(node); });
}

class CompositeOps : public OpTest {};

TEST_P(CompositeOps, are_compiled_into_parts_that_compute_the_same) {
  for_each_case(*GetParam(), DType::f32, [&](const SampleCase& sample) {
    const Graph graph = sample.graph(), compiled = run_pipeline(graph, {});
    ASSERT_TRUE(has_composite(graph));
    EXPECT_FALSE(has_composite(compiled)) << print(compiled);
    const std::vector<Tensor> expected = interpret(graph, sample.fed());
    const std::vector<Tensor> made = interpret(compiled, sample.fed(), {.reference = false});
    ASSERT_EQ(made.size(), expected.size());
    for (std::size_t o = 0; o < made.size(); ++o) {
      ASSERT_EQ(made[o].type(), expected[o].type());
      for (std::int64_t i = 0; i < made[o].size(); ++i) {
        const double a = made[o].at(i), e = expected[o].at(i);
        const bool same = a == e || (std::isnan(a) && std::isnan(e));
        EXPECT_TRUE(same || std::abs(a - e) <= 1e-5 * (1 + std::abs(e)))
            << "output " << o << ", element " << i << ": expected " << e << ", got " << a;
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(AllOps, CompositeOps, ops_where([](const OpRecord& op) {
                           return op.kernels().data() == composite_kernels().data();
                         }),
                         op_name);

}  // namespace
}  // namespace narrowgauge::composite_test
