// SPDX-License-Identifier: Apache-2.0
// How ops state their ports, and what they see when they are asked for types and gradients.
#include "narrowgauge/op.h"

#include <gtest/gtest.h>

#include "narrowgauge/graph.h"
#include "ops/activation/relu.h"
#include "ops/math/gemm.h"
#include "passes/training/differentiate.h"

namespace narrowgauge::op_test {
namespace {

TEST(parse_ports, reads_every_mark) {
  const std::vector<Port> ports = parse_ports("x:T, w:U~, mask?:bool!, g:G~^, rest*:any");
  ASSERT_EQ(ports.size(), 5u);
  EXPECT_EQ(ports[0].name, "x");
  EXPECT_EQ(ports[0].type, "T");
  EXPECT_EQ(ports[0].format, PortFormat::chosen);
  EXPECT_FALSE(ports[0].optional || ports[0].variadic || ports[0].plain);
  EXPECT_TRUE(ports[0].differentiable);
  EXPECT_TRUE(ports[1].plain);
  EXPECT_EQ(ports[1].format, PortFormat::kept);
  EXPECT_TRUE(ports[2].optional);
  EXPECT_EQ(ports[2].name, "mask");
  EXPECT_EQ(ports[2].type, "bool");
  EXPECT_FALSE(ports[2].differentiable);
  EXPECT_EQ(ports[3].type, "G");
  EXPECT_TRUE(ports[3].plain);
  EXPECT_EQ(ports[3].format, PortFormat::as_it_comes);
  EXPECT_TRUE(ports[4].variadic);
  EXPECT_EQ(ports[4].name, "rest");
  EXPECT_EQ(ports[4].format, PortFormat::as_it_comes);
  EXPECT_TRUE(parse_ports("").empty());
  EXPECT_THROW(parse_ports("x"), InternalError);
}

TEST(op_record, the_last_variadic_port_serves_all_after_it) {
  OpRecord op;
  op.inputs = parse_ports("x:T, rest*:T");
  op.outputs = parse_ports("y:T");
  EXPECT_EQ(op.input_port(0).name, "x");
  EXPECT_EQ(op.input_port(7).name, "rest");
  EXPECT_EQ(op.output_port(0).name, "y");
  EXPECT_THROW(op.output_port(1), InternalError);
}

TEST(op_record, says_what_the_struct_has) {
  const OpRecord& relu = record_of<Relu>();
  EXPECT_EQ(relu.full_name(), "Relu");
  EXPECT_TRUE(relu.gradient);
  EXPECT_FALSE(relu.flops);
  ASSERT_TRUE(relu.elementwise);
  EXPECT_EQ(relu.elementwise->arity, 1);
  const float x[16] = {-1, 2};
  const float* const inputs[] = {x};
  float y[16];
  const Relu op;
  relu.elementwise->f32(&op, inputs, y, 16);
  EXPECT_EQ(y[0], 0);
  EXPECT_EQ(y[1], 2);
  const OpRecord& gemm = record_of<Gemm>();
  EXPECT_TRUE(gemm.flops);
  EXPECT_FALSE(gemm.elementwise);
}

TEST(inference, knows_what_is_given) {
  const Tensor two = Tensor::scalar(DType::f32, 2);
  const Inference in(record_of<Gemm>(),
                     {TensorType::parse("f32[2,3]"), std::nullopt, TensorType::parse("f32[]")},
                     {nullptr, nullptr, &two});
  EXPECT_EQ(in.count(), 3);
  EXPECT_TRUE(in.has(0));
  EXPECT_FALSE(in.has(1));
  EXPECT_FALSE(in.has(3));
  EXPECT_EQ(in.rank(0), 2);
  EXPECT_EQ(in.constant(2)->at(0), 2);
  EXPECT_EQ(in.constant(0), nullptr);
  EXPECT_EQ(in.constant(9), nullptr);
  EXPECT_EQ(in.op_name(), "Gemm");
  EXPECT_THROW(in.type(1), UsageError);
}

TEST(rewriting, has_the_inputs_that_are_given) {
  Graph graph;
  const Value x = graph.input("x", TensorType::parse("f32[2]"));
  Rewriting rewriting(graph, {x, absent}, {x});
  EXPECT_EQ(rewriting.input_count(), 2);
  EXPECT_TRUE(rewriting.has_input(0));
  EXPECT_FALSE(rewriting.has_input(1));
  EXPECT_FALSE(rewriting.has_input(2));
  EXPECT_EQ(rewriting.input(0), x);
  EXPECT_TRUE(rewriting.input(2).is_absent());
  EXPECT_EQ(rewriting.output(), x);
  EXPECT_EQ(graph.constant_value(rewriting.scalar(3, DType::f16))->at(0), 3);
}

// One input of two is asked for, and of two outputs one flows back.
TEST(gradient, says_what_is_wanted_and_what_flows_back) {
  Graph graph;
  const Value x = graph.input("x", TensorType::parse("f32[2]"));
  const Gradient gradient(graph, {x, x}, {x, x}, {x, absent}, {false, true}, nullptr);
  EXPECT_FALSE(gradient.wants(0));
  EXPECT_TRUE(gradient.wants(1));
  EXPECT_FALSE(gradient.wants(2));
  EXPECT_TRUE(gradient.has_output_gradient());
  EXPECT_FALSE(gradient.has_output_gradient(1));
}

TEST(sample, says_what_to_try_an_op_with) {
  EXPECT_EQ(sample("f32[2,3]", 0, 1).type, TensorType::parse("f32[2,3]"));
  EXPECT_EQ(sample("f32[2,3]", 0, 1).low, 0);
  EXPECT_EQ(sample(Tensor::scalar(DType::i64, 7)).constant->at(0), 7);
  EXPECT_TRUE(sample("f32[]").present);
  EXPECT_FALSE(no_sample().present);
}

}  // namespace
}  // namespace narrowgauge::op_test
