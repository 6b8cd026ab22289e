// SPDX-License-Identifier: Apache-2.0
#include "ops/math/einsum.h"

#include "support/run_op.h"

namespace narrowgauge::testing_support::einsum_test {
namespace {

Value add(Graph& graph, const std::string& equation, const std::vector<std::string>& types) {
  Values inputs;
  for (const std::string& type : types)
    inputs.push_back(graph.input(concat("in", inputs.size()), TensorType::parse(type)));
  return graph.add(Einsum{equation}, inputs);
}

TensorType type_of(const std::string& equation, const std::vector<std::string>& types) {
  Graph graph;
  return graph.type(add(graph, equation, types));
}

TEST(einsum, orders_axes_by_the_alphabet_without_an_arrow) {
  EXPECT_EQ(type_of("ba", {"f32[2,3]"}), TensorType::parse("f32[3,2]"));
  EXPECT_EQ(type_of("cb,ba", {"f32[2,3]", "f32[3,4]"}), TensorType::parse("f32[4,2]"));
  EXPECT_EQ(type_of("ii", {"f32[3,3]"}), TensorType::parse("f32[]"));
  EXPECT_EQ(type_of("b...a", {"f32[2,5,6,3]"}), TensorType::parse("f32[5,6,3,2]"));
}

TEST(einsum, keeps_symbols) {
  EXPECT_EQ(type_of("ntd,df->ntf", {"f32[N,T,8]", "f32[8,3]"}), TensorType::parse("f32[N,T,3]"));
}

TEST(einsum, sums_the_diagonal_of_two_axes_of_one_letter) {
  const Tensor x = Tensor::from<float>({2, 2}, std::vector<float>{1, 2, 4, 8});
  EXPECT_EQ(to_doubles(run_op(Einsum{"ii"}, {x})[0]), std::vector<double>{9});
  EXPECT_EQ(to_doubles(run_op(Einsum{"ii->i"}, {x})[0]), (std::vector<double>{1, 8}));
}

TEST(einsum, refuses_equations_that_do_not_fit) {
  EXPECT_THROW(type_of("ij", {"f32[2]"}), UsageError);
  EXPECT_THROW(type_of("ij,jk", {"f32[2,3]"}), UsageError);
  EXPECT_THROW(type_of("ij,jk->ik", {"f32[2,3]", "f32[4,5]"}), UsageError);
  EXPECT_THROW(type_of("ij->ik", {"f32[2,3]"}), UsageError);
  EXPECT_THROW(type_of("ij->ii", {"f32[2,3]"}), UsageError);
  EXPECT_THROW(type_of("i.j", {"f32[2,3]"}), UsageError);
  EXPECT_THROW(type_of("ij->i->j", {"f32[2,3]"}), UsageError);
}

}  // namespace
}  // namespace narrowgauge::testing_support::einsum_test
