// SPDX-License-Identifier: Apache-2.0
// Calls with what is empty, of another network, of no samples or of another type end by a
// UsageError that says so: each in a process of its own, which it might end.
#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "api/every_layer.h"
#include "api/small_training.h"
#include "support/own_process.h"

namespace narrowgauge::wrong_calls_test {
namespace {

using testing_support::ends_by_usage_error;
using testing_support::outcome_in_own_process;

Objective classifying() {
  return [](Network& net) { return softmax_cross_entropy()(net, small_network()(net)); };
}

Value input_of(Network& net) { return net.input("images", {net.batch(), 1, 12, 12}); }

TEST(wrong_calls, empty_functions_are_named) {
  const auto build = [](const BuildNetwork& function) {
    Model("net", function).graph(Mode::train);
  };
  EXPECT_TRUE(
      ends_by_usage_error([&] { build({}); }, "network 'net': expected a function that builds it"));
  Model model("net", small_network());
  EXPECT_TRUE(
      ends_by_usage_error([&] { Trainer(model, Loss(), sgd(0.1)); }, "loss: expected a function"));
  EXPECT_TRUE(ends_by_usage_error([&] { Step(model, Objective(), sgd(0.1)); },
                                  "step: expected a function as objective"));
  EXPECT_TRUE(ends_by_usage_error(
      [&] {
        Trainer(model, softmax_cross_entropy(), sgd(0.1), {.own_metrics = {{.name = "own"}}});
      },
      "metric 'own': expected begin()"));
  const auto in_network = [&](const std::function<Value(Network&, Value)>& layer) {
    return [=] { build([=](Network& net) { return layer(net, input_of(net)); }); };
  };
  EXPECT_TRUE(
      ends_by_usage_error(in_network([](Network& net, Value x) { return net.residual(x, {}); }),
                          "residual: expected a function as body"));
  EXPECT_TRUE(ends_by_usage_error(
      in_network([](Network& net, Value x) { return net.sequential(x, {nullptr}); }),
      "sequential: expected a function as layer"));
  EXPECT_TRUE(ends_by_usage_error(in_network([](Network& net, Value) { return net.shared({}); }),
                                  "shared: expected a function as body"));
  EXPECT_TRUE(
      ends_by_usage_error(in_network([](Network& net, Value) { return net.scope("a", {}); }),
                          "scope: expected a function as body"));
}

TEST(wrong_calls, functions_that_return_no_value_are_named) {
  EXPECT_TRUE(ends_by_usage_error([] { Model("net", [](Network&) { return Value(); }); },
                                  "network 'net': its builder returns no prediction"));
  Model model("net", small_network());
  EXPECT_TRUE(ends_by_usage_error(
      [&] {
        Trainer(
            model, [](Network&, Value) { return Value(); }, sgd(0.1));
      },
      "loss: its function returns none"));
  EXPECT_TRUE(ends_by_usage_error(
      [&] {
        Step(
            model, [](Network&) { return Value(); }, sgd(0.1));
      },
      "step: its objective returns no loss"));
  Value kept;
  Step first(
      model, [&](Network& net) { return kept = classifying()(net); }, sgd(0.1));
  EXPECT_TRUE(ends_by_usage_error(
      [&] {
        Step(model,
             [&](Network& net) {
               classifying()(net);
               return kept;
             },
             sgd(0.1), {.name = "second"});
      },
      "of another graph"));
}

// Whoever builds with a value as the first input of a layer; the network has as many of its own.
void build_with(const Layer& layer, Value x) {
  Model("second", [&](Network& net) {
    net.relu(net.input("mine", {2, 1, 4, 4}));
    return layer.add(net, x);
  });
}

TEST(wrong_calls, values_that_were_never_set_are_refused_by_each_layer) {
  for (const Layer& layer : every_layer()) {
    EXPECT_TRUE(ends_by_usage_error([&] { build_with(layer, Value()); }, layer.name));
  }
}

TEST(wrong_calls, values_of_another_network_are_refused_by_each_layer) {
  Network first("first", Mode::train);
  const Value x = first.input("x", {2, 1, 4, 4});
  for (const Layer& layer : every_layer()) {
    EXPECT_TRUE(ends_by_usage_error([&] { build_with(layer, x); }, layer.name));
    EXPECT_TRUE(ends_by_usage_error([&] { build_with(layer, x); }, "of another graph"));
  }
}

TEST(wrong_calls, values_kept_from_one_build_to_the_next_are_refused) {
  Value kept;
  const auto build = [&](Network& net) {
    const Value x = net.input("x", {net.batch(), 3});
    if (kept.is_absent()) kept = net.linear(x, 2, "fc");
    return net.relu(kept);
  };
  Model model("net", build);
  EXPECT_TRUE(ends_by_usage_error([&] { model.graph(Mode::train); }, "of another graph"));
  EXPECT_TRUE(ends_by_usage_error([&] { Trainer(model, softmax_cross_entropy(), sgd(0.1)); },
                                  "of another graph"));
}

TEST(wrong_calls, a_network_may_still_be_copied_while_it_is_built) {
  const auto build = [](Network& net) {
    const Value x = net.input("x", {net.batch(), 3});
    Network copy = net;
    copy.output("relu", copy.relu(x));
    return net.linear(x, 2);
  };
  Model model("net", build);
  EXPECT_EQ(model.predict(Tensor(DType::f32, {4, 3})).dims(), (Dims{4, 2}));
}

TEST(wrong_calls, batches_of_no_samples_are_refused) {
  const auto empty = small_batch(0, 0);
  Model model("net", small_network());
  Step step(model, classifying(), sgd(0.1));
  const std::string text = "expected a batch of at least one sample";
  EXPECT_TRUE(ends_by_usage_error([&] { step.step(empty); }, text));
  EXPECT_TRUE(ends_by_usage_error([&] { step.forward(empty); }, text));
  EXPECT_TRUE(ends_by_usage_error([&] { step.backward(empty); }, text));
  for (const std::int64_t parts : {1, 2}) {
    Model other("net", small_network());
    Trainer trainer(other, softmax_cross_entropy(), sgd(0.1), {.accumulation = parts});
    EXPECT_TRUE(ends_by_usage_error([&] { trainer.step(empty); }, text));
    const auto none = small_source(0);
    EXPECT_TRUE(ends_by_usage_error([&] { trainer.evaluate(none); }, ""));
    EXPECT_TRUE(ends_by_usage_error([&] { trainer.evaluate(nullptr); }, ""));
    EXPECT_TRUE(ends_by_usage_error([&] { trainer.evaluate(small_source(8), 0); }, ""));
    EXPECT_TRUE(ends_by_usage_error([&] { trainer.fit(none, nullptr, {}); }, ""));
    EXPECT_TRUE(ends_by_usage_error([&] { trainer.fit(nullptr, nullptr, {}); }, ""));
    EXPECT_TRUE(ends_by_usage_error([&] { trainer.fit(small_source(8), none, {.batch = 8}); }, ""));
    const std::string before = other.sha256();
    EXPECT_THROW(trainer.step(empty), UsageError);
    EXPECT_EQ(other.sha256(), before);
    EXPECT_EQ(trainer.applied_steps(), 0);
  }
}

TEST(wrong_calls, a_prediction_of_no_rows_has_none) {
  Model model("net", small_network());
  EXPECT_EQ(model.predict(Tensor(DType::f32, {0, 1, 12, 12})).dims(), (Dims{0, 4}));
}

TEST(wrong_calls, inputs_that_do_not_fit_are_named) {
  Model model("net", small_network());
  Trainer trainer(model, softmax_cross_entropy(), sgd(0.1));
  Step step(model, classifying(), sgd(0.1));
  const auto batch = small_batch(0, 8);
  const auto with = [&](Tensor images, Tensor labels) {
    return std::vector<Tensor>{std::move(images), std::move(labels)};
  };
  for (const auto& call : std::vector<std::function<void(const std::vector<Tensor>&)>>{
           [&](const auto& given) { trainer.step(given); },
           [&](const auto& given) { step.step(given); },
           [&](const auto& given) { step.backward(given); },
           [&](const auto& given) { step.forward(given); }}) {
    const std::string inputs = "takes 2 tensors, 'images', 'labels', got ";
    EXPECT_TRUE(ends_by_usage_error([&] { call({}); }, inputs + '0'));
    EXPECT_TRUE(ends_by_usage_error([&] { call({batch[0]}); }, inputs + '1'));
    EXPECT_TRUE(
        ends_by_usage_error([&] { call(with(batch[0], small_batch(0, 7)[1])); },
                            "input 'labels': expected i64[N], where N is 8 by input 'images'"));
    EXPECT_TRUE(ends_by_usage_error([&] { call(with(batch[0], batch[1].cast(DType::f32))); },
                                    "input 'labels': expected i64[N]"));
    EXPECT_TRUE(ends_by_usage_error([&] { call(with(batch[0], Tensor::full(DType::i64, {8}, 4))); },
                                    "label 4"));
    EXPECT_TRUE(ends_by_usage_error([&] { call(with(batch[0], Tensor::full(DType::i8, {8}, -1))); },
                                    "label -1"));
    EXPECT_TRUE(ends_by_usage_error([&] { call(with(Tensor(), Tensor())); }, "input 'images'"));
  }
}

TEST(wrong_calls, labels_that_lie_before_the_classes_hear_how_these_must_lie) {
  const auto build = [](Network& net) {
    const Value x = net.input("x", {net.batch(), 5, 3});
    return net.linear(x, 7);  // [N, T, classes]
  };
  Model model("net", build);
  Trainer trainer(model, softmax_cross_entropy(), sgd(0.1));
  const Tensor batch[] = {Tensor(DType::f32, {2, 5, 3}), Tensor(DType::i64, {2, 5})};
  EXPECT_TRUE(ends_by_usage_error([&] { trainer.step(batch); },
                                  "classes are axis 1 of the scores f32[N,5,7]"));
  const auto source = std::make_shared<TensorSource>(std::vector<Tensor>{batch[0], batch[1]});
  EXPECT_TRUE(ends_by_usage_error([&] { trainer.fit(source, nullptr, {.batch = 2}); },
                                  "op(\"Transpose\", {scores}, \"perm=[0,2,1]\")"));
  // The network is as the message says.
  Model turned("net",
               [&](Network& net) { return net.op("Transpose", {build(net)}, "perm=[0,2,1]"); });
  EXPECT_TRUE(Trainer(turned, softmax_cross_entropy(), sgd(0.1)).step(batch).applied());
}

TEST(wrong_calls, indices_of_an_embedding_count_from_zero) {
  Model model("net", [](Network& net) {
    const Value x = net.input("x", {net.batch(), 2}, DType::i64);
    return net.linear(net.flatten(net.embedding(x, 5, 3)), 4);
  });
  const auto indices = [](std::int64_t index) {
    return Tensor::full(DType::i64, {1, 2}, double(index));
  };
  EXPECT_EQ(outcome_in_own_process([&] { model.predict(indices(4)); }), "returned");
  Trainer trainer(model, softmax_cross_entropy(), sgd(0.1));
  for (const std::int64_t index : {-1, -5, -6, 5}) {
    const std::string text = concat("index ", index, " is outside");
    EXPECT_TRUE(ends_by_usage_error([&] { model.predict(indices(index)); }, text));
    const Tensor batch[] = {indices(index), Tensor(DType::i64, {1})};
    EXPECT_TRUE(ends_by_usage_error([&] { trainer.step(batch); }, text));
  }
  // ONNX's op counts from the end.
  Model onnx("net", [](Network& net) {
    const Value x = net.input("x", {net.batch(), 2}, DType::i64);
    return net.op("Gather", {net.parameter("table", {5, 3}, Initial::normal(0, 1)), x});
  });
  EXPECT_TRUE(onnx.predict(indices(-1)).same_bits(onnx.predict(indices(4))));
}

TEST(wrong_calls, steps_of_one_name_are_refused_while_both_live) {
  Model model("net", small_network());
  std::optional<Step> first(std::in_place, model, classifying(), sgd(0.1));
  EXPECT_TRUE(ends_by_usage_error([&] { Step(model, classifying(), sgd(0.1)); },
                                  "step 'step': step 'step' trains model 'net'"));
  EXPECT_TRUE(ends_by_usage_error(
      [&] { Step(model, classifying(), sgd(0.1), {.name = "step/inner"}); }, "StepOptions::name"));
  const Step moved(std::move(*first));
  EXPECT_THROW(Step(model, classifying(), sgd(0.1)), UsageError);
  Step other(model, classifying(), sgd(0.1), {.name = "other"});
  first.emplace(model, classifying(), sgd(0.1), StepOptions{.name = "third"});
  first.reset();
  EXPECT_NO_THROW(Step(model, classifying(), sgd(0.1), {.name = "third"}));
  EXPECT_NO_THROW(Step(model, classifying(), sgd(0.1), {.name = "third"}));
}

TEST(wrong_calls, generation_asks_for_scores_of_each_token) {
  Model model("net", [](Network& net) {
    const Value x = net.input("tokens", {net.batch(), 6}, DType::i64);
    return net.slice(net.linear(net.embedding(x, 5, 3), 5), 1, 0, 1);  // of the first token alone
  });
  const std::vector<std::int32_t> prompt{1, 2, 3};
  EXPECT_TRUE(ends_by_usage_error([&] { generate_tokens(model, prompt, 4, {}); },
                                  "generate: expected a model of tokens"));
}

}  // namespace
}  // namespace narrowgauge::wrong_calls_test
