// SPDX-License-Identifier: Apache-2.0
// Networks from files of ONNX in training: their losses, what is frozen, and their normalizations.
#include <gtest/gtest.h>

#include "io/files.h"
#include "io/onnx/write.h"
#include "io/onnx_small_model.h"
#include "narrowgauge/narrowgauge.h"

namespace narrowgauge::onnx_training_test {
namespace {

using testing_support::floats;
using testing_support::integers;
using testing_support::numbers_of;
using testing_support::SmallModel;
using Numbers = std::vector<double>;

std::string saved(const SmallModel& model) {
  static int files = 0;
  const std::string path = ::testing::TempDir() + concat("training", ++files, ".onnx");
  onnx::Model complete = model.model;
  complete.ir_version = 8;
  onnx::write_model(path, complete);
  return path;
}

// y = x * w, and the loss of it: the mean of y.
std::string product(const std::string& type = "f32[N,2]") {
  SmallModel model(17);
  model.input("x", type)
      .initializer("w", floats({2}, {1, 2}))
      .initializer("v", floats({2}, {1, 1}));
  model.node("Mul", {"x", "w"}, {"p"}).node("Mul", {"p", "v"}, {"y"});
  model.node("ReduceMean", {"y"}, {"loss"}, {{"keepdims", std::int64_t{1}}});
  return saved(model.output("y").output("loss"));
}

Optimizer plain(double rate) { return sgd(rate, 0); }

TEST(onnx_training, takes_the_loss_of_the_file) {
  Model model = Model::from_onnx(product());
  Trainer trainer(model, loss_output("loss"), plain(1));
  const Tensor x = floats({1, 2}, {2, 4});
  EXPECT_EQ(trainer.step(std::span(&x, 1)).loss, 5);         // (2 + 8) / 2
  EXPECT_EQ(numbers_of(model.state("w")), (Numbers{0, 0}));  // minus x / 2
}

TEST(onnx_training, takes_a_loss_of_the_output_that_is_named) {
  Model model = Model::from_onnx(product(), {}, {.output = "loss"});
  Trainer trainer(model, mean_squared_error(), plain(0.1));
  const Tensor batch[] = {floats({1, 2}, {2, 4}), floats({1, 1}, {4})};
  EXPECT_EQ(trainer.step(batch).loss, 1);  // (5 - 4)^2
  EXPECT_THROW(Trainer(model, loss_output("nothing"), plain(0.1)), UsageError);
  EXPECT_THROW(Trainer(model, loss_output("y"), plain(0.1)), UsageError);
}

TEST(onnx_training, what_is_frozen_keeps_its_values) {
  Model model = Model::from_onnx(product());
  Optimizer optimizer = plain(1);
  optimizer.groups = {{.pattern = "w", .frozen = true}};
  Trainer trainer(model, loss_output("loss"), optimizer);
  const Tensor x = floats({1, 2}, {2, 4});
  trainer.step(std::span(&x, 1));
  EXPECT_EQ(numbers_of(model.state("w")), (Numbers{1, 2}));
  EXPECT_EQ(numbers_of(model.state("v")), (Numbers{0, -3}));  // minus x * w / 2
}

TEST(onnx_training, a_batch_of_one_opens_where_that_is_asked_for) {
  const std::string path = product("f32[1,2]");
  Model closed = Model::from_onnx(path), open = Model::from_onnx(path, {}, {.open_batch = true});
  EXPECT_EQ(concat(*closed.inputs()[0].type), "f32[1,2]");
  EXPECT_EQ(concat(*open.inputs()[0].type), "f32[N,2]");
  Trainer trainer(open, loss_output("loss"), plain(1));
  const Tensor x = floats({2, 2}, {2, 4, 2, 4});
  EXPECT_EQ(trainer.step(std::span(&x, 1)).loss, 5);
}

TEST(onnx_training, fits_a_network_of_a_fixed_batch) {
  Model model = Model::from_onnx(product("f32[2,2]"));
  Trainer trainer(model, loss_output("loss"), plain(0.1));
  const auto source =
      std::make_shared<TensorSource>(std::vector{floats({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})});
  const FitResult result = trainer.fit(source, nullptr, {.epochs = 1, .batch = 2});
  EXPECT_EQ(result.steps, 2);
}

std::string normalized() {
  SmallModel model(17);
  model.input("x", "f32[N,1]").initializer("scale", floats({1}, {1}));
  model.initializer("b", floats({1}, {0})).initializer("mean", floats({1}, {0}));
  model.initializer("variance", floats({1}, {1}));
  model.node("BatchNormalization", {"x", "scale", "b", "mean", "variance"}, {"y"},
             {{"momentum", 0.5F}});
  model.node("ReduceMean", {"y"}, {"loss"}, {{"keepdims", std::int64_t{0}}});
  return saved(model.output("y").output("loss"));
}

TEST(onnx_training, normalizes_as_the_file_says_unless_asked) {
  const Tensor x = floats({2, 1}, {1, 5});
  Model stored = Model::from_onnx(normalized());
  EXPECT_NEAR(Trainer(stored, loss_output("loss"), plain(0)).step(std::span(&x, 1)).loss, 3, 1e-4);
  Model trained = Model::from_onnx(normalized(), {}, {.batch_norm = BatchNormForm::training});
  EXPECT_NEAR(Trainer(trained, loss_output("loss"), plain(0)).step(std::span(&x, 1)).loss, 0, 1e-4);
  EXPECT_EQ(trained.state("mean").at(0), 1.5);      // half of the batch's 3
  EXPECT_EQ(trained.state("variance").at(0), 2.5);  // half of 1 and of the batch's 4
  const double expected = (5 - 1.5) / std::sqrt(2.5 + 1e-5);
  EXPECT_NEAR(trained.predict(x).at(1), expected, 1e-5);
}

// y = x * w normalized by the batch, w by its own numbers; the running mean is an output too.
std::string normalized_in_training_form() {
  SmallModel model(17);
  model.input("x", "f32[N,1]").initializer("w", floats({2, 1}, {1, 3}));
  model.initializer("one", floats({1}, {1})).initializer("zero", floats({1}, {0}));
  model.initializer("mean", floats({1}, {0})).initializer("variance", floats({1}, {1}));
  const testing_support::OnnxAttributes by_batch{{"momentum", 0.5F},
                                                 {"training_mode", std::int64_t{1}}};
  model.node("BatchNormalization", {"w", "one", "zero", "zero", "one"}, {"standard"}, by_batch);
  model.node("ReduceMax", {"standard"}, {"largest"}, {{"keepdims", std::int64_t{0}}});
  model.node("Mul", {"x", "largest"}, {"p"});
  model.node("BatchNormalization", {"p", "one", "zero", "mean", "variance"}, {"y", "next", "v"},
             by_batch);
  model.node("ReduceMean", {"y"}, {"loss"}, {{"keepdims", std::int64_t{0}}});
  return saved(model.output("y").output("loss").output("next"));
}

TEST(onnx_training, keeps_the_running_statistics_that_a_file_in_training_form_gives) {
  const Tensor x = floats({2, 1}, {1, 5});
  Model model =
      Model::from_onnx(normalized_in_training_form(), {}, {.batch_norm = BatchNormForm::training});
  Trainer(model, loss_output("loss"), plain(0)).step(std::span(&x, 1));
  EXPECT_NEAR(model.state("mean").at(0), 1.5, 1e-4);      // half of the batch's 3
  EXPECT_NEAR(model.state("variance").at(0), 2.5, 1e-4);  // half of 1 and of the batch's 4
  const std::vector<NamedTensor> results = model.run(std::vector<NamedTensor>{{"x", x}});
  EXPECT_NEAR(results[0].tensor.at(1), (5 - 1.5) / std::sqrt(2.5 + 1e-5), 1e-4);
  EXPECT_NEAR(results[2].tensor.at(0), 1.5, 1e-4);  // which predicting leaves as it is
}

TEST(onnx_training, an_op_without_gradient_says_what_to_freeze) {
  SmallModel model(17);
  model.input("x", "f32[N,2]").initializer("w", floats({2}, {1, 2}));
  model.initializer("v", floats({2}, {1, 1})).node("Mul", {"x", "w"}, {"p"});
  model.node("DynamicQuantizeLinear", {"p"}, {"q", "s", "z"}).node("Mul", {"v", "s"}, {"y"});
  model.node("ReduceMean", {"y"}, {"loss"}, {{"keepdims", std::int64_t{0}}});
  Model trained = Model::from_onnx(saved(model.output("loss")));
  try {
    Trainer(trained, loss_output("loss"), plain(1));
    FAIL() << "trained through DynamicQuantizeLinear";
  } catch (const UsageError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("DynamicQuantizeLinear has no gradient for parameter 'w'; frozen"),
              std::string::npos)
        << text;
  }
  Optimizer optimizer = plain(1);
  optimizer.groups = {{.pattern = "w", .frozen = true}};
  EXPECT_NO_THROW(Trainer(trained, loss_output("loss"), optimizer));
}

}  // namespace
}  // namespace narrowgauge::onnx_training_test
