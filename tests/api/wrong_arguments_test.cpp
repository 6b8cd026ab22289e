// SPDX-License-Identifier: Apache-2.0
// Layers, losses, metrics and loops with arguments that make no sense: whatever they are, what ends
// the call is a UsageError, and no signal or error of ours. Each is made in a process of its own.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "api/every_layer.h"
#include "api/small_training.h"
#include "support/own_process.h"

namespace narrowgauge::wrong_arguments_test {
namespace {

using testing_support::ends_by_usage_error;
using testing_support::outcome_in_own_process;

constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
const double odd_numbers[] = {NAN, INFINITY, -INFINITY, -1, 1e300};

using AddLayer = std::function<Value(Network&, Value)>;

// A network of this layer alone, over an input of such a shape.
void build(const Shape& shape, DType dtype, const AddLayer& layer) {
  for (const Mode mode : {Mode::train, Mode::evaluate})
    Model("net", [&](Network& net) {
      return layer(net, net.input("x", shape, dtype));
    }).graph(mode);
}

// Expects that a layer is refused over any of these.
void expect_refused(const char* what, const std::vector<Shape>& shapes, const AddLayer& layer) {
  for (const Shape& shape : shapes)
    EXPECT_TRUE(ends_by_usage_error([&] { build(shape, DType::f32, layer); }, ""))
        << what << " over " << concat(shape);
}

// How it ends to build a layer over each of these, whatever is refused.
std::string outcome_over(const std::vector<Shape>& shapes, const AddLayer& layer) {
  return outcome_in_own_process([&] {
    for (const Shape& shape : shapes)
      for (const DType dtype : {DType::f32, DType::i64, DType::boolean, DType::u8}) try {
          build(shape, dtype, layer);
        } catch (const UsageError&) {
        } catch (const OutOfMemoryError&) {
        }
  });
}

// Expects that a layer over each of these is built or refused.
void expect_no_crash(const char* what, const std::vector<Shape>& shapes, const AddLayer& layer) {
  if (outcome_over(shapes, layer) == "returned") return;
  for (const Shape& shape : shapes)
    EXPECT_EQ(outcome_over({shape}, layer), "returned") << what << " over " << concat(shape);
}

const Dim n = Dim::symbol("N"), c = Dim::symbol("C");
const std::vector<Shape>& odd_shapes() {
  static const std::vector<Shape> all{{},
                                      {0},
                                      {5},
                                      {n},
                                      {n, 3},
                                      {n, c},
                                      {n, 0},
                                      {n, 4, 6},
                                      {n, c, 6},
                                      {n, 4, c},
                                      {n, 0, 6},
                                      {n, 4, 0},
                                      {n, 4, 6, 6},
                                      {n, c, 6, 6},
                                      {n, 4, c, 6},
                                      {n, 0, 6, 6},
                                      {n, 4, 0, 6},
                                      {0, 4, 6, 6},
                                      {n, 4, 6, 6, 6}};
  return all;
}

TEST(wrong_arguments, any_layer_takes_or_refuses_any_shape_and_dtype) {
  for (const Layer& layer : every_layer())
    expect_no_crash(layer.name.c_str(), odd_shapes(), layer.add);
}

TEST(wrong_arguments, any_loss_takes_or_refuses_any_prediction) {
  for (const std::string& name : loss_names())
    expect_no_crash(name.c_str(), odd_shapes(),
                    [&](Network& net, Value x) { return parse_loss(name)(net, x); });
  for (const char* const loss : {"softmax_cross_entropy(smoothing=0.1)",
                                 "softmax_cross_entropy(smoothing=0.1, weights=[1,2,3])",
                                 "negative_log_likelihood(weights=[1, 2, 3])"})
    expect_no_crash(loss, odd_shapes(),
                    [&](Network& net, Value x) { return parse_loss(loss)(net, x); });
}

TEST(wrong_arguments, numbers_of_layers_that_make_no_sense_are_refused) {
  const std::vector<Shape> images{{n, 4, 6, 6}}, rows{{n, 4}}, steps{{n, 5, 4}};
  for (const std::int64_t odd : {std::int64_t{0}, std::int64_t{-1}, least}) {
    expect_refused("conv channels", images,
                   [=](Network& net, Value x) { return net.conv(x, odd); });
    expect_refused("conv_transpose channels", images,
                   [=](Network& net, Value x) { return net.conv_transpose(x, odd); });
    expect_refused("linear units", rows, [=](Network& net, Value x) { return net.linear(x, odd); });
    expect_refused("conv kernel", images,
                   [=](Network& net, Value x) { return net.conv(x, 2, {.kernel = odd}); });
    expect_refused("conv stride", images,
                   [=](Network& net, Value x) { return net.conv(x, 2, {.stride = odd}); });
    expect_refused("conv dilation", images,
                   [=](Network& net, Value x) { return net.conv(x, 2, {.dilation = odd}); });
    expect_refused("conv groups", images,
                   [=](Network& net, Value x) { return net.conv(x, 2, {.groups = odd}); });
    expect_refused("conv_transpose groups", images, [=](Network& net, Value x) {
      return net.conv_transpose(x, 2, {.groups = odd});
    });
    expect_refused("max_pool kernel", images,
                   [=](Network& net, Value x) { return net.max_pool(x, {.kernel = odd}); });
    expect_refused("group_norm groups", images,
                   [=](Network& net, Value x) { return net.group_norm(x, odd); });
    expect_refused("attention heads", steps,
                   [=](Network& net, Value x) { return net.attention(x, x, x, {.heads = odd}); });
    expect_refused("cross_attention heads", steps, [=](Network& net, Value x) {
      return net.cross_attention(x, x, {.heads = odd});
    });
    expect_refused("rotary heads", steps,
                   [=](Network& net, Value x) { return net.rotary_embedding(x, {.heads = odd}); });
    expect_refused("lstm hidden", steps, [=](Network& net, Value x) { return net.lstm(x, odd); });
    expect_refused("gru layers", steps,
                   [=](Network& net, Value x) { return net.gru(x, 3, {.layers = odd}); });
    expect_refused("embedding count", rows,
                   [=](Network& net, Value x) { return net.embedding(x, odd, 2); });
    expect_refused("reshape", rows, [=](Network& net, Value x) {
      return net.reshape(x, {n, odd == 0 ? 7 : odd});
    });
  }
  for (const std::int64_t odd : {std::int64_t{7}, std::int64_t{-7}, least, most}) {
    expect_refused("concat axis", images, [=](Network& net, Value x) {
      return net.concat({x, x}, odd);
    });
    expect_refused("slice axis", images,
                   [=](Network& net, Value x) { return net.slice(x, odd, 0, 1); });
    expect_refused("attention heads", steps,
                   [=](Network& net, Value x) { return net.attention(x, x, x, {.heads = odd}); });
    expect_refused("group_norm groups", images,
                   [=](Network& net, Value x) { return net.group_norm(x, odd); });
    expect_refused("conv groups", images,
                   [=](Network& net, Value x) { return net.conv(x, 4, {.groups = odd}); });
  }
  expect_refused("concat of nothing", rows, [](Network& net, Value) { return net.concat({}, 0); });
}

TEST(wrong_arguments, huge_numbers_of_layers_are_refused_or_too_large) {
  const std::vector<Shape> images{{n, 4, 6, 6}}, steps{{n, 5, 4}};
  for (const std::int64_t huge : {most, most / 2, std::int64_t{1} << 40}) {
    expect_no_crash("conv", images, [=](Network& net, Value x) { return net.conv(x, huge); });
    expect_no_crash("conv kernel", images,
                    [=](Network& net, Value x) { return net.conv(x, 2, {.kernel = huge}); });
    expect_no_crash("conv padding", images,
                    [=](Network& net, Value x) { return net.conv(x, 2, {.padding = huge}); });
    expect_no_crash("conv dilation", images,
                    [=](Network& net, Value x) { return net.conv(x, 2, {.dilation = huge}); });
    expect_no_crash("conv stride", images,
                    [=](Network& net, Value x) { return net.conv(x, 2, {.stride = huge}); });
    expect_no_crash("conv_transpose", images,
                    [=](Network& net, Value x) { return net.conv_transpose(x, huge); });
    expect_no_crash("conv_transpose stride", images, [=](Network& net, Value x) {
      return net.conv_transpose(x, 2, {.stride = huge});
    });
    expect_no_crash("linear", steps, [=](Network& net, Value x) { return net.linear(x, huge); });
    expect_no_crash("embedding", {{n, 3}},
                    [=](Network& net, Value x) { return net.embedding(x, huge, huge); });
    expect_no_crash("lstm", steps, [=](Network& net, Value x) { return net.lstm(x, huge); });
    expect_no_crash("slice", images,
                    [=](Network& net, Value x) { return net.slice(x, 1, -huge, huge); });
    expect_no_crash("max_pool", images,
                    [=](Network& net, Value x) { return net.max_pool(x, {.padding = huge}); });
    expect_no_crash("rotary", {{n, huge, 4}},
                    [=](Network& net, Value x) { return net.rotary_embedding(x); });
    expect_no_crash("parameter", images, [=](Network& net, Value) {
      return net.parameter("p", {huge, huge}, Initial::constant(0));
    });
  }
}

TEST(wrong_arguments, odd_numbers_are_refused) {
  for (const double odd : odd_numbers) {
    const Shape rows{n, 4};
    EXPECT_TRUE(ends_by_usage_error(
        [&] {
          build(rows, DType::f32, [=](Network& net, Value x) { return net.dropout(x, odd); });
        },
        "dropout"));
    EXPECT_TRUE(ends_by_usage_error([&] { focal(odd == 1e300 ? -1 : odd); }, "focal")) << odd;
    EXPECT_TRUE(ends_by_usage_error(
        [&] { softmax_cross_entropy({.smoothing = odd == 1e300 ? 2 : odd}); }, "smoothing"));
    if (odd == 1e300) continue;
    EXPECT_TRUE(ends_by_usage_error(
        [&] {
          build(rows, DType::f32,
                [=](Network& net, Value x) { return net.layer_norm(x, "", odd); });
        },
        "layer_norm"));
    EXPECT_TRUE(ends_by_usage_error([&] { huber(odd); }, "huber"));
    EXPECT_TRUE(ends_by_usage_error([&] { smooth_l1(odd); }, "smooth_l1"));
    EXPECT_TRUE(ends_by_usage_error([&] { dice(odd); }, "dice"));
    EXPECT_TRUE(ends_by_usage_error(
        [&] {
          softmax_cross_entropy({.weights = {1, odd}});
        },
        "weights"));
  }
  for (const char* const text : {"", "(", "huber(", "huber(delta)", "huber(delta=)", "huber(x=1)",
                                 "huber(delta=1", "nothing", "huber(delta=1)x", "mse()"})
    EXPECT_TRUE(ends_by_usage_error([&] { parse_loss(text); }, "")) << text;
}

TEST(wrong_arguments, loops_refuse_options_that_make_no_sense) {
  Model model("net", small_network());
  const auto refused = [&](const TrainerOptions& options) {
    return ends_by_usage_error([&] { Trainer(model, softmax_cross_entropy(), sgd(0.1), options); },
                               "");
  };
  EXPECT_TRUE(refused({.threads = -1}));
  EXPECT_TRUE(refused({.plan_file = "there/is/none"}));
  EXPECT_TRUE(refused({.plan_text = "no plan"}));
  for (const std::int64_t odd : {std::int64_t{0}, std::int64_t{-1}, least})
    EXPECT_TRUE(refused({.accumulation = odd}));
  EXPECT_TRUE(refused({.metrics = {""}}));
  EXPECT_TRUE(refused({.metrics = {"top0"}}));
  Trainer trainer(model, softmax_cross_entropy(), sgd(0.1));
  Step step(
      model, [](Network& net) { return softmax_cross_entropy()(net, small_network()(net)); },
      sgd(0.1));
  const auto fits = [&](const FitOptions& options) {
    return ends_by_usage_error([&] { trainer.fit(small_source(64), small_source(8), options); },
                               "");
  };
  for (const std::int64_t odd : {std::int64_t{0}, std::int64_t{-1}, least}) {
    EXPECT_TRUE(fits({.epochs = odd}));
    EXPECT_TRUE(fits({.batch = odd}));
    EXPECT_TRUE(fits({.batch = 16, .most_skips = odd}));
    EXPECT_TRUE(ends_by_usage_error([&] { trainer.evaluate(small_source(8), odd); }, ""));
  }
  EXPECT_TRUE(fits({.batch = most}));
  EXPECT_TRUE(ends_by_usage_error([&] { trainer.save(""); }, ""));
  EXPECT_TRUE(ends_by_usage_error([&] { trainer.resume(""); }, ""));
  EXPECT_TRUE(ends_by_usage_error([&] { trainer.resume(Checkpoint()); }, ""));
  EXPECT_TRUE(ends_by_usage_error([&] { trainer.swap_averages(); }, ""));
  EXPECT_TRUE(ends_by_usage_error([&] { step.save(""); }, ""));
  EXPECT_TRUE(ends_by_usage_error([&] { step.resume(""); }, ""));
  EXPECT_TRUE(ends_by_usage_error([&] { step.resume(Checkpoint()); }, ""));
  EXPECT_TRUE(ends_by_usage_error([&] { step.swap_averages(); }, ""));
  EXPECT_TRUE(ends_by_usage_error([&] { step.update(); }, ""));
  EXPECT_TRUE(ends_by_usage_error([&] { step.freeze(""); }, ""));
  EXPECT_TRUE(ends_by_usage_error([&] { step.freeze("*"); }, ""));
  EXPECT_TRUE(ends_by_usage_error([&] { step.thaw("*"); }, ""));
  EXPECT_TRUE(ends_by_usage_error([&] { model.load(""); }, ""));
  EXPECT_TRUE(ends_by_usage_error([&] { model.state("none"); }, ""));
  EXPECT_TRUE(ends_by_usage_error([&] { model.set_state("conv.weight", Tensor()); }, ""));
  EXPECT_TRUE(ends_by_usage_error([&] { model.run({}); }, ""));
  EXPECT_TRUE(ends_by_usage_error([&] { model.predict(std::span<const Tensor>()); }, ""));
  EXPECT_TRUE(ends_by_usage_error([&] { model.predict(Tensor()); }, ""));
  EXPECT_TRUE(ends_by_usage_error([&] { Model::from_onnx(""); }, ""));
  for (const double odd : {double{NAN}, -1.0, double{INFINITY}}) {
    EXPECT_TRUE(ends_by_usage_error([&] { step.set_learning_rate(odd); }, ""));
    EXPECT_TRUE(ends_by_usage_error([&] { step.set_loss_scale(odd); }, ""));
    const double weight = odd == -1 ? double{NAN} : odd;
    EXPECT_TRUE(ends_by_usage_error([&] { step.backward(small_batch(0), weight); }, "weight"));
    EXPECT_TRUE(ends_by_usage_error([&] { GradScaler({.initial = odd}); }, ""));
    EXPECT_TRUE(ends_by_usage_error([&] { GradScaler().update(odd); }, ""));
  }
}

TEST(wrong_arguments, metrics_measure_or_refuse_what_does_not_fit) {
  const std::vector<std::string> names{"accuracy",   "auc",  "auc_by_class", "confusion",
                                       "f1",         "iou",  "mae",          "mse",
                                       "perplexity", "top2", "top99",        "loss"};
  const std::vector<Tensor> tensors{
      Tensor(),
      Tensor(DType::f32, {}),
      Tensor(DType::f32, {0, 3}),
      Tensor(DType::f32, {4}),
      Tensor(DType::f32, {4, 3}),
      Tensor(DType::f32, {4, 0}),
      Tensor(DType::f32, {4, 3, 2}),
      Tensor::full(DType::f32, {4, 3}, NAN),
      Tensor(DType::f16, {4, 3}),
      Tensor(DType::u4, {4, 3}),
      Tensor(DType::boolean, {4, 3}),
      Tensor(DType::i64, {}),
      Tensor(DType::i64, {0}),
      Tensor(DType::i64, {4}),
      Tensor::full(DType::i64, {4}, 7),
      Tensor::full(DType::i32, {4}, -1),
      Tensor(DType::i64, {4, 3}),
      Tensor(DType::u8, {4, 2}),
  };
  for (const std::string& name : names)
    for (const Tensor& prediction : tensors) {
      const std::string outcome = outcome_in_own_process([&] {
        for (const Tensor& target : tensors)
          for (const std::int64_t samples : {0, 1, 4, -1}) try {
              MetricSet metrics({name});
              metrics.add({.prediction = prediction, .target = target, .samples = samples});
              metrics.values();
            } catch (const UsageError&) {
            }
      });
      EXPECT_EQ(outcome, "returned") << name << " of " << concat(prediction.type());
    }
  EXPECT_TRUE(ends_by_usage_error(
      [] { MetricSet({}, {{.name = "none", .begin = [] { return nullptr; }}}); }, "'none'"));
}

}  // namespace
}  // namespace narrowgauge::wrong_arguments_test
