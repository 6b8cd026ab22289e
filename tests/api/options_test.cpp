// SPDX-License-Identifier: Apache-2.0
// Every number of every options struct of the public headers is checked where it enters, and the
// message says whose it is, what was expected and what came.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "api/small_training.h"

namespace narrowgauge::options_test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const double nan = std::nan("");

struct Refused {
  const char* who;  // as the message begins
  const char* what;
  std::function<void()> action;
};

void expect_refused(const std::vector<Refused>& all) {
  for (const Refused& each : all) try {
      each.action();
      ADD_FAILURE() << "accepted: " << each.who << ' ' << each.what;
    } catch (const UsageError& error) {
      const std::string message = error.what();
      EXPECT_TRUE(message.starts_with(std::string(each.who) + ": ")) << message;
      EXPECT_NE(message.find(each.what), std::string::npos) << message << " lacks " << each.what;
      EXPECT_NE(message.find(", got "), std::string::npos) << message;
    }
}

using Change = std::function<void(Optimizer&)>;

std::function<void()> trains_with(const Change& change, const Optimizer& base = sgd(0.1)) {
  return [=] {
    Model model("small", small_network());
    Optimizer optimizer = base;
    change(optimizer);
    Trainer trainer(model, softmax_cross_entropy(), optimizer);
  };
}

template <class T>
std::vector<Refused> of_number(const char* who, const char* what, std::vector<T> values,
                               const std::function<void(Optimizer&, T)>& set,
                               const Optimizer& base = sgd(0.1)) {
  std::vector<Refused> all;
  for (const T value : values)
    all.push_back({who, what, trains_with([=](Optimizer& o) { set(o, value); }, base)});
  return all;
}

TEST(options, of_optimizers) {
  const auto sizes = {nan, infinity, -1.0, 1e-40, 1e39, 1e-60};
  const auto shares = {nan, infinity, -0.1, 1.0};
  const char* const who = "optimizer";
  const auto real = [&](const char* what, std::vector<double> values, double Optimizer::*field) {
    expect_refused(of_number<double>(who, what, values,
                                     [=](Optimizer& o, double value) { o.*field = value; }));
  };
  const auto of_rule = [&](const char* what, std::vector<double> values,
                           const Optimizer& base = sgd(0.1)) {
    expect_refused(of_number<double>(
        who, what, values, [=](Optimizer& o, double value) { o.rule.set(what, value); }, base));
  };
  real("learning_rate", sizes, &Optimizer::learning_rate);
  real("clip_norm", sizes, &Optimizer::clip_norm);
  real("clip_value", sizes, &Optimizer::clip_value);
  expect_refused({{who, "both", trains_with([](Optimizer& o) { o.clip_norm = o.clip_value = 1; })},
                  {"precision", "f64", trains_with([](Optimizer& o) {
                     o.precision.in_f64 = true;
                     o.precision.narrow = DType::f16;
                   })}});
  of_rule("weight_decay", sizes);
  of_rule("weight_decay", sizes, adamw());
  of_rule("momentum", shares);
  of_rule("beta1", shares, adam());
  of_rule("beta2", shares, adamw());
  of_rule("epsilon", {nan, infinity, -1, 0, 1e-60}, adam());
  expect_refused({{who, "momentum",
                   trains_with([](Optimizer& o) { o.rule.set("nesterov", true); }, sgd(0.1, 0))}});
}

TEST(options, of_schedules) {
  const auto with = [](Schedule schedule) {
    return trains_with([=](Optimizer& o) { o.schedule = schedule; });
  };
  expect_refused({
      {"schedule", "warmup_steps", with({.warmup_steps = -1})},
      {"schedule", "total_steps", with({.name = "cosine", .warmup_steps = 9, .total_steps = 9})},
      {"schedule", "step_every", with({.name = "step", .step_every = 0})},
      {"schedule", "factor", with({.name = "step", .step_every = 1, .factor = nan})},
      {"schedule", "factor", with({.name = "step", .step_every = 1, .factor = 0})},
      {"schedule", "factor", with({.name = "step", .step_every = 1, .factor = infinity})},
      {"schedule", "minimum", with({.minimum = nan})},
      {"schedule", "minimum", with({.minimum = -0.1})},
      {"schedule", "minimum", with({.minimum = infinity})},
      {"schedule", "constant", with({.name = "sine"})},
  });
}

TEST(options, of_loss_scales) {
  for (const auto kind :
       {LossScale::Kind::automatic, LossScale::Kind::dynamic, LossScale::Kind::fixed}) {
    const auto real = [&](const char* what, std::vector<double> values, double LossScale::*field) {
      expect_refused(of_number<double>("loss scale", what, values, [=](Optimizer& o, double value) {
        o.loss_scale.kind = kind;
        o.loss_scale.*field = value;
      }));
    };
    real("initial", {0, nan, infinity, 1e-40, -1, 1e38, 1e39}, &LossScale::initial);
    if (kind == LossScale::Kind::fixed) continue;
    real("growth", {nan, infinity, 1, 0.5, -2}, &LossScale::growth);
    real("backoff", {nan, 0, 1, -0.5}, &LossScale::backoff);
    real("minimum", {nan, 0, -1, 1e-40, 65537}, &LossScale::minimum);
    real("maximum", {nan, 1, -infinity}, &LossScale::maximum);
    expect_refused(of_number<std::int64_t>(
        "loss scale", "growth_interval", {0, -1},
        [=](Optimizer& o, std::int64_t value) { o.loss_scale.growth_interval = value; }));
  }
}

TEST(options, of_precision_and_trainers) {
  const auto narrow = [](DType dtype) {
    return [=] {
      Model model("small", small_network());
      model.set_precision(PrecisionRequest{.narrow = dtype});
      model.predict(small_batch(0)[0]);
    };
  };
  const auto threads = [](int count) {
    return [=] {
      Model model("small", small_network());
      Trainer trainer(model, softmax_cross_entropy(), sgd(0.1), {.threads = count});
    };
  };
  const auto fit = [](FitOptions options) {
    return [=] {
      Model model("small", small_network());
      Trainer trainer(model, softmax_cross_entropy(), sgd(0.1));
      trainer.fit(small_source(64), nullptr, options);
    };
  };
  expect_refused({{"precision", "f16 or bf16", narrow(DType::f64)},
                  {"trainer", "threads", threads(-1)},
                  {"trainer", "threads", threads(5000)},
                  {"fit", "epochs", fit({.epochs = 0})},
                  {"fit", "epochs", fit({.epochs = -3})},
                  {"fit", "batch", fit({.batch = 0})}});
}

TEST(options, of_data) {
  const auto images = [](ImageTransform transform) {
    return [=] {
      const DataSet set{.name = "set",
                        .inputs = {{"images", Tensor(DType::u8, {2, 1, 4, 4})}},
                        .targets = {{"labels", Tensor(DType::i64, {2})}},
                        .classes = 10};
      const TensorSource source(set, transform);
    };
  };
  const auto batches = [](BatchOptions options, BatchPosition start = {}) {
    return [=] { const BatchLoader loader(small_source(64), options, start); };
  };
  const float f_nan = std::nanf(""), f_infinity = std::numeric_limits<float>::infinity();
  expect_refused({{"data set", "mean", images({.mean = {f_nan}})},
                  {"data set", "mean", images({.mean = {f_infinity}})},
                  {"data set", "mean", images({.mean = {1, 2}})},
                  {"data set", "deviation", images({.deviation = {f_nan}})},
                  {"data set", "deviation", images({.deviation = {0}})},
                  {"data set", "deviation", images({.deviation = {f_infinity}})},
                  {"batches", "batch", batches({.batch = 0})},
                  {"batches", "batch", batches({.batch = -1})},
                  {"batches", "epochs", batches({.batch = 8, .epochs = -1})},
                  {"batches", "position", batches({.batch = 8}, {.epoch = -1})},
                  {"batches", "position", batches({.batch = 8}, {.batch = 8})},
                  {"glyphs", "count", [] { draw_glyphs(1, -1, 1); }}});
}

TEST(options, of_layers) {
  using Layer = std::function<Value(Network&, Value)>;
  const auto with = [](const Layer& layer) {
    return [=] {
      Network network("n", Mode::evaluate);
      layer(network, network.input("x", {network.batch(), 4, 8, 8}));
    };
  };
  const auto conv = [&](ConvOptions options) {
    return with([=](Network& net, Value x) { return net.conv(x, 4, options); });
  };
  const auto pool = [&](PoolOptions options) {
    return with([=](Network& net, Value x) { return net.max_pool(x, options); });
  };
  const auto dropout = [&](double ratio) {
    return with([=](Network& net, Value x) { return net.dropout(x, ratio); });
  };
  const auto attention = [&](AttentionOptions options) {
    return with([=](Network& net, Value x) {
      const Value tokens = net.reshape(x, {net.batch(), 4, 64});
      return net.attention(tokens, tokens, tokens, options);
    });
  };
  const auto norm = [&](double epsilon) {
    return with([=](Network& net, Value x) { return net.layer_norm(x, "", epsilon); });
  };
  expect_refused({{"conv", "kernel", conv({.kernel = 0})},
                  {"conv", "stride", conv({.stride = 0})},
                  {"conv", "dilation", conv({.dilation = -1})},
                  {"conv", "groups", conv({.groups = 0})},
                  {"conv", "padding", conv({.padding = -2})},
                  {"pool", "kernel", pool({.kernel = 0})},
                  {"pool", "stride", pool({.stride = -1})},
                  {"pool", "padding", pool({.padding = -1})},
                  {"dropout", "ratio", dropout(-0.1)},
                  {"dropout", "ratio", dropout(1)},
                  {"dropout", "ratio", dropout(nan)},
                  {"attention", "heads", attention({.heads = 0})},
                  {"attention", "dropout", attention({.dropout = nan})},
                  {"attention", "dropout", attention({.dropout = 1})},
                  {"layer_norm", "epsilon", norm(0)},
                  {"layer_norm", "epsilon", norm(nan)},
                  {"layer_norm", "epsilon", norm(1e-60)}});
}

TEST(options, of_initial_values_and_models) {
  const auto begins = [](Initial initial) {
    return [=] { Network("n", Mode::evaluate).parameter("w", {3}, initial); };
  };
  const auto of_vit = [](VitSize size) { return [=] { vit(size, {3, 224, 224}, 10); }; };
  const auto of_bert = [](BertSize size, TextShape text) {
    return [=] { bert(size, text, Head::classification); };
  };
  expect_refused({{"state 'w'", "number", begins(Initial::constant(nan))},
                  {"state 'w'", "range", begins(Initial::uniform(1, -1))},
                  {"state 'w'", "range", begins(Initial::uniform(0, infinity))},
                  {"state 'w'", "deviation", begins(Initial::normal(0, -1))},
                  {"state 'w'", "deviation", begins(Initial::normal(0, nan))},
                  {"state 'w'", "deviation", begins(Initial::truncated_normal(1e39, 1))},
                  {"vit", "at least one", of_vit({.layers = 0})},
                  {"vit", "at least one", of_vit({.patch = 0})},
                  {"bert", "at least one", of_bert({.heads = 0}, {})},
                  {"bert", "sequence", of_bert({}, {.sequence = 0})},
                  {"model", "classes", [] { find_model("lenet", {}, 0); }},
                  {"model", "channels", [] { find_model("lenet", {.channels = 0}, 10); }}});
}

TEST(options, at_the_edge_of_what_is_sensible_are_taken) {
  EXPECT_NO_THROW(trains_with([](Optimizer& o) { o.learning_rate = 0; })());
  EXPECT_NO_THROW(trains_with([](Optimizer& o) { o.loss_scale.maximum = infinity; })());
  EXPECT_NO_THROW(trains_with(
      [](Optimizer& o) { o.loss_scale = {.kind = LossScale::Kind::fixed, .initial = 1e-3}; })());
}

}  // namespace
}  // namespace narrowgauge::options_test
