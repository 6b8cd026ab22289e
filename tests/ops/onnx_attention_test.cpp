// SPDX-License-Identifier: Apache-2.0
// What ONNX's Attention says of itself before it is taken apart.
#include "ops/nn/onnx_attention.h"

#include <gtest/gtest.h>

#include "narrowgauge/error.h"
#include "narrowgauge/graph.h"

namespace narrowgauge::onnx_attention_test {
namespace {

TensorTypes types_of(const std::string& q, const std::string& k, const std::string& v) {
  Graph graph("attention");
  Values inputs;
  for (const std::string& type : {q, k, v})
    inputs.push_back(graph.input(concat("x", inputs.size()), TensorType::parse(type)));
  const Value y = graph.add(OnnxAttention{}, inputs);
  TensorTypes types;
  for (int output = 0; output < 4; ++output) types.push_back(graph.type({y.node, output}));
  return types;
}

TEST(onnx_attention, counts_the_products_of_both_contractions) {
  // Scores are [2,3,4,5] from vectors of 6; the results are vectors of 7.
  const TensorTypes out = types_of("f32[2,3,4,6]", "f32[2,3,5,6]", "f32[2,3,5,7]");
  EXPECT_EQ(OnnxAttention{}.flops({}, out), 2.0 * (2 * 3 * 4 * 5) * (6 + 7));
}

TEST(onnx_attention, heads_must_be_known_and_shared_evenly) {
  EXPECT_NO_THROW(types_of("f32[N,4,3,6]", "f32[N,2,5,6]", "f32[N,2,5,6]"));
  EXPECT_THROW(types_of("f32[N,4,3,6]", "f32[N,3,5,6]", "f32[N,3,5,6]"), UsageError);
  EXPECT_THROW(types_of("f32[N,4,3,6]", "f32[N,H,5,6]", "f32[N,H,5,6]"), UsageError);
}

}  // namespace
}  // namespace narrowgauge::onnx_attention_test
