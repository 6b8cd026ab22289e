// SPDX-License-Identifier: Apache-2.0
// The levels of apex and the policies of Keras: their tables, and the plans that follow from them.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "small_training.h"

namespace narrowgauge::precision_presets_test {
namespace {

using Kind = LossScale::Kind;

Optimizer at_level(std::string_view level, const ApexOptions& options = {}) {
  Optimizer optimizer = sgd(0.05);
  set_apex_level(optimizer, level, options);
  return optimizer;
}

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

// A network with a layer normalization and a softmax before the end, and a softmax after the last
// parameter.
Value network(Network& net) {
  Value x = net.input("images", {net.batch(), 1, 12, 12});
  x = net.relu(net.batch_norm(net.conv(x, 8, {}, "conv"), "bn"));
  x = net.linear(net.flatten(x), 8, "middle");
  x = net.layer_norm(x, "ln");
  x = net.op("Softmax", {x});
  x = net.add(x, net.linear(x, 8, "side"));
  return net.linear(net.gelu(x), 4, "logits");
}

PrecisionPlan plan_of(const Optimizer& optimizer) {
  Model model("small", network);
  return Trainer(model, softmax_cross_entropy(), optimizer, {.obeys_environment = false}).plan();
}

std::optional<DType> format(const PrecisionPlan& plan, std::string_view node) {
  const PlanEntry* const entry = plan.find(node);
  EXPECT_NE(entry, nullptr) << node << " is not in\n" << print(plan);
  return entry ? entry->dtype : std::nullopt;
}

const PlanEntry& only(const PrecisionPlan& plan, std::string_view op) {
  for (const PlanEntry& entry : plan.entries)
    if (entry.op == op) return entry;
  throw UsageError(concat("no ", op));
}

TEST(apex, levels_are_those_of_its_table) {
  const Optimizer o0 = at_level("O0"), o1 = at_level("O1"), o2 = at_level("O2"),
                  o3 = at_level("O3");
  EXPECT_FALSE(o0.precision.is_mixed());
  EXPECT_EQ(o0.loss_scale.kind, Kind::off);
  EXPECT_EQ(o1.precision.narrow, DType::f16);
  EXPECT_EQ(o1.precision.policy, "apex_lists");
  EXPECT_EQ(o1.loss_scale.kind, Kind::dynamic);
  for (const Optimizer& each : {o2, o3}) {
    EXPECT_EQ(each.precision.narrow, DType::f16);
    EXPECT_EQ(each.precision.policy, "apex_cast");
  }
  EXPECT_TRUE(o2.precision.keep_batch_norm_f32);
  EXPECT_TRUE(o2.precision.master_weights);
  EXPECT_EQ(o2.loss_scale.kind, Kind::dynamic);
  EXPECT_FALSE(o3.precision.keep_batch_norm_f32);
  EXPECT_FALSE(o3.precision.master_weights);
  EXPECT_EQ(o3.loss_scale.kind, Kind::off);
  EXPECT_EQ(o2.loss_scale.initial, 65536);
  EXPECT_EQ(o2.loss_scale.maximum, 0x1p24);
  EXPECT_EQ(o2.loss_scale.growth_interval, 2000);
  EXPECT_LT(o2.loss_scale.minimum, 1e-30);
}

TEST(apex, options_change_what_a_level_has) {
  const Optimizer o2 =
      at_level("O2", {.keep_batchnorm_fp32 = false, .loss_scale = LossScale{Kind::fixed, 128}});
  EXPECT_FALSE(o2.precision.keep_batch_norm_f32);
  EXPECT_EQ(o2.loss_scale.initial, 128);
  const Optimizer o3 = at_level("O3", {.keep_batchnorm_fp32 = true, .master_weights = true});
  EXPECT_TRUE(o3.precision.keep_batch_norm_f32);
  EXPECT_TRUE(o3.precision.master_weights);
}

TEST(apex, refuses_what_apex_refuses) {
  EXPECT_EQ(refusal([] { at_level("O4"); }), "apex: expected a level O0, O1, O2 or O3, got 'O4'");
  EXPECT_EQ(refusal([] { at_level("O1", {.keep_batchnorm_fp32 = true}); }),
            "apex: O1 takes no keep_batchnorm_fp32: its parameters are f32 as they are");
  EXPECT_EQ(refusal([] { at_level("O1", {.master_weights = false}); }),
            "apex: O1 takes no master_weights: its parameters are f32 as they are");
  EXPECT_EQ(refusal([] { at_level("O0", {.master_weights = true}); }),
            "apex: O0 takes no master_weights: all of it is f32 already");
}

TEST(apex, o1_goes_op_by_op_after_its_lists) {
  const PrecisionPlan plan = plan_of(at_level("O1"));
  for (const char* node : {"conv", "middle", "side", "logits"})
    EXPECT_EQ(format(plan, node), DType::f16) << node;
  // The batch normalization is on no list and reads what the convolution makes.
  EXPECT_EQ(format(plan, "bn"), DType::f16);
  EXPECT_EQ(plan.find("bn")->rule, PrecisionRule::reads_narrow);
  EXPECT_EQ(only(plan, "Relu").dtype, DType::f16);
  for (const char* op : {"LayerNormalization", "Softmax", "Gelu", "SoftmaxCrossEntropyLoss"}) {
    EXPECT_EQ(only(plan, op).dtype, DType::f32) << op;
    EXPECT_TRUE(only(plan, op).rule == PrecisionRule::deny_list ||
                only(plan, op).rule == PrecisionRule::preserved_output)
        << op;
  }
  // A sum takes the widest format: the softmax is f32, the layer beside it f16.
  EXPECT_EQ(only(plan, "Add").dtype, DType::f32);
  EXPECT_EQ(only(plan, "Add").rule, PrecisionRule::reads_f32);
  EXPECT_FALSE(format(plan, "conv.weight").has_value());
  EXPECT_EQ(only(plan, "ng.ConvWeightGradient").dtype, DType::f16);
}

TEST(apex, o2_casts_the_network_and_its_parameters_but_batch_norms) {
  const PrecisionPlan plan = plan_of(at_level("O2"));
  for (const char* op : {"Conv", "BatchNormalization", "Relu", "LayerNormalization", "Softmax",
                         "Add", "Gelu", "Gemm", "ng.ConvWeightGradient"})
    EXPECT_EQ(only(plan, op).dtype, DType::f16) << op;
  EXPECT_EQ(only(plan, "SoftmaxCrossEntropyLoss").dtype, DType::f32);
  for (const char* parameter : {"conv.weight", "conv.bias", "ln.weight", "logits.weight"})
    EXPECT_EQ(format(plan, parameter), DType::f16) << parameter;
  for (const char* parameter : {"bn.weight", "bn.bias", "bn.running_mean"})
    EXPECT_FALSE(format(plan, parameter).has_value()) << parameter;
  EXPECT_TRUE(plan.master_weights);
  EXPECT_EQ(plan.find("logits.weight")->rule, PrecisionRule::kept_narrow);
  const PrecisionPlan all = plan_of(at_level("O2", {.keep_batchnorm_fp32 = false}));
  EXPECT_EQ(format(all, "bn.weight"), DType::f16);
}

TEST(apex, o3_has_no_masters) {
  const PrecisionPlan plan = plan_of(at_level("O3"));
  EXPECT_FALSE(plan.master_weights);
  EXPECT_EQ(format(plan, "bn.weight"), DType::f16);
  Model model("small", network);
  Trainer trainer(model, softmax_cross_entropy(), at_level("O3"));
  for (std::uint64_t step = 0; step < 3; ++step)
    EXPECT_EQ(trainer.step(small_batch(step)).scale, 1);
  for (const char* parameter : {"conv.weight", "bn.weight", "ln.weight"}) {
    const Tensor weight = model.state(parameter);
    EXPECT_TRUE(weight.same_bits(weight.cast(DType::f16).cast(DType::f32))) << parameter;
  }
}

TEST(apex, every_level_trains) {
  for (const std::string& level : apex_levels()) {
    Model model("small", small_network());
    Trainer trainer(model, softmax_cross_entropy(), at_level(level), {.obeys_environment = false});
    double first = 0, last = 0;
    for (std::uint64_t step = 0; step < 60; ++step) {
      last = trainer.step(small_batch(step)).loss;
      if (step == 0) first = last;
    }
    EXPECT_LT(last, 0.75 * first) << level;
  }
}

// The copy of a batch normalization's scale that an O2 without keep_batchnorm_fp32 sees is rounded,
// its master is not.
TEST(apex, masters_hold_more_than_the_network_sees) {
  Model model("small", network);
  Trainer trainer(model, softmax_cross_entropy(), at_level("O2", {.keep_batchnorm_fp32 = false}));
  for (std::uint64_t step = 0; step < 10; ++step) trainer.step(small_batch(step));
  for (const char* parameter : {"conv.weight", "bn.weight"}) {
    const Tensor weight = model.state(parameter);
    EXPECT_FALSE(weight.same_bits(weight.cast(DType::f16).cast(DType::f32))) << parameter;
  }
  const Tensor images = small_batch(20)[0], before = model.predict(images);
  const Tensor scale = model.state("bn.weight");
  model.set_state("bn.weight", scale.cast(DType::f16).cast(DType::f32));
  EXPECT_TRUE(model.predict(images).same_bits(before));
}

TEST(apex, plans_are_read_back) {
  for (const char* level : {"O1", "O2", "O3"}) {
    Model model("small", network);
    const Trainer trainer(model, softmax_cross_entropy(), at_level(level));
    EXPECT_EQ(read_plan(print(trainer.plan()), trainer.graph()), trainer.plan()) << level;
  }
}

TEST(apex, is_f16_alone) {
  Optimizer optimizer = at_level("O2");
  optimizer.precision.narrow = DType::bf16;
  EXPECT_EQ(refusal([&] { plan_of(optimizer); }),
            "precision: policy apex_cast computes in f16, and bf16 was asked for");
  Optimizer lists = sgd(0.1);
  enable_mixed_precision(lists);
  lists.precision.keep_batch_norm_f32 = false;
  EXPECT_EQ(refusal([&] { plan_of(lists); }),
            "precision: BatchNormalization's parameters are narrow by policy apex_cast alone, and "
            "lists was asked for");
}

TEST(keras, policies_have_its_formats_and_loss_scale) {
  Optimizer optimizer = sgd(0.05);
  set_keras_policy(optimizer, "mixed_float16");
  EXPECT_EQ(optimizer.loss_scale.kind, Kind::dynamic);
  EXPECT_EQ(optimizer.loss_scale.initial, 32768);
  EXPECT_TRUE(std::isinf(optimizer.loss_scale.maximum));
  const PrecisionPlan plan = plan_of(optimizer);
  for (const char* op : {"Conv", "BatchNormalization", "LayerNormalization", "Softmax", "Gemm"})
    EXPECT_EQ(only(plan, op).dtype, DType::f16) << op;
  EXPECT_EQ(only(plan, "SoftmaxCrossEntropyLoss").dtype, DType::f32);
  EXPECT_FALSE(format(plan, "conv.weight").has_value());  // variables are f32
  set_keras_policy(optimizer, "mixed_bfloat16");
  EXPECT_EQ(optimizer.loss_scale.kind, Kind::off);
  EXPECT_EQ(only(plan_of(optimizer), "Conv").dtype, DType::bf16);
  set_keras_policy(optimizer, "float32");
  EXPECT_EQ(only(plan_of(optimizer), "Conv").dtype, DType::f32);
  EXPECT_EQ(refusal([&] { set_keras_policy(optimizer, "mixed_float8"); }),
            "keras: expected a policy float32, mixed_bfloat16 or mixed_float16, got "
            "'mixed_float8'");
}

TEST(keras, a_softmax_after_all_parameters_is_f32) {
  Optimizer optimizer = sgd(0.05);
  set_keras_policy(optimizer, "mixed_float16");
  Model model("small", [](Network& net) {
    const Value x = net.input("images", {net.batch(), 1, 12, 12});
    return net.op("Softmax", {net.linear(net.flatten(x), 4, "logits")});
  });
  const Trainer trainer(
      model, [](Network& net, Value y) { return mean_squared_error()(net, y); }, optimizer);
  EXPECT_EQ(only(trainer.plan(), "Softmax").dtype, DType::f32);
  EXPECT_EQ(only(trainer.plan(), "Softmax").rule, PrecisionRule::after_network);
  EXPECT_EQ(format(trainer.plan(), "logits"), DType::f16);
}

TEST(keras, policies_train) {
  for (const std::string& policy : keras_policies()) {
    Optimizer optimizer = sgd(0.05);
    set_keras_policy(optimizer, policy);
    Model model("small", small_network());
    Trainer trainer(model, softmax_cross_entropy(), optimizer, {.obeys_environment = false});
    double first = 0, last = 0;
    for (std::uint64_t step = 0; step < 60; ++step) {
      last = trainer.step(small_batch(step)).loss;
      if (step == 0) first = last;
    }
    EXPECT_LT(last, 0.75 * first) << policy;
  }
}

}  // namespace
}  // namespace narrowgauge::precision_presets_test
