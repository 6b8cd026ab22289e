// SPDX-License-Identifier: Apache-2.0
// Weights that are kept in f16 or bf16, without a master in f32.
#include <gtest/gtest.h>

#include <filesystem>

#include "small_training.h"

namespace narrowgauge::master_weights_test {
namespace {

constexpr WeightRounding roundings[] = {WeightRounding::nearest, WeightRounding::stochastic,
                                        WeightRounding::kahan};

Optimizer without_masters(WeightRounding rounding, DType narrow = DType::bf16) {
  Optimizer optimizer = sgd(0.05);
  enable_mixed_precision(optimizer, narrow);
  optimizer.precision.master_weights = false;
  optimizer.precision.rounding = rounding;
  return optimizer;
}

struct Training {
  Model model{"small", small_network()};
  Trainer trainer;
  explicit Training(const Optimizer& optimizer, int threads = 0)
      : trainer(model, softmax_cross_entropy(), optimizer,
                {.seed = 3, .deterministic = true, .threads = threads}) {}
  StepResult train(std::uint64_t from, std::uint64_t to) {
    StepResult last;
    for (std::uint64_t step = from; step < to; ++step) last = trainer.step(small_batch(step));
    return last;
  }
};

TEST(master_weights, without_them_the_same_training_has_the_same_bits) {
  for (const WeightRounding rounding : roundings) {
    Training one(without_masters(rounding), 1), two(without_masters(rounding), 2);
    EXPECT_EQ(one.train(0, 12).loss, two.train(0, 12).loss) << name(rounding);
    EXPECT_EQ(one.model.sha256(), two.model.sha256()) << name(rounding);
  }
}

TEST(master_weights, without_them_weights_are_those_that_the_format_has) {
  for (const DType narrow : {DType::f16, DType::bf16}) {
    Training run(without_masters(WeightRounding::stochastic, narrow));
    run.train(0, 3);
    const Tensor weight = run.model.state("conv.weight");
    EXPECT_EQ(weight.dtype(), DType::f32);
    EXPECT_TRUE(weight.same_bits(weight.cast(narrow).cast(DType::f32))) << name(narrow);
    // BatchNormalization reads its scale in f32, so that it stays f32.
    const Tensor scale = run.model.state("batchnorm.weight");
    EXPECT_FALSE(scale.same_bits(scale.cast(narrow).cast(DType::f32))) << name(narrow);
  }
}

TEST(master_weights, without_them_the_loss_falls_and_memory_too) {
  Optimizer masters = sgd(0.05);
  enable_mixed_precision(masters, DType::bf16);
  Training with(masters);
  const double expected = with.train(0, 60).loss;
  for (const WeightRounding rounding : {WeightRounding::stochastic, WeightRounding::kahan}) {
    Training run(without_masters(rounding));
    EXPECT_NEAR(run.train(0, 60).loss, expected, 0.1) << name(rounding);
    EXPECT_LT(run.trainer.state_bytes(), with.trainer.state_bytes()) << name(rounding);
  }
  // f32 master, bf16 copy and f32 velocity against bf16 and f32 velocity; the rest is small.
  const Training stochastic(without_masters(WeightRounding::stochastic));
  const double share = static_cast<double>(stochastic.trainer.state_bytes()) /
                       static_cast<double>(with.trainer.state_bytes());
  EXPECT_NEAR(share, 6.0 / 10, 0.02);
}

std::string fresh_folder(const std::string& name) {
  const auto path = std::filesystem::temp_directory_path() / ("narrowgauge_masters_" + name);
  std::filesystem::remove_all(path);
  return path.string();
}

TEST(master_weights, without_them_a_resumed_training_is_the_same) {
  for (const WeightRounding rounding : roundings) {
    Training whole(without_masters(rounding));
    whole.train(0, 10);
    const std::string folder = fresh_folder(std::string(name(rounding)));
    {
      Training begun(without_masters(rounding));
      begun.train(0, 4);
      begun.trainer.save(folder);
    }
    Training resumed(without_masters(rounding));
    resumed.trainer.resume(folder);
    resumed.train(4, 10);
    EXPECT_EQ(resumed.model.sha256(), whole.model.sha256()) << name(rounding);
    std::filesystem::remove_all(folder);
  }
}

TEST(master_weights, without_them_a_skipped_step_changes_nothing) {
  for (const WeightRounding rounding : roundings) {
    Optimizer optimizer = without_masters(rounding, DType::f16);
    optimizer.loss_scale.kind = LossScale::Kind::dynamic;
    Training run(optimizer);
    run.train(0, 5);
    const Tensor before = run.model.state("conv.weight"), bias = run.model.state("linear.bias");
    auto batch = small_batch(5);
    batch[0].set(0, INFINITY);
    EXPECT_FALSE(run.trainer.step(batch).applied());
    EXPECT_TRUE(run.model.state("conv.weight").same_bits(before)) << name(rounding);
    EXPECT_TRUE(run.model.state("linear.bias").same_bits(bias)) << name(rounding);
  }
}

TEST(master_weights, without_them_every_rule_trains) {
  for (const std::string& rule : optimizer_names())
    for (const WeightRounding rounding : roundings) {
      Optimizer optimizer = parse_optimizer(rule);
      enable_mixed_precision(optimizer, DType::bf16);
      optimizer.precision.master_weights = false;
      optimizer.precision.rounding = rounding;
      Training run(optimizer);
      const double first = run.train(0, 1).loss, last = run.train(1, 30).loss;
      EXPECT_LT(last, first + 0.1) << rule << ' ' << name(rounding);
      const Tensor weight = run.model.state("conv.weight");
      EXPECT_TRUE(weight.same_bits(weight.cast(DType::bf16).cast(DType::f32))) << rule;
    }
}

TEST(master_weights, without_them_files_hold_f32) {
  Training run(without_masters(WeightRounding::stochastic));
  run.train(0, 5);
  const std::string path = fresh_folder("file") + ".safetensors";
  run.model.save(path);
  Model plain("small", small_network(), 2);
  plain.load(path);
  EXPECT_EQ(plain.sha256(), run.model.sha256());
  const Tensor images = small_batch(50)[0];
  EXPECT_TRUE(plain.predict(images).same_bits(run.model.predict(images)));
  // What is loaded is rounded where the weights are kept narrow.
  Tensor weight = run.model.state("conv_2.weight");
  weight.set(0, 1.0001);
  run.model.set_state("conv_2.weight", weight);
  EXPECT_EQ(run.model.state("conv_2.weight").at(0), 1);
  std::filesystem::remove(path);
}

TEST(master_weights, without_them_exported_files_predict_the_same) {
  Training run(without_masters(WeightRounding::stochastic));
  run.train(0, 5);
  const std::string path = fresh_folder("file") + ".onnx";
  run.model.to_onnx(path);
  Model read = Model::from_onnx(path);
  EXPECT_EQ(read.state("conv.weight").dtype(), DType::f32);
  const Tensor images = small_batch(50)[0];
  EXPECT_TRUE(read.predict(images).same_bits(run.model.predict(images)));
  std::filesystem::remove(path);
}

TEST(master_weights, without_them_groups_have_settings_of_their_own) {
  Optimizer optimizer = without_masters(WeightRounding::kahan);
  optimizer.groups = {{.pattern = "conv.*", .frozen = true},
                      {.pattern = "linear.*", .rate = 0},
                      {.pattern = "conv_2.*", .weight_decay = 0.1}};
  Training run(optimizer);
  const std::vector<std::string> still{"conv.weight", "conv.bias", "linear.weight"};
  std::vector<Tensor> before;
  for (const std::string& name : still) before.push_back(run.model.state(name));
  const Tensor moving = run.model.state("conv_2.weight");
  run.train(0, 3);
  for (std::size_t i = 0; i < still.size(); ++i)
    EXPECT_TRUE(run.model.state(still[i]).same_bits(before[i])) << still[i];
  EXPECT_FALSE(run.model.state("conv_2.weight").same_bits(moving));
}

TEST(master_weights, a_later_trainer_brings_them_back) {
  Training run(without_masters(WeightRounding::kahan));
  run.train(0, 5);
  const std::string before = run.model.sha256();
  Trainer later(run.model, softmax_cross_entropy(), sgd(0.001));
  EXPECT_EQ(run.model.sha256(), before);
  later.step(small_batch(6));
  const Tensor weight = run.model.state("conv.weight");
  EXPECT_FALSE(weight.same_bits(weight.cast(DType::bf16).cast(DType::f32)));
}

Objective objective() {
  return [](Network& net) { return softmax_cross_entropy()(net, small_network()(net)); };
}

TEST(master_weights, steps_do_without_them_as_trainers) {
  for (const WeightRounding rounding : roundings) {
    Model model("small", small_network());
    Step whole(model, objective(), without_masters(rounding), {.name = "a", .deterministic = true});
    Model other("small", small_network());
    Step parts(other, objective(), without_masters(rounding), {.name = "a", .deterministic = true});
    for (std::uint64_t step = 0; step < 6; ++step) {
      whole.step(small_batch(step));
      parts.backward(small_batch(step));
      parts.update();
    }
    EXPECT_LT(std::abs(whole.forward(small_batch(9))[0].tensor.at(0) -
                       parts.forward(small_batch(9))[0].tensor.at(0)),
              0.2)
        << name(rounding);
    const Tensor weight = model.state("conv.weight");
    EXPECT_TRUE(weight.same_bits(weight.cast(DType::bf16).cast(DType::f32)));
    whole.freeze("conv.*");
    whole.step(small_batch(7));
    EXPECT_TRUE(model.state("conv.weight").same_bits(weight));
  }
}

TEST(master_weights, two_steps_must_agree_on_them) {
  Model model("small", small_network());
  const Step first(model, objective(), sgd(0.1), {.name = "a"});
  try {
    const Step second(model, objective(), without_masters(WeightRounding::kahan), {.name = "b"});
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("an earlier step keeps it in f32"), std::string::npos)
        << error.what();
  }
}

TEST(master_weights, need_a_narrow_format_to_do_without) {
  Optimizer optimizer = sgd(0.1);
  optimizer.precision.master_weights = false;
  Model model("small", small_network());
  EXPECT_THROW(Trainer(model, softmax_cross_entropy(), optimizer, {.obeys_environment = false}),
               UsageError);
}

TEST(master_weights, overrides_keep_single_parameters_in_f32) {
  Optimizer optimizer = without_masters(WeightRounding::nearest);
  optimizer.precision.overrides = {"conv.weight=f32"};
  Training run(optimizer);
  run.train(0, 3);
  const Tensor wide = run.model.state("conv.weight"), narrow = run.model.state("conv_2.weight");
  EXPECT_FALSE(wide.same_bits(wide.cast(DType::bf16).cast(DType::f32)));
  EXPECT_TRUE(narrow.same_bits(narrow.cast(DType::bf16).cast(DType::f32)));
}

TEST(master_weights, plans_say_which_parameters_have_none) {
  Training run(without_masters(WeightRounding::kahan));
  const PrecisionPlan& plan = run.trainer.plan();
  EXPECT_EQ(plan.find("conv.weight")->dtype, DType::bf16);
  EXPECT_EQ(plan.find("conv.weight")->rule, PrecisionRule::kept_narrow);
  EXPECT_FALSE(plan.find("batchnorm.weight")->dtype.has_value());
  EXPECT_EQ(plan.rounding, WeightRounding::kahan);
  EXPECT_EQ(read_plan(print(plan), run.trainer.graph()), plan);
  std::string text = print(plan);
  const std::size_t line = text.find("\nconv.weight "), word = text.find("bf16", line);
  text.replace(word, 4, "-");
  const PrecisionPlan edited = read_plan(text, run.trainer.graph());
  EXPECT_EQ(edited.find("conv.weight")->rule, PrecisionRule::edited);
  EXPECT_FALSE(edited.find("conv.weight")->dtype.has_value());
}

}  // namespace
}  // namespace narrowgauge::master_weights_test
