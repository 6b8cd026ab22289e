// SPDX-License-Identifier: Apache-2.0
// Where ConvTranspose cuts its result: the pads that ONNX's text derives from output_shape.
#include "ops/convolution/conv_transpose.h"

#include <gtest/gtest.h>

#include "support/run_op.h"

namespace narrowgauge::conv_transpose_test {
namespace {

using testing_support::run_op;
using testing_support::to_doubles;

// With one input pixel the uncut result is the kernel itself.
std::vector<double> cut(const std::string& auto_pad, std::int64_t size) {
  const Tensor x = Tensor::from<float>({1, 1, 1}, std::vector<float>{1});
  const Tensor w = Tensor::from<float>({1, 1, 5}, std::vector<float>{1, 2, 3, 4, 5});
  return to_doubles(run_op(ConvTranspose{.auto_pad = auto_pad, .output_shape = {size}}, {x, w})[0]);
}

TEST(conv_transpose, an_odd_pad_is_longer_in_front_unless_same_upper_is_asked_for) {
  for (const char* const auto_pad : {"NOTSET", "VALID", "SAME_LOWER"}) {
    EXPECT_EQ(cut(auto_pad, 4), (std::vector<double>{2, 3, 4, 5})) << auto_pad;
    EXPECT_EQ(cut(auto_pad, 3), (std::vector<double>{2, 3, 4})) << auto_pad;
    EXPECT_EQ(cut(auto_pad, 2), (std::vector<double>{3, 4})) << auto_pad;
  }
  EXPECT_EQ(cut("SAME_UPPER", 4), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(cut("SAME_UPPER", 2), (std::vector<double>{2, 3}));
}

TEST(conv_transpose, output_padding_counts_among_the_pads_of_output_shape) {
  const Tensor x = Tensor::from<float>({1, 1, 2}, std::vector<float>{1, 10});
  const Tensor w = Tensor::from<float>({1, 1, 3}, std::vector<float>{1, 2, 3});
  // Uncut: 1 2 13 20 30, and a zero of output_padding. Of 6 - 3 pads two are in front.
  const ConvTranspose op{.output_padding = {1}, .output_shape = {3}, .strides = {2}};
  EXPECT_EQ(to_doubles(run_op(op, {x, w})[0]), (std::vector<double>{13, 20, 30}));
}

TEST(conv_transpose, pads_may_leave_nothing_but_not_less) {
  const auto size_with = [](std::int64_t pad) {
    Graph graph("cut");
    const Value x = graph.input("x", TensorType::parse("f32[1,1,1]"));
    const Value w = graph.input("w", TensorType::parse("f32[1,1,5]"));
    return graph.type(graph.add(ConvTranspose{.pads = {3, pad}}, {x, w})).shape.back().value();
  };
  EXPECT_EQ(size_with(1), 1);
  EXPECT_EQ(size_with(2), 0);
  EXPECT_THROW(size_with(3), UsageError);
}

}  // namespace
}  // namespace narrowgauge::conv_transpose_test
