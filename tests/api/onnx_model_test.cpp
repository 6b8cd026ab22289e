// SPDX-License-Identifier: Apache-2.0
// Models from files of ONNX as users of the library run them: by name, at any size, also where
// shapes depend on values.
#include <gtest/gtest.h>

#include <thread>

#include "io/files.h"
#include "io/onnx/write.h"
#include "io/onnx_small_model.h"
#include "narrowgauge/narrowgauge.h"

namespace narrowgauge::onnx_model_test {
namespace {

using testing_support::floats;
using testing_support::integers;
using testing_support::numbers_of;
using testing_support::SmallModel;
using Numbers = std::vector<double>;

std::string saved(const SmallModel& model, const std::string& name) {
  const std::string path = ::testing::TempDir() + name + ".onnx";
  onnx::Model complete = model.model;
  complete.ir_version = 8;
  onnx::write_model(path, complete);
  return path;
}

std::string sums() {
  SmallModel model(17);
  model.input("a", "f32[N,2]").input("b", "f32[N,2]").initializer("w", floats({2}, {10, 100}));
  model.node("Add", {"a", "b"}, {"sum"}).node("Mul", {"sum", "w"}, {"scaled"});
  return saved(model.output("scaled").output("sum"), "sums");
}

std::string refusal(Model& model, const std::vector<NamedTensor>& inputs) {
  try {
    model.run(inputs);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(onnx_model, runs_by_name_at_any_size) {
  Model model = Model::from_onnx(sums());
  EXPECT_EQ(model.name(), "sums");
  ASSERT_EQ(model.outputs().size(), 2U);
  EXPECT_EQ(concat(*model.inputs()[1].type), "f32[N,2]");
  for (const std::int64_t batch : {1, 3}) {
    const Tensor ones = Tensor::full(DType::f32, {batch, 2}, 1);
    const NamedTensor inputs[] = {{"b", ones}, {"a", ones}};
    const auto outputs = model.run(inputs);
    EXPECT_EQ(outputs[0].name, "scaled");
    EXPECT_EQ(outputs[0].tensor.at(1), 200);
    EXPECT_EQ(outputs[1].tensor.dims(), (Dims{batch, 2}));
  }
  model.set_state("w", floats({2}, {0, 1}));
  const NamedTensor inputs[] = {{"a", floats({1, 2}, {1, 2})}, {"b", floats({1, 2}, {3, 4})}};
  EXPECT_EQ(numbers_of(model.run(inputs)[0].tensor), (Numbers{0, 6}));
}

// The sum of two weights is a state derived from them.
TEST(onnx_model, what_is_derived_from_weights_follows_them) {
  SmallModel small(17);
  small.input("x", "f32[N,2]").initializer("v", floats({2}, {1, 2}));
  small.initializer("w", floats({2}, {10, 20})).node("Add", {"v", "w"}, {"both"});
  Model model =
      Model::from_onnx(saved(small.node("Mul", {"x", "both"}, {"y"}).output("y"), "both"));
  const NamedTensor ones[] = {{"x", floats({1, 2}, {1, 1})}};
  EXPECT_EQ(numbers_of(model.run(ones)[0].tensor), (Numbers{11, 22}));
  model.set_state("w", floats({2}, {0, 0}));
  EXPECT_EQ(numbers_of(model.run(ones)[0].tensor), (Numbers{1, 2}));
  EXPECT_EQ(model.state_names(), (std::vector<std::string>{"v", "w"}));
}

// The size of Expand is a symbol until the model runs: graphs with it are legal, and may be narrow.
TEST(onnx_model, sizes_that_are_symbols_pass_the_pipeline) {
  SmallModel small(17);
  small.input("x", "f32[N,2]").initializer("w", floats({1, 2}, {1, 2}));
  small.node("Shape", {"x"}, {"sizes"}).node("Expand", {"w", "sizes"}, {"each"});
  small.node("Transpose", {"each"}, {"turned"}).node("MatMul", {"x", "turned"}, {"y"});
  const std::string path = saved(small.output("y"), "each");
  for (const DType narrow : {DType::f32, DType::f16}) {
    Model model = Model::from_onnx(path);
    model.set_precision({.narrow = narrow});
    for (const std::int64_t rows : {1, 3}) {
      const NamedTensor ones[] = {{"x", Tensor::full(DType::f32, {rows, 2}, 1)}};
      const Numbers threes(static_cast<std::size_t>(rows * rows), 3);
      EXPECT_EQ(numbers_of(model.run(ones)[0].tensor), threes);
    }
  }
}

TEST(onnx_model, a_known_input_is_no_input) {
  SmallModel small(17);
  small.input("x", "f32[N]").input("n", "i64[1]").node("Expand", {"x", "n"}, {"wide"});
  const std::string path = saved(small.node("Neg", {"wide"}, {"y"}).output("y"), "known");
  Model model = Model::from_onnx(path, {.values = {{"n", Tensor::scalar(DType::f64, 3)}}});
  ASSERT_EQ(model.inputs().size(), 1U);
  const NamedTensor one[] = {{"x", floats({1}, {2})}};
  EXPECT_EQ(numbers_of(model.run(one)[0].tensor), (Numbers{-2, -2, -2}));
  const auto refused = [&](const std::string& name, const Tensor& value) {
    EXPECT_THROW(Model::from_onnx(path, {.values = {{name, value}}}), UsageError) << name;
  };
  refused("q", Tensor::scalar(DType::f64, 3));
  refused("n", Tensor::scalar(DType::f64, 2.5));
  refused("n", integers({2}, {1, 1}));
}

TEST(onnx_model, says_which_input_does_not_fit) {
  Model model = Model::from_onnx(sums());
  const Tensor row = floats({1, 2}, {1, 2});
  EXPECT_EQ(refusal(model, {{"a", row}}),
            "input 'b' is expected once; the model takes 'a' f32[N,2], 'b' f32[N,2]");
  EXPECT_NE(refusal(model, {{"a", row}, {"b", row}, {"c", row}}).find("has no input 'c'"),
            std::string::npos);
  EXPECT_NE(refusal(model, {{"a", row}, {"b", floats({2}, {1, 2})}}).find("input 'b'"),
            std::string::npos);
  EXPECT_NE(refusal(model, {{"a", row}, {"b", integers({1, 2}, {1, 2})}}).find("input 'b'"),
            std::string::npos);
}

TEST(onnx_model, shapes_may_depend_on_values) {
  SmallModel model(17);
  model.input("x", "f32[N]").node("NonZero", {"x"}, {"places"});
  model.node("Squeeze", {"places", "zero"}, {"list"}).node("Gather", {"x", "list"}, {"y"});
  model.initializer("zero", integers({1}, {0}));
  Model found = Model::from_onnx(saved(model.output("y"), "places"));
  EXPECT_FALSE(found.outputs()[0].type);
  for (int round = 0; round < 2; ++round) {
    const NamedTensor inputs[] = {{"x", floats({4}, {0, 5, 0, 7})}};
    EXPECT_EQ(numbers_of(found.run(inputs)[0].tensor), (Numbers{5, 7}));
    const NamedTensor others[] = {{"x", floats({3}, {1, 0, 0})}};
    EXPECT_EQ(numbers_of(found.run(others)[0].tensor), Numbers{1});
  }
}

TEST(onnx_model, sizes_that_symbols_cannot_tell_are_planned_anew) {
  SmallModel model(17);
  model.input("x", "f32[N]").input("y", "f32[M]").initializer("w", floats({1}, {2}));
  model.node("Add", {"x", "y"}, {"s"}).node("Mul", {"s", "w"}, {"z"});
  Model broadcast = Model::from_onnx(saved(model.output("z"), "broadcast"));
  const NamedTensor alike[] = {{"x", floats({2}, {1, 2})}, {"y", floats({2}, {3, 4})}};
  EXPECT_EQ(numbers_of(broadcast.run(alike)[0].tensor), (Numbers{8, 12}));
  const NamedTensor other[] = {{"x", floats({2}, {1, 2})}, {"y", floats({1}, {3})}};
  EXPECT_EQ(numbers_of(broadcast.run(other)[0].tensor), (Numbers{8, 10}));
  const std::string path = ::testing::TempDir() + "broadcast.onnx";
  Model fixed = Model::from_onnx(path, {.sizes = {{"x", {2}}, {"y", {1}}}});
  EXPECT_EQ(concat(*fixed.outputs()[0].type), "f32[2]");
  EXPECT_THROW(Model::from_onnx(path, {.sizes = {{"q", {2}}}}), UsageError);
}

TEST(onnx_model, sequences_come_element_by_element) {
  SmallModel model(17);
  onnx::SequenceType type;
  type.element.emplace(*testing_support::onnx_value("e", "f32[2]").type);
  onnx::ValueInfo info;
  info.name = "s";
  info.type.emplace();
  info.type->kind = type;
  model.model.graph.inputs.push_back(info);
  model.node("ConcatFromSequence", {"s"}, {"y"}, {{"axis", std::int64_t{0}}});
  Model joined = Model::from_onnx(saved(model.output("y"), "joined"));
  const NamedTensor inputs[] = {{"s[0]", floats({1}, {1})}, {"s[1]", floats({2}, {2, 3})}};
  EXPECT_EQ(numbers_of(joined.run(inputs)[0].tensor), (Numbers{1, 2, 3}));
}

TEST(onnx_model, many_threads_may_run_it) {
  Model model = Model::from_onnx(sums());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&model, t] {
      const Tensor row = Tensor::full(DType::f32, {t % 2 + 1, 2}, t);
      const NamedTensor inputs[] = {{"a", row}, {"b", row}};
      for (int i = 0; i < 20; ++i) EXPECT_EQ(model.run(inputs)[1].tensor.at(0), 2 * t);
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(onnx_model, formats_are_chosen_as_for_other_models) {
  SmallModel model(17);
  model.input("x", "f32[N,32]").initializer("w", Tensor::full(DType::f32, {32, 16}, 0.125));
  model.node("MatMul", {"x", "w"}, {"y"});
  Model product = Model::from_onnx(saved(model.output("y"), "product"));
  product.set_precision({.narrow = DType::bf16});
  const NamedTensor inputs[] = {{"x", Tensor::full(DType::f32, {2, 32}, 1)}};
  EXPECT_EQ(product.run(inputs)[0].tensor.at(0), 4);
  EXPECT_EQ(explain(product).narrow, DType::bf16);
}

}  // namespace
}  // namespace narrowgauge::onnx_model_test
