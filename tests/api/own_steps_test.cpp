// SPDX-License-Identifier: Apache-2.0
// Rules go by the steps in which a parameter was updated itself, whatever others did meanwhile.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "api/small_training.h"

namespace narrowgauge::own_steps_test {
namespace {

// Two parameters of one kind that do not see each other: what becomes of one says nothing of the
// other.
struct Pair {
  Dims dims;

  Value distance(Network& net, Value x, const char* name) const {
    const Value p = net.parameter(name, dims, Initial::normal(0, 1));
    const Value d = net.op("Sub", {p, x});
    return net.op("ReduceSum", {net.op("Mul", {d, d})}, "keepdims=0");
  }
  Objective objective() const {
    return [*this](Network& net) {
      const Value x = net.input("x", Shape(dims.begin(), dims.end()));
      return net.add(distance(net, x, "a"), distance(net, x, "b"));
    };
  }
  Model model() const { return Model("pair", objective()); }
  // A target for each step in which a parameter is updated.
  Tensor target(int step) const {
    Tensor x(DType::f32, dims);
    const RandomStream random(3, "target", static_cast<std::uint64_t>(step));
    for (std::int64_t i = 0; i < x.size(); ++i)
      x.set(i, random.normal(static_cast<std::size_t>(i)));
    return x;
  }
};

void take(Step& step, const Tensor& x) { ASSERT_TRUE(step.step(std::span(&x, 1)).applied()); }

void take_in_parts(Step& step, const Tensor& x) {
  step.backward(std::span(&x, 1));
  ASSERT_TRUE(step.update().applied());
}

// The parameter after so many steps of its own in a row.
Tensor never_frozen(const Pair& pair, const Optimizer& optimizer, const char* name, int steps) {
  Model model = pair.model();
  Step step(model, pair.objective(), optimizer);
  for (int i = 0; i < steps; ++i) take(step, pair.target(i));
  return model.state(name);
}

TEST(own_steps, a_thawed_parameter_goes_on_as_if_it_had_never_rested_by_every_rule) {
  for (const std::string& rule : optimizer_names())
    for (const Dims& dims : {Dims{4, 3}, Dims{6}}) {
      const Pair pair{dims};
      Optimizer optimizer = parse_optimizer(rule);
      if (rule == "sgd" || rule == "lars") optimizer.rule.set("dampening", 0.5);
      if (rule == "sgd" || rule == "lars") optimizer.rule.set("momentum", 0.9);
      if (rule == "sgd") optimizer.rule.set("nesterov", false);
      for (const auto take_step : {take, take_in_parts}) {
        Model model = pair.model();
        Step step(model, pair.objective(), optimizer);
        for (int i = 0; i < 3; ++i) take_step(step, pair.target(i));
        step.freeze("b");
        for (int i = 0; i < 20; ++i) take_step(step, pair.target(100 + i));
        step.thaw("b");
        for (int i = 3; i < 7; ++i) take_step(step, pair.target(i));
        EXPECT_TRUE(model.state("b").same_bits(never_frozen(pair, optimizer, "b", 7))) << rule;
        EXPECT_EQ(step.applied_steps(), 27) << rule;
      }
    }
}

TEST(own_steps, a_parameter_that_comes_late_begins_as_at_the_first_step) {
  for (const std::string& rule : optimizer_names()) {
    const Pair pair{{4, 3}};
    const Optimizer optimizer = parse_optimizer(rule);
    Model model = pair.model();
    {
      Step first(model, pair.objective(), optimizer, {.parameters = {"a"}});
      for (int i = 0; i < 9; ++i) take(first, pair.target(i));
    }
    Step second(model, pair.objective(), optimizer);
    EXPECT_EQ(second.applied_steps(), 9);
    for (int i = 0; i < 3; ++i) take(second, pair.target(i));
    EXPECT_TRUE(model.state("b").same_bits(never_frozen(pair, optimizer, "b", 3))) << rule;
    second.freeze("a");
    take(second, pair.target(3));
    second.thaw("a");
    take(second, pair.target(4));
    EXPECT_TRUE(model.state("b").same_bits(never_frozen(pair, optimizer, "b", 5))) << rule;
  }
}

TEST(own_steps, of_another_rule_under_the_same_name_begin_at_the_first) {
  const Pair pair{{4, 3}};
  Model model = pair.model(), other = pair.model();
  {
    Step first(model, pair.objective(), sgd(0.01));
    for (int i = 0; i < 30; ++i) take(first, pair.target(i));
  }
  for (const char* const name : {"a", "b"}) other.set_state(name, model.state(name));
  Step second(model, pair.objective(), adam(0.01)), fresh(other, pair.objective(), adam(0.01));
  for (int i = 0; i < 5; ++i) {
    take(second, pair.target(i));
    take(fresh, pair.target(i));
  }
  EXPECT_EQ(model.sha256(), other.sha256());
}

// Kingma and Ba's rule in f64, whose step counts the updates of this parameter.
TEST(own_steps, adam_moves_a_thawed_weight_by_the_rate_alone) {
  const Pair pair{{1}};
  Model model = pair.model();
  Step step(model, pair.objective(), adam(0.01));
  double m = 0, v = 0, weight = model.state("b").at(0);
  int steps = 0;
  const auto expect = [&](const Tensor& x) {
    const double g = 2 * (weight - x.at(0));
    ++steps;
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    weight -= 0.01 * m / (1 - std::pow(0.9, steps)) /
              (std::sqrt(v / (1 - std::pow(0.999, steps))) + 1e-8);
    EXPECT_NEAR(model.state("b").at(0), weight, 1e-5);
  };
  step.freeze("b");
  for (int i = 0; i < 50; ++i) take(step, pair.target(i));
  step.thaw("b");
  for (int i = 0; i < 5; ++i) {
    const Tensor x = pair.target(i);
    take(step, x);
    expect(x);
  }
}

// What thaw_traces.py has written down: the steps in which the weight rests are 4 to 15.
TEST(own_steps, a_weight_that_rests_moves_as_by_the_optimizers_of_pytorch) {
  const char* root = std::getenv("NARROWGAUGE_SOURCE");
  std::ifstream file(std::filesystem::path(root ? root : ".") / "tests/api/thaw_traces.txt");
  int rules = 0;
  for (std::string line; std::getline(file, line); ++rules) {
    std::istringstream words(line);
    std::string rule;
    words >> rule;
    Optimizer optimizer = parse_optimizer(rule);
    optimizer.learning_rate = 0.1;
    if (rule == "sgd") optimizer.rule.set("momentum", 0.9);
    if (rule == "sgd") optimizer.rule.set("dampening", 0.5);
    const Pair pair{{1}};
    Model model = pair.model();
    for (const char* const name : {"a", "b"})
      model.set_state(name, Tensor::full(DType::f32, {1}, 1));
    Step step(model, pair.objective(), optimizer);
    double expected = 0;
    for (int i = 0; words >> expected; ++i) {
      if (i == 4) step.freeze("b");
      if (i == 16) step.thaw("b");
      take(step, Tensor::full(DType::f32, {1}, std::sin(i)));
      EXPECT_NEAR(model.state("b").at(0), expected, 1e-5) << rule << ' ' << i;
    }
  }
  EXPECT_EQ(rules, 7);
}

TEST(own_steps, a_clone_goes_on_with_them) {
  const Pair pair{{4, 3}};
  const Optimizer optimizer = adam(0.01);
  for (const bool rests : {false, true}) {
    Model model = pair.model();
    Step step(model, pair.objective(), optimizer);
    for (int i = 0; i < 2; ++i) take(step, pair.target(i));
    step.freeze("b");
    for (int i = 0; i < 5; ++i) take(step, pair.target(50 + i));
    if (!rests) step.thaw("b");
    Model copy = model.clone();
    Step other = step.clone(copy);
    if (rests) step.thaw("b");
    if (rests) other.thaw("b");
    for (int i = 2; i < 5; ++i) {
      take(step, pair.target(i));
      take(other, pair.target(i));
    }
    EXPECT_EQ(copy.sha256(), model.sha256()) << rests;
    EXPECT_TRUE(copy.state("b").same_bits(never_frozen(pair, optimizer, "b", 5))) << rests;
  }
}

TEST(own_steps, a_skipped_step_is_none) {
  const Pair pair{{4, 3}};
  const Optimizer optimizer = adam(0.01);
  Model model = pair.model();
  Step step(model, pair.objective(), optimizer);
  step.freeze("b");
  take(step, pair.target(50));
  step.thaw("b");
  Tensor bad = pair.target(0);
  bad.set(2, INFINITY);
  EXPECT_FALSE(step.step(std::span(&bad, 1)).applied());
  for (int i = 0; i < 3; ++i) take(step, pair.target(i));
  EXPECT_TRUE(model.state("b").same_bits(never_frozen(pair, optimizer, "b", 3)));
}

void expect_averages_to_go_on_after(int steps_of_one) {
  const Pair pair{{4, 3}};
  Optimizer optimizer = adam(0.1);
  optimizer.ema_decay = 0.9;
  Model model = pair.model();
  std::map<std::string, Tensor> averages;  // as PyTorch's AveragedModel moves them, in f64
  int applied = 0;
  const auto follow = [&] {
    for (const char* const name : {"a", "b"}) {
      const Tensor now = model.state(name).cast(DType::f64);
      if (applied == 0) averages[name] = now.clone();
      Tensor& average = averages[name];
      for (std::int64_t i = 0; i < now.size(); ++i)
        average.set(i, average.at(i) + 0.1 * (now.at(i) - average.at(i)));
    }
    ++applied;
  };
  const auto expect_averages = [&](Step& step) {
    step.swap_averages();
    for (const auto& [name, average] : averages)
      for (std::int64_t i = 0; i < average.size(); ++i)
        EXPECT_NEAR(model.state(name).at(i), average.at(i), 1e-5) << name;
    step.swap_averages();
  };
  {
    Step first(model, pair.objective(), optimizer, {.parameters = {"a"}});
    for (int i = 0; i < steps_of_one; ++i) take(first, pair.target(i)), follow();
  }
  Step step(model, pair.objective(), optimizer);
  for (int i = 0; i < 4; ++i) take(step, pair.target(i)), follow();
  expect_averages(step);
  step.freeze("b");
  for (int i = 0; i < 4; ++i) take(step, pair.target(i)), follow();
  expect_averages(step);
  step.thaw("b");
  for (int i = 0; i < 4; ++i) take(step, pair.target(i)), follow();
  expect_averages(step);
}

TEST(own_steps, averages_go_on_while_a_parameter_rests_and_begin_where_it_is) {
  for (const int steps_of_one : {1, 4}) expect_averages_to_go_on_after(steps_of_one);
}

TEST(own_steps, a_new_trainer_counts_anew_what_another_had_frozen) {
  Optimizer frozen = adam(1e-3);
  frozen.groups.push_back({.pattern = "conv*", .frozen = true});
  Model model("net", small_network()), fresh("net", small_network());
  {
    Trainer first(model, softmax_cross_entropy(), frozen);
    for (std::uint64_t i = 0; i < 5; ++i) first.step(small_batch(i));
  }
  for (const std::string& name : model.state_names()) fresh.set_state(name, model.state(name));
  Trainer thawed(model, softmax_cross_entropy(), adam(1e-3), {.deterministic = true});
  Trainer expected(fresh, softmax_cross_entropy(), adam(1e-3), {.deterministic = true});
  for (std::uint64_t i = 0; i < 3; ++i) {
    thawed.step(small_batch(i));
    expected.step(small_batch(i));
  }
  EXPECT_EQ(model.sha256(), fresh.sha256());
}

}  // namespace
}  // namespace narrowgauge::own_steps_test
