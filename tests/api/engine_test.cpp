// SPDX-License-Identifier: Apache-2.0
// Networks that are converted, and what the engines answer.
#include "narrowgauge/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <thread>

#include "api/conversion/calibrate.h"
#include "api/conversion/frozen.h"
#include "api/conversion/int8_form.h"
#include "api/programs/contraction_profile.h"
#include "io/files.h"
#include "io/onnx/write.h"
#include "io/onnx_small_model.h"
#include "narrowgauge/models.h"

namespace narrowgauge::engine_test {
namespace {

std::shared_ptr<DataSource> glyphs(std::int64_t count) {
  const DataSplit split = draw_glyphs(3, count, 10);
  return std::make_shared<TensorSource>(split.train, ImageTransform{});
}

BuildNetwork small_network() {
  return [](Network& net) {
    Value x = net.input("images", {net.batch(), 1, 28, 28});
    x = net.max_pool(net.relu(net.batch_norm(net.conv(x, 8, {.stride = 2}, "first"))));
    x = net.relu(net.conv(x, 8, {}, "second"));
    return net.linear(net.flatten(net.global_average_pool(x)), 10, "logits");
  };
}

Tensor some_images(std::int64_t count) {
  const auto source = glyphs(count);
  std::vector<std::int64_t> indices(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) indices[static_cast<std::size_t>(i)] = i;
  std::vector<Tensor> batch{Tensor(DType::f32, {count, 1, 28, 28}), Tensor(DType::i64, {count})};
  source->read(indices, batch);
  return batch[0];
}

void expect_close(const Tensor& got, const Tensor& want, double bound) {
  ASSERT_EQ(got.dims(), want.dims());
  for (std::int64_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got.at(i), want.at(i), bound) << i;
}

ConvertOptions int8_options() {
  ConvertOptions options;
  options.precision = EnginePrecision::int8;
  options.calibration = glyphs(64);
  options.calibration_samples = 32;
  return options;
}

TEST(Engine, in_f32_answers_as_the_model) {
  Model model("small", small_network());
  const Engine engine = convert(model, {.precision = EnginePrecision::f32});
  const Tensor images = some_images(3);
  expect_close(engine.predict(images), model.predict(images), 1e-5);
  EXPECT_EQ(engine.report().precision, EnginePrecision::f32);
  EXPECT_EQ(engine.inputs().at(0).name, "images");
}

TEST(Engine, on_bytes_answers_nearly_as_the_model_and_is_smaller) {
  Model model("small", small_network());
  const Engine engine = convert(model, int8_options());
  const ConversionReport& report = engine.report();
  EXPECT_EQ(report.calibration_samples, 32);
  EXPECT_EQ(report.ops.size(), 3U);
  for (const ConvertedOp& op : report.ops) EXPECT_EQ(op.precision, "int8") << op.name;
  EXPECT_GT(report.after.error, 0);
  EXPECT_LT(report.after.error, 0.05);
  EXPECT_LT(report.bytes_after, report.bytes_before * 2 / 5);
}

TEST(Engine, a_saved_engine_answers_with_the_same_bits) {
  const testing_files::TemporaryFolder folder;
  const std::string path = folder / "small.onnx";
  Model model("small", small_network());
  const Tensor images = some_images(5);
  for (const EnginePrecision precision :
       {EnginePrecision::f32, EnginePrecision::bf16, EnginePrecision::int8}) {
    ConvertOptions options = int8_options();
    options.precision = precision;
    const Engine engine = convert(model, options);
    engine.save(path);
    EXPECT_TRUE(Engine::open(path).predict(images).same_bits(engine.predict(images)))
        << name(precision);
  }
}

TEST(Engine, attention_in_16_bits_stays_so_in_its_file) {
  const testing_files::TemporaryFolder folder;
  const Model model("attention", [](Network& net) {
    const Value x = net.layer_norm(net.input("rows", {net.batch(), 5, 16}), "before");
    const Value y = net.add(x, net.attention(x, x, x, {.heads = 2}));
    return net.linear(net.layer_norm(y, "behind"), 3, "scores");
  });
  Tensor rows(DType::f32, {2, 5, 16});
  for (std::int64_t i = 0; i < rows.size(); ++i) rows.set(i, std::sin(static_cast<double>(i)));
  for (const EnginePrecision precision : {EnginePrecision::bf16, EnginePrecision::f16}) {
    const Engine engine = convert(model, {.precision = precision});
    engine.save(folder / "attention.onnx");
    Model again = Model::from_onnx(folder / "attention.onnx");
    EXPECT_TRUE(again.predict(rows).same_bits(engine.predict(rows))) << name(precision);
    const Graph graph = again.graph(Mode::evaluate);
    const auto attention = std::ranges::find_if(
        graph.nodes(), [](const Node& node) { return node.op->info.name == "Attention"; });
    ASSERT_NE(attention, graph.nodes().end());
    EXPECT_EQ(attention->outputs[0].type.dtype,
              precision == EnginePrecision::bf16 ? DType::bf16 : DType::f16);
  }
}

TEST(Engine, narrow_weights_take_half_the_memory) {
  Model model("small", small_network());
  const ConversionReport report = convert(model, {.precision = EnginePrecision::bf16}).report();
  EXPECT_LT(report.bytes_after, report.bytes_before * 3 / 5);
}

TEST(Engine, ops_that_cost_most_go_back_until_the_budget_is_kept) {
  Model model("small", small_network());
  ConvertOptions options = int8_options();
  const ConversionReport all = convert(model, options).report();
  // Labels would do for a drop in points: without, the error of the output counts.
  options.max_drop = 100 * all.after.error * 0.95;
  options.calibration = std::make_shared<TensorSource>(std::vector{some_images(64)});
  const ConversionReport some = convert(model, options).report();
  EXPECT_TRUE(some.within_budget()) << some.drop();
  const auto wide = std::ranges::count(some.ops, "f32", &ConvertedOp::precision);
  EXPECT_GE(wide, 1);
  EXPECT_LT(wide, 3);
  for (const ConvertedOp& op : some.ops) EXPECT_TRUE(op.sensitivity.has_value()) << op.name;
}

TEST(Engine, contractions_are_timed_with_what_is_computed_for_them_alone) {
  Model model("small", small_network());
  const Graph graph = frozen_graph(model);
  const Tensor images = some_images(1);
  const ConvertOptions options = int8_options();
  for (const bool narrow : {false, true}) {
    const Graph engine = narrow ? Int8Conversion(graph, options).with_all() : graph;
    FrozenNetwork network(engine, /*deterministic=*/true);
    const auto executor = network.executor_for(std::span(&images, 1));
    const ContractionTimes times =
        profile_contractions(*executor, std::span(&images, 1), {"first", "second", "logits"});
    ASSERT_EQ(times.size(), 3U) << narrow;
    double sum = 0;
    for (const auto& [name, milliseconds] : times) {
      EXPECT_GT(milliseconds, 0) << name;
      sum += milliseconds;
    }
    double all = 0, run_steps = 0;
    for (const StepProfile& step : executor->profile()) all += step.milliseconds;
    for (const PlanStep& step : executor->plan().steps) run_steps += step.run ? 1 : 0;
    const double runs = static_cast<double>(executor->step_runs().size()) / run_steps;
    EXPECT_LE(sum, all / runs) << narrow;
    EXPECT_GT(sum, 0.1 * all / runs) << narrow;
  }
}

TEST(Engine, an_automatic_one_says_times_of_its_ops) {
  Model model("small", small_network());
  ConvertOptions options = int8_options();
  options.precision = EnginePrecision::automatic;
  options.max_drop = 100;
  const ConversionReport report = convert(model, options).report();
  if (report.precision != EnginePrecision::int8) GTEST_SKIP() << name(report.precision);
  for (const ConvertedOp& op : report.ops)
    EXPECT_TRUE(op.why.starts_with("int8 ") && op.why.find(" ms, f32 ") != std::string::npos)
        << op.why;
}

TEST(Engine, an_automatic_one_without_samples_is_in_f32_and_says_why) {
  Model model("small", small_network());
  const ConversionReport report = convert(model, {}).report();
  EXPECT_EQ(report.precision, EnginePrecision::f32);
  ASSERT_EQ(report.ops.size(), 3U);
  for (const ConvertedOp& op : report.ops)
    EXPECT_EQ(op.why, "there are no samples to measure others");
  ConvertOptions asked;
  asked.precision = EnginePrecision::f32;
  EXPECT_EQ(convert(model, asked).report().ops.at(0).why, "as asked for");
}

TEST(Engine, what_is_not_on_bytes_may_be_in_bf16) {
  const testing_files::TemporaryFolder folder;
  Model model("small", small_network());
  const Graph f32 = frozen_graph(model);
  const ConvertOptions options = int8_options();
  const Int8Conversion conversion(f32, options);
  const std::vector<int> all = conversion.candidates();
  EngineForm form{EnginePrecision::int8, conversion.with_bytes_in({all[0], all[2]}), {}, {}};
  for (const int node : all)
    form.ops.push_back(
        converted_op(conversion.prepared().node(node), node == all[1] ? "f32" : "int8", "so"));
  const EngineForm mixed = with_bf16_beside_bytes(form, FormBudget(nullptr, {}));
  EXPECT_EQ(mixed.ops.at(0).precision, "int8");
  EXPECT_EQ(mixed.ops.at(1).precision, "bf16");
  EXPECT_EQ(mixed.ops.at(1).why, "so, and bf16 keeps the budget");
  EXPECT_EQ(mixed.ops.at(2).precision, "int8");
  EXPECT_EQ(mixed.graph.type(Value{mixed.graph.find_node("first"), 0}).dtype, DType::f32);
  EXPECT_EQ(mixed.graph.type(Value{mixed.graph.find_node("second"), 0}).dtype, DType::bf16);
  const Tensor images = some_images(3);
  const auto answers = [&](const Graph& graph) {
    return FrozenNetwork(graph, true).run(std::span(&images, 1)).at(0);
  };
  const Tensor want = answers(form.graph);
  expect_close(answers(mixed.graph), want, 0.02);
  EXPECT_FALSE(answers(mixed.graph).same_bits(want));
}

TEST(Engine, products_without_fixed_weights_are_listed) {
  Model model("products", [](Network& net) {
    const Value x = net.linear(net.flatten(net.input("images", {net.batch(), 1, 28, 28})), 10, "w");
    return net.op("MatMul",
                  {net.reshape(x, {net.batch(), 5, 2}), net.reshape(x, {net.batch(), 2, 5})});
  });
  const ConversionReport report = convert(model, int8_options()).report();
  ASSERT_EQ(report.ops.size(), 2U);
  EXPECT_EQ(report.ops[0].precision, "int8");
  EXPECT_EQ(report.ops[1].op, "MatMul");
  EXPECT_EQ(report.ops[1].precision, "f32");
  EXPECT_EQ(report.ops[1].why, "it has no fixed weights");
}

TEST(Engine, a_budget_that_nothing_keeps_is_reported) {
  Model model("small", small_network());
  ConvertOptions options = int8_options();
  options.calibration = std::make_shared<TensorSource>(std::vector{some_images(64)});
  options.max_drop = 1e-9;
  const ConversionReport report = convert(model, options).report();
  EXPECT_FALSE(report.within_budget());
  EXPECT_EQ(std::ranges::count(report.ops, "int8", &ConvertedOp::precision), 3);
  options.precision = EnginePrecision::automatic;  // may stay in f32
  EXPECT_TRUE(convert(model, options).report().within_budget());
}

TEST(Engine, threads_get_the_answers_that_one_gets) {
  Model model("small", small_network());
  const Engine engine = convert(model, int8_options());
  const Tensor images = some_images(4);
  const Tensor want = engine.predict(images);
  std::vector<int> same(8, 0);
  std::vector<std::thread> threads;
  for (int& count : same)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) count += engine.predict(images).same_bits(want);
    });
  for (std::thread& thread : threads) thread.join();
  for (const int count : same) EXPECT_EQ(count, 20);
}

std::string refusal_of(const Model& model, const ConvertOptions& options) {
  try {
    convert(model, options);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "none";
}

TEST(Engine, ranges_that_were_kept_give_the_same_engine) {
  const testing_files::TemporaryFolder folder;
  Model model("small", small_network());
  ConvertOptions options = int8_options();
  options.keep_calibration = folder / "ranges";
  const Engine engine = convert(model, options);
  const Tensor images = some_images(3);
  options.keep_calibration.clear();
  options.calibration_files = {folder / "ranges"};
  options.calibration = nullptr;
  const Engine again = convert(model, options);
  EXPECT_TRUE(again.predict(images).same_bits(engine.predict(images)));
  EXPECT_EQ(again.report().calibration_samples, 32);
  EXPECT_EQ(again.report().validation_samples, 0);
}

TEST(Engine, ranges_of_parts_merge_to_those_of_the_whole) {
  const testing_files::TemporaryFolder folder;
  Model model("small", small_network());
  const Tensor images = some_images(20);
  const auto rows = [&](std::int64_t from, std::int64_t count) {
    Tensor part(DType::f32, {count, 1, 28, 28});
    std::copy_n(images.values<float>().begin() + from * 784, count * 784,
                part.values<float>().begin());
    return std::make_shared<TensorSource>(std::vector{part});
  };
  ConvertOptions options = int8_options();
  for (const auto& [name, from, count] :
       {std::tuple("whole", 0, 20), std::tuple("a", 0, 13), std::tuple("b", 13, 7)}) {
    options.calibration = rows(from, count);
    options.keep_calibration = folder / name;
    convert(model, options);
  }
  options.calibration_files = {folder / "b", folder / "a"};
  options.keep_calibration = folder / "merged";
  convert(model, options);
  EXPECT_EQ(testing_files::read_file(folder / "merged"),
            testing_files::read_file(folder / "whole"));
}

TEST(Engine, ranges_of_another_network_are_refused) {
  const testing_files::TemporaryFolder folder;
  const std::string file = folder / "ranges";
  Model model("small", small_network());
  ConvertOptions options = int8_options();
  options.keep_calibration = file;
  convert(model, options);
  options.keep_calibration.clear();
  options.calibration_files = {file};
  EXPECT_EQ(refusal_of(Model("small", small_network(), 2), options),
            file + ": is of another network, the weights of 'first' are others");
  const Model other("other", [](Network& net) {
    return net.linear(net.flatten(net.input("images", {net.batch(), 1, 28, 28})), 10, "logits");
  });
  EXPECT_TRUE(refusal_of(other, options).starts_with(file + ": is of another network, it has"))
      << refusal_of(other, options);
  options.equalize = false;
  EXPECT_EQ(refusal_of(model, options),
            file +
                ": is of the network with channels of equal ranges, convert without --plain "
                "(ConvertOptions::equalize)");
  options.equalize = true;
  options.precision = EnginePrecision::f32;
  EXPECT_EQ(refusal_of(model, options), "convert: ranges are for int8, f32 has none");
  options.precision = EnginePrecision::int8;
  convert(model, int8_options()).save(folder / "int8.onnx");
  EXPECT_TRUE(refusal_of(Model::from_onnx(folder / "int8.onnx"), options)
                  .ends_with("is quantized already, its own ranges stay"));
}

TEST(Engine, compares_the_ranges_that_calibrators_choose) {
  Model model("small", small_network());
  ConvertOptions options = int8_options();
  const std::vector<ComparedRanges> ranges = compare_ranges(model, options);
  const auto images = std::ranges::find(ranges, "images", &ComparedRanges::name);
  ASSERT_NE(images, ranges.end());
  EXPECT_EQ(images->least, 0);
  EXPECT_EQ(images->most, 1);
  for (const ComparedRanges& value : ranges) {
    ASSERT_EQ(value.chosen.size(), 4U);
    for (const ChosenRange& chosen : value.chosen) {
      EXPECT_NEAR(chosen.high - chosen.low, 255 * chosen.scale, 1e-4 * chosen.high) << value.name;
      EXPECT_LE(chosen.low, 0);
      if (chosen.calibrator != "absmax") continue;
      EXPECT_EQ(chosen.clipped, 0) << value.name;
      EXPECT_GE(chosen.high, value.most - chosen.scale) << value.name;
      EXPECT_LE(chosen.low, value.least + chosen.scale) << value.name;
    }
    const auto percentile =
        std::ranges::find(value.chosen, "percentile(99.99)", &ChosenRange::calibrator);
    ASSERT_NE(percentile, value.chosen.end());
    EXPECT_LE(percentile->clipped, 2e-4) << value.name;
  }
}

TEST(Engine, progress_may_end_a_conversion) {
  struct Stopped {};
  Model model("small", small_network());
  ConvertOptions options = int8_options();
  std::int64_t calls = 0;
  options.progress = [&](const ConvertProgress& progress) {
    if (progress.stage == "calibrating" && ++calls == 3) throw Stopped{};
  };
  EXPECT_THROW(convert(model, options), Stopped);
  EXPECT_EQ(calls, 3);
}

TEST(Engine, refuses_what_it_cannot_measure) {
  Model model("small", small_network());
  const Tensor images = some_images(40);
  ConvertOptions options = int8_options();
  Tensor labels(DType::i64, {40});
  labels.set(18, 10);
  options.validation = std::make_shared<TensorSource>(std::vector{images, labels});
  EXPECT_EQ(refusal_of(model, options),
            "validation: sample 19 has label 10, the network tells classes 0 to 9");
  Tensor damaged = images.clone();
  damaged.set(17 * 784 + 5, std::numeric_limits<double>::quiet_NaN());
  options.validation = std::make_shared<TensorSource>(std::vector{damaged});
  EXPECT_EQ(refusal_of(model, options), "validation: sample 18 holds infinities or NaN");
}

TEST(Engine, refuses_what_cannot_be) {
  Model model("small", small_network());
  const auto refused = [&](const ConvertOptions& options, std::string_view text) {
    try {
      convert(model, options);
      ADD_FAILURE() << "accepted: " << text;
    } catch (const std::exception& error) {
      EXPECT_NE(std::string_view(error.what()).find(text), std::string_view::npos) << error.what();
    }
  };
  refused({.precision = EnginePrecision::int8}, "needs samples for calibration");
  ConvertOptions options = int8_options();
  options.calibrator = "guess";
  refused(options, "guess");
  options = int8_options();
  options.calibration =
      std::make_shared<TensorSource>(std::vector{Tensor(DType::f32, {4, 1, 20, 20})});
  refused(options, "input 'images' is f32[N,1,28,28]");
  options.calibration = std::make_shared<TensorSource>(std::vector{
      Tensor::full(DType::f32, {4, 1, 28, 28}, std::numeric_limits<double>::quiet_NaN())});
  refused(options, "infinities or NaN");
  options.calibration =
      std::make_shared<TensorSource>(std::vector{Tensor(DType::f32, {0, 1, 28, 28})});
  refused(options, "no samples");
  EXPECT_THROW(parse_engine_precision("int4"), UsageError);
}

TEST(Engine, a_file_that_cannot_be_is_the_models_fault) {
  const testing_files::TemporaryFolder folder;
  testing_support::SmallModel file(19);
  file.input("x", "f32[N,4]").initializer("w", Tensor(DType::i8, {4, 3}));
  file.initializer("s", testing_support::floats({5}, {1, 1, 1, 1, 1}))
      .node("DequantizeLinear", {"w", "s"}, {"wide"});
  file.node("MatMul", {"x", "wide"}, {"y"}).output("y").model.ir_version = 8;
  onnx::write_model(folder / "wrong.onnx", file.model);
  const Model model = Model::from_onnx(folder / "wrong.onnx");
  try {
    convert(model, {.precision = EnginePrecision::f32});
    FAIL() << "accepted";
  } catch (const ModelError& error) {
    EXPECT_NE(std::string_view(error.what()).find("expected one scale or 3 of them for axis 1"),
              std::string_view::npos)
        << error.what();
  }
}

TEST(Calibrate, halves_merge_to_the_whole) {
  Model model("small", small_network());
  const Graph graph = frozen_graph(model);
  std::vector<Value> values;
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i)
    if (!is_source(graph.node(i)) && graph.node(i).outputs[0].type.dtype == DType::f32)
      values.push_back({i, 0});
  const Tensor images = some_images(20);
  const auto part = [&](std::int64_t from, std::int64_t count) {
    Tensor rows(DType::f32, {count, 1, 28, 28});
    std::copy_n(images.values<float>().begin() + from * 784, count * 784,
                rows.values<float>().begin());
    return calibrate(graph, values, {std::make_shared<TensorSource>(std::vector{rows}), 100, 1},
                     {});
  };
  const Calibration whole = part(0, 20);
  Calibration merged = part(13, 7);
  merged.merge(part(0, 13));
  EXPECT_EQ(merged, whole);
  EXPECT_EQ(whole.samples(), 20);
}

}  // namespace
}  // namespace narrowgauge::engine_test
