// SPDX-License-Identifier: Apache-2.0
// Weights from files of other programs.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "api/small_training.h"
#include "io/files.h"
#include "narrowgauge/safetensors.h"

namespace narrowgauge::load_test {
namespace {

using testing_files::TemporaryFolder;

// The small network's weights, and these beside them.
std::string file_with(const TemporaryFolder& folder, const Model& model,
                      const std::vector<std::string>& more) {
  TensorFile file;
  for (const std::string& name : model.state_names())
    file.tensors.push_back({name, model.state(name)});
  for (const std::string& name : more)
    file.tensors.push_back({name, Tensor::scalar(DType::i64, 41)});
  std::string path = folder / "weights.safetensors";
  write_safetensors(path, file);
  return path;
}

TEST(load, passes_over_counts_of_batches_and_numbers_of_positions) {
  const TemporaryFolder folder;
  const Model trained("small", small_network(), 5);
  const std::string path =
      file_with(folder, trained, {"batchnorm.num_batches_tracked", "bert.embeddings.position_ids"});
  Model model("small", small_network());
  ASSERT_NE(model.sha256(), trained.sha256());
  model.load(path);
  EXPECT_EQ(model.sha256(), trained.sha256());
}

TEST(load, refuses_weights_that_the_model_does_not_have) {
  const TemporaryFolder folder;
  const Model trained("small", small_network(), 5);
  const std::string path = file_with(folder, trained, {"linear_2.weight"});
  Model model("small", small_network());
  const std::string before = model.sha256();
  try {
    model.load(path);
    FAIL() << "accepted";
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("linear_2.weight"), std::string::npos) << error.what();
  }
  EXPECT_EQ(model.sha256(), before);
}

// What a network of these classes, trained elsewhere, has for one of other classes.
TEST(load, by_shape_takes_what_fits_and_says_what_it_left) {
  const TemporaryFolder folder;
  const std::string path = folder / "weights.safetensors";
  const Model trained("small", small_network(12, 4), 5);
  TensorFile file;
  for (const std::string& name : trained.state_names()) {
    const bool narrow = name == "conv.weight";
    file.tensors.push_back({name, trained.state(name).cast(narrow ? DType::bf16 : DType::f32)});
  }
  std::erase_if(file.tensors, [](const NamedTensor& each) { return each.name == "conv.bias"; });
  file.tensors.push_back({"head.weight", Tensor(DType::f32, {2})});
  write_safetensors(path, file);

  Model model("small", small_network(12, 7));
  const Tensor bias = model.state("conv.bias"), weight = model.state("linear.weight");
  const LoadReport report = model.load(path, {.match = LoadMatch::shape});
  EXPECT_EQ(report.missing, std::vector<std::string>{"conv.bias"});
  EXPECT_EQ(report.extra, std::vector<std::string>{"head.weight"});
  ASSERT_EQ(report.mismatched.size(), 2U);
  EXPECT_EQ(report.mismatched[0].name, "linear.bias");
  EXPECT_EQ(report.mismatched[1].name, "linear.weight");
  EXPECT_EQ(report.mismatched[0].file, (TensorType{DType::f32, {4}}));
  EXPECT_EQ(report.mismatched[0].model, (TensorType{DType::f32, {7}}));
  EXPECT_EQ(report.taken, std::ssize(model.state_names()) - 3);
  EXPECT_TRUE(model.state("conv.bias").same_bits(bias));
  EXPECT_TRUE(model.state("linear.weight").same_bits(weight));
  EXPECT_TRUE(model.state("conv_2.weight").same_bits(trained.state("conv_2.weight")));
  EXPECT_TRUE(model.state("conv.weight")
                  .same_bits(trained.state("conv.weight").cast(DType::bf16).cast(DType::f32)));
}

Model trained_in(DType narrow, const Tensor& x, Tensor& prediction) {
  Model model("small", small_network());
  Optimizer optimizer = sgd(0.05);
  enable_mixed_precision(optimizer, narrow);
  Trainer trainer(model, softmax_cross_entropy(), optimizer);
  for (std::uint64_t step = 0; step < 5; ++step) trainer.step(small_batch(step));
  prediction = model.predict(x);
  return model;
}

TEST(load, predicts_as_the_model_that_was_trained_in_a_narrow_format) {
  const TemporaryFolder folder;
  const Tensor x = small_batch(9)[0];
  for (const DType narrow : {DType::bf16, DType::f16}) {
    const std::string path = folder / "weights.safetensors";
    Tensor expected;
    trained_in(narrow, x, expected).save(path);
    Model model("small", small_network(), 2);
    model.load(path);
    EXPECT_TRUE(model.predict(x).same_bits(expected)) << name(narrow);
    const std::string again = folder / "again.safetensors";
    model.save(again);
    EXPECT_EQ(read_safetensors(again).metadata, read_safetensors(path).metadata);
    model.set_precision({});
    const Tensor in_f32 = model.predict(x);
    EXPECT_FALSE(in_f32.same_bits(expected)) << name(narrow);
    Model asked("small", small_network());
    asked.set_precision(PrecisionRequest{.narrow = DType::f16});
    asked.load(path);
    model.set_precision(PrecisionRequest{.narrow = DType::f16});
    EXPECT_TRUE(asked.predict(x).same_bits(model.predict(x))) << name(narrow);
  }
}

TEST(load, says_why_predictions_are_not_as_the_trained_model_had_them) {
  const TemporaryFolder folder;
  const std::string path = folder / "weights.safetensors";
  Tensor ignored;
  trained_in(DType::bf16, small_batch(9)[0], ignored).save(path);
  TensorFile file = read_safetensors(path);
  std::string& plan = file.metadata.at("precision");
  plan.replace(plan.find("conv"), 4, "corn");
  write_safetensors(path, file);
  std::vector<std::string> warnings;
  set_log_sink([&](LogLevel, const std::string& message) { warnings.push_back(message); });
  Model model("small", small_network());
  model.load(path);
  set_log_sink({});
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(warnings[0].starts_with(path + ": predictions are in f32")) << warnings[0];
}

std::string refusal(Model& model, const std::string& path, const LoadOptions& options = {}) {
  const std::string before = model.sha256();
  try {
    model.load(path, options);
  } catch (const DataError& error) {
    EXPECT_EQ(model.sha256(), before);
    return error.what();
  }
  return "accepted";
}

TEST(load, exactly_names_the_first_of_what_differs_and_counts) {
  const TemporaryFolder folder;
  const std::string path = folder / "weights.safetensors";
  TensorFile file;
  file.tensors.push_back({"linear.bias", Tensor(DType::f32, {3})});
  file.tensors.push_back({"more", Tensor(DType::f32, {3})});
  write_safetensors(path, file);
  Model model("small", small_network());
  EXPECT_EQ(refusal(model, path),
            path +
                ": does not fit model 'small', which has 10 tensors: it lacks 9 "
                "('batchnorm.bias', 'batchnorm.running_mean', 'batchnorm.running_var', "
                "'batchnorm.weight', ...); has 1 ('more') that the model does not have; differs in "
                "1 ('linear.bias' is f32[3], expected f32[4])");
  EXPECT_TRUE(refusal(model, path, {.match = LoadMatch::shape}).starts_with(path + ": does not"))
      << "nothing fits";
  file.tensors.front().tensor = Tensor(DType::f32, {4});
  write_safetensors(path, file);
  EXPECT_TRUE(refusal(model, path)
                  .ends_with("; LoadMatch::shape (--weights-match shape) takes what fits, 1 of 10"))
      << refusal(model, path);
}

TEST(load, reports_weights_that_are_not_finite_or_refuses_them) {
  const TemporaryFolder folder;
  Model spoiled("small", small_network(), 5);
  Tensor weight = spoiled.state("conv.weight");
  weight.set(0, std::nan(""));
  weight.set(7, -std::numeric_limits<double>::infinity());
  spoiled.set_state("conv.weight", weight);
  const std::string path = folder / "weights.safetensors";
  spoiled.save(path);

  Model model("small", small_network());
  EXPECT_EQ(refusal(model, path, {.only_finite = true}),
            path + ": 'conv.weight' holds 2 infinities or NaN among 72 numbers");
  std::vector<std::string> warnings;
  set_log_sink([&](LogLevel, const std::string& message) { warnings.push_back(message); });
  const LoadReport report = model.load(path);
  set_log_sink({});
  ASSERT_EQ(report.not_finite.size(), 1U);
  EXPECT_EQ(report.not_finite[0].name, "conv.weight");
  EXPECT_EQ(report.not_finite[0].count, 2);
  EXPECT_EQ(report.not_finite[0].size, 72);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("2 infinities or NaN"), std::string::npos) << warnings[0];
  EXPECT_EQ(model.sha256(), spoiled.sha256());
}

}  // namespace
}  // namespace narrowgauge::load_test
