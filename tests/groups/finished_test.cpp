// SPDX-License-Identifier: Apache-2.0
// Convolutions with elementwise ops behind them, in each way of being cut: by images, by rows of
// one image, and by channels, whose parts do not lie together.
#include "groups/finished.h"

#include "groups/fused.h"
#include "groups/group_run.h"

namespace narrowgauge::finished_test {
namespace {

// y = min(relu(x * w + b + r), 2), and r scaled by itself.
std::string residual_block(std::string_view x, std::string_view w, std::string_view b,
                           std::string_view y, std::string_view attributes) {
  return concat(
      "graph \"g\" {\n  %x = ng.Input {type=", x, "} : ", x, "\n  %w = ng.Input {type=", w,
      "} : ", w, "\n  %b = ng.Input {type=", b, "} : ", b, "\n  %r = ng.Input {type=", y, "} : ", y,
      "\n  %two = Constant {value=f32[]{2}} : f32[]\n  %c = Conv(%x, %w, %b) {", attributes,
      "} : ", y, " @math=ieee\n  %s = Add(%c, %r) : ", y, "\n  %a = Relu(%s) : ", y,
      "\n  %m = Min(%a, %two) : ", y, "\n  %y = Mul(%m, %r) : ", y, "\n  output \"y\" = %y\n}\n");
}

const std::string blocks[] = {
    // by images
    residual_block("f32[9,16,12,11]", "f32[24,16,3,3]", "f32[24]", "f32[9,24,12,11]",
                   "pads=[1,1,1,1]"),
    // by rows of one image
    residual_block("f32[1,16,61,57]", "f32[40,16,3,3]", "f32[40]", "f32[1,40,61,57]",
                   "pads=[1,1,1,1]"),
    // by channels
    residual_block("f32[1,256,5,7]", "f32[256,256,3,3]", "f32[256]", "f32[1,256,5,7]",
                   "pads=[1,1,1,1]"),
    // channel by channel, in strides
    residual_block("f32[2,48,33,31]", "f32[48,1,3,3]", "f32[48]", "f32[2,48,17,16]",
                   "group=48, pads=[1,1,1,1], strides=[2,2]"),
    // along one axis, along three
    residual_block("f32[3,8,50]", "f32[12,8,5]", "f32[12]", "f32[3,12,46]", "pads=[0,0]"),
    residual_block("f32[1,4,6,9,8]", "f32[6,4,3,2,1]", "f32[6]", "f32[1,6,4,8,8]",
                   "pads=[0,0,0,0,0,0]"),
};

// A block with constant weights, and `ops` behind the convolution %c, which end in %y.
std::string lasting_block(std::string_view x, std::string_view w, std::string_view y,
                          std::string_view attributes, std::string_view ops) {
  return concat("graph \"g\" {\n  %x = ng.Input {type=", x, "} : ", x,
                "\n  %r = ng.Input {type=", y, "} : ", y, "\n  %w = ng.State {type=", w, "} : ", w,
                "\n  %zero = Constant ",
                "{value=f32[]{0}} : f32[]\n  %six = Constant {value=f32[]{6}} : f32[]\n",
                "  %c = Conv(%x, %w) {", attributes, "} : ", y, " @math=ieee\n",
                replaced(std::string(ops), "$y", y),
                "  state %w role=parameter initial=normal(0,1) next=%w\n  output \"y\" = %y\n}\n");
}

constexpr std::string_view tails[] = {
    "  %y = Relu(%c) : $y\n",
    "  %s = Add(%r, %c) : $y\n  %y = Relu(%s) : $y\n",
    "  %y = Clip(%c, %zero, %six) : $y\n",
    "  %s = Add(%c, %r) : $y\n  %y = Clip(%s, %zero, %six) : $y\n",
    "  %y = Add(%c, %c) : $y\n",
    "  %t = Relu(%c) : $y\n  %y = Add(%t, %r) : $y\n",
    "  %t = Sigmoid(%c) : $y\n  %y = Mul(%t, %c) : $y\n",
};

std::vector<std::string> lasting_blocks() {
  std::vector<std::string> blocks;
  for (const std::string_view tail : tails) {
    blocks.push_back(lasting_block("f32[2,16,12,11]", "f32[24,16,3,3]", "f32[2,24,12,11]",
                                   "pads=[1,1,1,1]", tail));
    blocks.push_back(
        lasting_block("f32[1,256,5,7]", "f32[80,256,1,1]", "f32[1,80,5,7]", "strides=[1,1]", tail));
  }
  return blocks;
}

// A normalization of groups between convolutions, with `ops` behind it, which end in %y.
std::string normalized_block(std::string_view x, std::string_view w, std::string_view norm,
                             std::string_view ops) {
  const std::string channels(x.substr(x.find(',') + 1, x.find(',', 6) - x.find(',') - 1));
  return concat("graph \"g\" {\n  %x = ng.Input {type=", x, "} : ", x,
                "\n  %r = ng.Input {type=", x, "} : ", x, "\n  %w = ng.State {type=", w, "} : ", w,
                "\n  %s = ng.State {type=f32[", channels, "]} : f32[", channels,
                "]\n  %b = ng.State {type=f32[", channels, "]} : f32[", channels,
                "]\n  %n = ", norm, " : ", x, '\n', replaced(std::string(ops), "$y", x),
                "  %z = Conv(%y, %w) : ", x, " @math=ieee\n",
                "  state %w role=parameter initial=normal(0,1) next=%w\n"
                "  state %s role=parameter initial=normal(0,1) next=%s\n"
                "  state %b role=parameter initial=normal(0,1) next=%b\n  output \"z\" = %z\n}\n");
}

std::vector<std::string> normalized_blocks() {
  std::vector<std::string> blocks;
  for (const std::string_view ops :
       {"  %y = Relu(%n) : $y\n", "  %t = Sigmoid(%n) : $y\n  %y = Mul(%t, %n) : $y\n",
        "  %t = Add(%n, %r) : $y\n  %y = Relu(%t) : $y\n",
        "  %t = Relu(%n) : $y\n  %y = Add(%t, %x) : $y\n"}) {
    blocks.push_back(normalized_block("f32[1,64,40,41]", "f32[64,64,1,1]",
                                      "GroupNormalization(%x, %s, %b) {num_groups=8}", ops));
    blocks.push_back(normalized_block("f32[3,1088,3,2]", "f32[1088,1088,1,1]",
                                      "GroupNormalization(%x, %s, %b) {num_groups=32}", ops));
    blocks.push_back(normalized_block("f32[2,24,9,70]", "f32[24,24,1,1]",
                                      "InstanceNormalization(%x, %s, %b)", ops));
  }
  return blocks;
}

Plan plan_of(const std::string& text) { return compile(parse(text, op_table()), {}); }

TEST(finished, a_convolution_takes_all_that_is_behind_it) {
  for (const std::string& block : blocks) {
    const Plan plan = plan_of(block);
    int groups = 0;
    for (const Node& node : plan.graph.nodes()) {
      EXPECT_FALSE(node.op->elementwise) << print(plan.graph);
      groups += node.is<Fused>() && finished_convolution(*node.as<Fused>().body) >= 0;
    }
    EXPECT_EQ(groups, 1) << print(plan.graph);
  }
}

TEST(finished, values_are_those_of_the_nodes_apart) {
  for (const std::string& block : blocks) expect_same_values(block, 0, 0);
}

TEST(finished, bits_do_not_depend_on_the_number_of_threads) {
  for (const std::string& block : blocks) expect_same_bits(block);
}

TEST(finished, weights_that_last_are_packed_and_give_the_same_values) {
  for (const std::string& block : lasting_blocks()) {
    for (const PlanStep& step : plan_of(block).steps)
      EXPECT_TRUE(step.math != Math::ieee || isa() < Isa::avx512 ||
                  step.implementation.starts_with("panels of f32"))
          << step.implementation;
    expect_same_values(block, 0, 0);
    expect_same_bits(block);
  }
}

// Panels add a residual that nobody reads afterwards in its own place.
TEST(finished, a_residual_that_dies_gives_its_memory_to_the_result) {
  if (isa() < Isa::avx512) GTEST_SKIP() << "this CPU has no AVX-512";
  const Plan plan = plan_of(lasting_block("f32[2,16,12,11]", "f32[24,16,3,3]", "f32[2,24,12,11]",
                                          "pads=[1,1,1,1]",
                                          "  %t = Softmax(%r) {axis=1} : $y\n"
                                          "  %s = Add(%c, %t) : $y\n  %y = Relu(%s) : $y\n"));
  for (const PlanStep& step : plan.steps)
    if (step.implementation.starts_with("panels of f32")) {
      EXPECT_EQ(std::ranges::count(step.inputs, step.outputs[0].location), 1);
    }
}

TEST(finished, nan_passes_the_bounds_of_a_tail) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::string& block : lasting_blocks()) {
    const Tensor apart = run(block, {.fuse = false}, 2, nan)[0], fused = run(block, {}, 2, nan)[0];
    std::int64_t nans = 0;
    for (std::int64_t i = 0; i < fused.size(); ++i) {
      nans += std::isnan(fused.at(i));
      EXPECT_EQ(std::isnan(fused.at(i)), std::isnan(apart.at(i))) << i;
    }
    EXPECT_GT(nans, 0) << block;
  }
}

TEST(finished, a_normalization_of_groups_lies_as_convolutions_do_and_takes_what_is_behind_it) {
  for (const std::string& block : normalized_blocks()) {
    int groups = 0, relayouts = 0;
    for (const PlanStep& step : plan_of(block).steps) {
      groups += step.implementation.starts_with("channels, f32 statistics, strips");
      relayouts += step.op == "ng.Relayout";
      EXPECT_NE(step.op, "Relu") << block;
    }
    EXPECT_EQ(groups, 1) << print(plan_of(block).graph);
    EXPECT_LE(relayouts, 3);  // of x, r and z
    expect_same_values(block, 1e-6, 1e-6);
    expect_same_bits(block);
  }
}

TEST(finished, a_normalization_of_narrow_images_takes_what_is_behind_it) {
  for (const std::string& block : normalized_blocks())
    for (const std::string_view format : {"bf16", "f16"}) {
      std::string text = replaced(block, "f32", format);
      text = replaced(text, "@math=ieee", concat("@math=", format));
      int groups = 0;
      for (const PlanStep& step : plan_of(text).steps)
        groups += step.implementation.starts_with("channels, f32 statistics, strips");
      EXPECT_EQ(groups, 1) << print(plan_of(text).graph);
      expect_same_values(text);
      expect_same_bits(text);
    }
}

// A wide value would lose digits before its activation, and one of another kind has no room.
TEST(finished, a_normalization_takes_no_ops_that_end_in_another_format) {
  for (const std::string end : {"  %t = Sigmoid(%n) : f32[2,8,6,5]\n"
                                "  %y = Cast(%t) {to=bf16} : bf16[2,8,6,5]\n",
                                "  %y = Greater(%n, %x) : bool[2,8,6,5]\n"}) {
    const std::string text = concat(
        "graph \"g\" {\n  %x = ng.Input {type=f32[2,8,6,5]} : f32[2,8,6,5]\n"
        "  %s = ng.Input {type=f32[8]} : f32[8]\n"
        "  %n = GroupNormalization(%x, %s, %s) {num_groups=2} : f32[2,8,6,5]\n",
        end, "  output \"y\" = %y\n}\n");
    for (const PlanStep& step : plan_of(text).steps)
      EXPECT_FALSE(step.implementation.starts_with("channels, f32 statistics, strips")) << text;
    expect_same_values(text, 0.01, 1e-6);
  }
}

// oneDNN's own Relu would make a zero of it.
TEST(finished, nan_stays_one) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor got = run(blocks[0], {}, 2, nan)[0];
  std::int64_t nans = 0;
  for (std::int64_t i = 0; i < got.size(); ++i) nans += std::isnan(got.at(i));
  EXPECT_EQ(nans, 24 * 4);  // the first pixel is under four windows
}

}  // namespace
}  // namespace narrowgauge::finished_test
