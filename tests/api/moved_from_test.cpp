// SPDX-License-Identifier: Apache-2.0
// Public objects that are moved, swapped and assigned to, and what is left of them.
#include <gtest/gtest.h>

#include <concepts>
#include <type_traits>
#include <utility>

#include "api/small_training.h"
#include "io/files.h"
#include "narrowgauge/format_census.h"
#include "narrowgauge/narrowgauge.h"
#include "support/own_process.h"

namespace narrowgauge::moved_from_test {
namespace {

using testing_support::ends_by_usage_error;

// All public classes but those that are only behind pointers (DataSource and its kin, Tokenizer,
// MetricAccumulator, Rival) and the scopes, which stay where they are.
template <class... Classes>
constexpr bool move_without_throwing = ((std::is_nothrow_move_constructible_v<Classes> &&
                                         std::is_nothrow_move_assignable_v<Classes> &&
                                         std::is_nothrow_destructible_v<Classes> &&
                                         std::is_nothrow_swappable_v<Classes>)&&...);

static_assert(move_without_throwing<Dim, TensorType, Tensor, NamedTensor, Attributes, Graph, Node,
                                    State, Initial, OpTable, Storage, Offer, UpdateRule>);
static_assert(move_without_throwing<Model, Trainer, Step, Engine, GradScaler, Optimizer,
                                    TrainerOptions, StepOptions, PrecisionRequest, PrecisionPlan>);
static_assert(move_without_throwing<DataSet, DataSplit, Batch, BatchLoader, TextSource, TokenList,
                                    TensorFile, Checkpoint, ImageTransform, ImageInput>);
static_assert(move_without_throwing<CsvLog, EventFile, TrainingLog, MetricSet, Sampler, Network,
                                    FormatCensus, ConvertOptions, ConversionReport, LoadReport,
                                    FitOptions, FitResult, Progress>);

// Classes with one owner are not copied; values are, and a copy that throws changes nothing.
template <class... Classes>
constexpr bool have_one_owner = (!(std::copyable<Classes> || ...));
static_assert(
    have_one_owner<Model, Trainer, Step, Engine, BatchLoader, CsvLog, EventFile, TrainingLog>);
static_assert(std::copyable<Tensor> && std::copyable<UpdateRule> && std::copyable<GradScaler> &&
              std::copyable<Graph> && std::copyable<Attributes>);

template <class T>
T& same(T& object) {  // hides from the compiler that an object is moved onto itself
  return object;
}

constexpr const char* says = "was moved from";

TEST(moved_from, tensors_say_so_wherever_they_are_used) {
  Tensor tensor = Tensor::full(DType::f32, {2, 3}, 1);
  const Tensor taken = std::move(tensor);
  EXPECT_TRUE(ends_by_usage_error([&] { tensor.data(); }, says));
  EXPECT_TRUE(ends_by_usage_error([&] { tensor.values<float>(); }, says));
  EXPECT_TRUE(ends_by_usage_error([&] { tensor.values<std::int64_t>(); }, says));
  EXPECT_TRUE(ends_by_usage_error([&] { tensor.at(0); }, says));
  EXPECT_TRUE(ends_by_usage_error([&] { tensor.set(0, 1); }, says));
  EXPECT_TRUE(ends_by_usage_error([&] { tensor.clone(); }, says));
  EXPECT_TRUE(ends_by_usage_error([&] { tensor.cast(DType::f16); }, says));
  EXPECT_TRUE(ends_by_usage_error([&] { tensor.reshaped({1}); }, says));
  EXPECT_TRUE(ends_by_usage_error([&] { taken.same_bits(tensor); }, says));
  EXPECT_TRUE(ends_by_usage_error([&] { tensor.same_bits(taken); }, says));
  EXPECT_TRUE(ends_by_usage_error([&] { tensor.type(); }, says));
  EXPECT_TRUE(ends_by_usage_error([&] { tensor.bytes(); }, says));
  const Tensor copy = tensor;  // NOLINT: of what was moved from
  EXPECT_TRUE(ends_by_usage_error([&] { copy.size(); }, says));
  tensor = taken;
  EXPECT_EQ(tensor.at(5), 1);
}

TEST(moved_from, a_scalar_and_an_empty_tensor_are_none) {
  EXPECT_EQ(Tensor::scalar(DType::f32, 3).at(0), 3);
  EXPECT_EQ(Tensor().size(), 0);
  EXPECT_EQ(Tensor().values<float>().size(), 0U);
  EXPECT_EQ(Tensor().clone().size(), 0);
  Tensor scalar = Tensor::scalar(DType::f32, 3);
  const Tensor taken = std::move(scalar);
  EXPECT_TRUE(ends_by_usage_error([&] { scalar.at(0); }, says));
  EXPECT_EQ(taken.at(0), 3);
}

TEST(moved_from, tensors_that_go_into_calls_are_refused) {
  Model model("small", small_network());
  auto batch = small_batch(0);
  const Tensor taken = std::move(batch[0]);
  EXPECT_TRUE(ends_by_usage_error([&] { model.predict(batch[0]); }, says));
  EXPECT_TRUE(ends_by_usage_error(
      [&] {
        const NamedTensor named[]{{"images", batch[0]}};
        model.run(named);
      },
      says));
  EXPECT_TRUE(
      ends_by_usage_error([&] { model.set_state(model.state_names()[0], batch[0]); }, says));
  EXPECT_TRUE(ends_by_usage_error(
      [&] { Trainer(model, softmax_cross_entropy(), sgd(0.1)).step(batch); }, says));
  EXPECT_TRUE(ends_by_usage_error([&] { TensorSource({batch[0], batch[1]}); }, says));
  EXPECT_TRUE(ends_by_usage_error([&] { safetensors_bytes({{{"x", batch[0]}}, {}}); }, says));
}

// Some call of an object before and after it is moved, assigned, swapped and moved onto itself.
template <class T, class Make, class Use>
void expect_moves_of(const char* what, const Make& make, const Use& use) {
  SCOPED_TRACE(what);
  const std::string message = concat(what, ": was moved from");
  T a = make();
  T b = std::move(a);
  EXPECT_TRUE(ends_by_usage_error([&] { use(a); }, message));
  EXPECT_NO_THROW(use(b));
  T c = std::move(a);  // NOLINT: moved from twice
  EXPECT_TRUE(ends_by_usage_error([&] { use(c); }, message));
  same(b) = std::move(b);
  EXPECT_NO_THROW(use(b));
  same(a) = std::move(a);
  EXPECT_TRUE(ends_by_usage_error([&] { use(a); }, message));
  std::swap(a, b);
  EXPECT_NO_THROW(use(a));
  EXPECT_TRUE(ends_by_usage_error([&] { use(b); }, message));
  b = make();
  b = std::move(a);  // onto one that lives
  EXPECT_NO_THROW(use(b));
  a = make();
  EXPECT_NO_THROW(use(a));
}

TEST(moved_from, models_say_so) {
  const Tensor images = small_batch(0)[0];
  const auto make = [] { return Model("small", small_network()); };
  expect_moves_of<Model>("model", make, [&](Model& model) { model.predict(images); });
  expect_moves_of<Model>("model", make, [](Model& model) { model.state_names(); });
  expect_moves_of<Model>("model", make, [](Model& model) { model.clone(); });
  expect_moves_of<Model>("model", make, [](Model& model) { model.graph(Mode::train); });
  expect_moves_of<Model>("model", make, [](Model& model) { model.set_precision({}); });
  expect_moves_of<Model>("model", make, [](Model& model) { (void)model.to_onnx(); });
  expect_moves_of<Model>("model", make,
                         [](Model& model) { convert(model, {.precision = EnginePrecision::f32}); });
  expect_moves_of<Model>("model", make,
                         [](Model& model) { Trainer(model, softmax_cross_entropy(), sgd(0.1)); });
}

TEST(moved_from, engines_say_so) {
  const Tensor images = small_batch(0)[0];
  const Model model("small", small_network());
  const auto make = [&] { return convert(model, {.precision = EnginePrecision::f32}); };
  expect_moves_of<Engine>("engine", make, [&](Engine& engine) { engine.predict(images); });
  expect_moves_of<Engine>("engine", make, [](Engine& engine) { engine.clone(); });
  expect_moves_of<Engine>("engine", make, [](Engine& engine) { engine.report(); });
  expect_moves_of<Engine>("engine", make, [](Engine& engine) { engine.inputs(); });
}

TEST(moved_from, trainers_and_steps_say_so) {
  Model model("small", small_network());
  const auto batch = small_batch(0);
  const auto make = [&] { return Trainer(model, softmax_cross_entropy(), sgd(0.1)); };
  expect_moves_of<Trainer>("trainer", make, [](Trainer& trainer) { trainer.plan(); });
  expect_moves_of<Trainer>("trainer", make, [](Trainer& trainer) { trainer.epochs_done(); });
  Trainer trainer = make();
  const Trainer taken = std::move(trainer);
  EXPECT_TRUE(ends_by_usage_error([&] { trainer.step(batch); }, "trainer: was moved from"));
  EXPECT_TRUE(ends_by_usage_error([&] { trainer.save("nowhere"); }, "trainer: was moved from"));
  EXPECT_TRUE(ends_by_usage_error([&] { trainer.fit(small_source(64), nullptr, {}); },
                                  "trainer: was moved from"));
  const auto objective = [](Network& net) {
    return softmax_cross_entropy()(net, small_network()(net));
  };
  int steps = 0;
  const auto make_step = [&] {
    return Step(model, objective, sgd(0.1), {.name = concat("step", ++steps)});
  };
  expect_moves_of<Step>("step", make_step, [&](Step& step) { step.loss_scale(); });
  Step step = make_step();
  const Step taken_step = std::move(step);
  GradScaler scaler;
  EXPECT_TRUE(ends_by_usage_error([&] { step.step(batch); }, "step: was moved from"));
  EXPECT_TRUE(ends_by_usage_error([&] { step.update(); }, "step: was moved from"));
  EXPECT_TRUE(ends_by_usage_error([&] { scaler.backward(step, batch); }, "step: was moved from"));
  EXPECT_TRUE(ends_by_usage_error([&] { scaler.step(step); }, "step: was moved from"));
}

TEST(moved_from, logs_loaders_sources_and_rules_say_so) {
  const testing_files::TemporaryFolder folder;
  expect_moves_of<CsvLog>(
      "csv log", [&] { return CsvLog(folder / "a.csv"); },
      [](CsvLog& log) {
        log.add(1, {{"loss", 1}});
      });
  expect_moves_of<EventFile>(
      "event file", [&] { return EventFile(folder / "events"); },
      [](EventFile& file) { file.scalar("loss", 1, 1); });
  expect_moves_of<TrainingLog>(
      "training log", [&] { return TrainingLog({.csv = folder / "b.csv"}); },
      [](TrainingLog& log) { log.add({}); });
  const BatchOptions four{.batch = 4};
  expect_moves_of<BatchLoader>(
      "batch loader", [&] { return BatchLoader(small_source(16), four); },
      [](BatchLoader& loader) { loader.next(); });
  TokenList tokens(4);
  tokens.append(std::vector<std::int32_t>{0, 1, 2, 3, 0, 1});
  const auto list = std::make_shared<const TokenList>(tokens);
  expect_moves_of<TextSource>(
      "text source", [&] { return TextSource(list, 2, Windows::tiling); },
      [](TextSource& source) { EXPECT_EQ(source.size(), 3); });
  expect_moves_of<UpdateRule>(
      "update rule", [] { return UpdateRule(); }, [](UpdateRule& rule) { rule.hyperparameters(); });
}

TEST(moved_from, an_optimizer_is_refused_by_whoever_trains_by_it) {
  Model model("small", small_network());
  Optimizer optimizer = sgd(0.1);
  const Optimizer taken = std::move(optimizer);
  EXPECT_TRUE(ends_by_usage_error([&] { Trainer(model, softmax_cross_entropy(), optimizer); },
                                  "update rule: was moved from"));
}

TEST(moved_from, a_trainer_goes_on_with_a_model_that_is_assigned_over) {
  Model model("small", small_network());
  Trainer trainer(model, softmax_cross_entropy(), sgd(0.1));
  const auto batch = small_batch(0);
  const double first = trainer.step(batch).loss;
  model = Model("other", small_network(), 2);
  EXPECT_NE(trainer.step(batch).loss, first);  // of the network that it had
  EXPECT_EQ(trainer.applied_steps(), 2);
  EXPECT_EQ(model.name(), "other");
  model.predict(batch[0]);
}

}  // namespace
}  // namespace narrowgauge::moved_from_test
