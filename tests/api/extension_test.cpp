// SPDX-License-Identifier: Apache-2.0
// What a program can add from outside: an op, a loss, an update rule, a data source, a log sink;
// and two programs in two threads.
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "api/small_training.h"
#include "io/onnx_small_model.h"
#include "narrowgauge/op.h"
#include "narrowgauge/ops.h"

namespace narrowgauge::extension_test {
namespace {

// y = x * factor on f32, written as a program outside the library would: one struct.
struct Scaled {
  static constexpr OpInfo info{.name = "Scaled",
                               .domain = "mine",
                               .inputs = "x:T",
                               .outputs = "y:T",
                               .types = "T:float",
                               .precision = narrowgauge::infer};
  double factor = 1;
  static void attributes(auto& self, auto&& visit) { visit("factor", self.factor); }
  TensorTypes infer(const Inference& in) const { return {in.type(0)}; }
  Values gradient(Gradient& g) const { return {g.add(Scaled{factor}, {g.output_gradient()})}; }
  static std::span<const Kernel> kernels() {
    static constexpr Kernel list[] = {{"mine", offer}};
    return list;
  }
  static Offer offer(const Request& request) {
    if (request.inputs[0].dtype != DType::f32) return Offer::decline("only f32");
    Offer made;
    made.run = [factor = request.as<Scaled>().factor,
                count = element_count(request.inputs[0].dims)](const KernelCall& call) {
      for (std::int64_t i = 0; i < count; ++i)
        call.outputs[0].as<float>()[i] = call.inputs[0].as<float>()[i] * static_cast<float>(factor);
    };
    return made;
  }
};

TEST(extension, an_op_of_the_program_is_trained_through) {
  Model model("mine", [](Network& net) {
    const Value x = net.flatten(net.input("images", {net.batch(), 1, 12, 12}));
    return net.apply(Scaled{0.5}, {net.linear(x, 4)}, "scaled");
  });
  Trainer trainer(model, softmax_cross_entropy(), sgd(0.1));
  const double first = trainer.step(small_batch(0)).loss;
  for (std::uint64_t step = 1; step < 60; ++step) trainer.step(small_batch(step));
  EXPECT_LT(trainer.step(small_batch(60)).loss, 0.7 * first);
}

TEST(extension, an_op_of_the_program_stands_in_files_and_texts) {
  register_op(record_of<Scaled>());
  testing_support::SmallModel file(17);
  file.input("x", "f32[2]").node("Scaled", {"x"}, {"y"}, {{"factor", 3.f}}).output("y");
  file.model.graph.nodes[0].domain = "mine";
  EXPECT_EQ(file.run({testing_support::floats({2}, {1, 2})})[0].at(1), 6);
  const Graph graph = file.graph();
  EXPECT_EQ(print(parse(print(graph))), print(graph));
}

TEST(extension, a_loss_is_a_function) {
  const Loss squared = [](Network& net, Value prediction) {
    const Value labels = net.input("labels", net.shape(prediction));
    const Value difference = net.op("Sub", {prediction, labels});
    return net.op("ReduceMean", {net.op("Mul", {difference, difference})}, "keepdims=0");
  };
  Model model("line", [](Network& net) { return net.linear(net.input("x", {net.batch(), 3}), 1); });
  Trainer trainer(model, squared, adam(0.05));
  const RandomStream random(3, "line");
  double loss = 0;
  for (std::uint64_t step = 0; step < 300; ++step) {
    Tensor x(DType::f32, {16, 3}), y(DType::f32, {16, 1});
    for (std::int64_t i = 0; i < 48; ++i)
      x.set(i, random.normal(step * 48 + static_cast<std::uint64_t>(i)));
    for (std::int64_t i = 0; i < 16; ++i)
      y.set(i, 2 * x.at(3 * i) - x.at(3 * i + 1) + 0.5 * x.at(3 * i + 2) + 1);
    const Tensor batch[] = {x, y};
    loss = trainer.step(batch).loss;
  }
  EXPECT_LT(loss, 1e-2);
}

TEST(extension, an_unknown_op_or_attribute_is_refused_by_name) {
  Network net("n", Mode::train);
  const Value x = net.input("x", {3});
  EXPECT_THROW(net.op("Nothing", {x}), ModelError);
  EXPECT_THROW(net.op("ReduceMean", {x}, "keep=0"), ModelError);
  EXPECT_THROW(net.op("ReduceMean", {x}, "keepdims=0 1"), ModelError);
}

// weight -= learning_rate * sign(v), v = keep * v + gradient: a rule of the program, on f32 alone.
struct SignDescent {
  static constexpr OpInfo info{
      .name = "SignDescent",
      .domain = "mine",
      .inputs = "weight:W~, gradient:G~^, learning_rate:f32, applied:bool, v:W~",
      .outputs = "next_v:W~, next_weight:W~",
      .types = "W:float, G:float",
      .stage = Stage::trained};
  double keep = 0.5;
  static void hyperparameters(auto& self, auto&& visit) { visit("keep", self.keep); }
  static void attributes(auto& self, auto&& visit) { hyperparameters(self, visit); }
  static std::vector<std::string_view> moments() { return {"v"}; }
  void check(std::string_view who) const {
    require(keep >= 0, who, ": expected keep of 0 or more");
  }
  TensorTypes infer(const Inference& in) const { return {in.type(4), in.type(0)}; }
  static std::span<const Kernel> kernels() {
    static constexpr Kernel list[] = {{"mine", offer}};
    return list;
  }
  static Offer offer(const Request& request) {
    Offer made;
    made.run = [keep = static_cast<float>(request.as<SignDescent>().keep),
                count = element_count(request.inputs[0].dims)](const KernelCall& call) {
      const float rate = *call.inputs[2].as<const float>();
      for (std::int64_t i = 0; i < count; ++i) {
        const float v =
            keep * call.inputs[4].as<const float>()[i] + call.inputs[1].as<const float>()[i];
        call.outputs[0].as<float>()[i] = v;
        call.outputs[1].as<float>()[i] =
            call.inputs[0].as<const float>()[i] - rate * static_cast<float>((v > 0) - (v < 0));
      }
    };
    return made;
  }
};

TEST(extension, an_update_rule_of_the_program_trains) {
  Model model("small", small_network());
  Optimizer optimizer{.rule = SignDescent{}, .learning_rate = 1e-2};
  optimizer.rule.set("keep", 0.75);
  EXPECT_THROW(optimizer.rule.set("momentum", 0.9), UsageError);
  EXPECT_THROW(optimizer.rule.set("keep", true), UsageError);
  Trainer trainer(model, softmax_cross_entropy(), optimizer);
  const std::string weight = model.state_names().front();
  const Tensor before = model.state(weight);
  const double first = trainer.step(small_batch(0)).loss;
  const Tensor after = model.state(weight);
  for (std::int64_t i = 0; i < before.size(); ++i)
    EXPECT_NEAR(std::abs(after.at(i) - before.at(i)), 1e-2, 1e-6);
  for (std::uint64_t step = 1; step < 60; ++step) trainer.step(small_batch(step));
  EXPECT_LT(trainer.step(small_batch(60)).loss, 0.7 * first);
  optimizer.rule.set("keep", -1.0);
  EXPECT_THROW(check(optimizer), UsageError);
}

class CountingSource : public DataSource {
 public:
  std::int64_t size() const override { return 100; }
  TensorTypes sample_types() const override {
    return {TensorType::parse("f32[1,12,12]"), TensorType::parse("i64[]")};
  }
  void read(std::span<const std::int64_t> indices, std::span<Tensor> batch) override {
    for (std::size_t k = 0; k < indices.size(); ++k)
      batch[1].values<std::int64_t>()[k] = indices[k] % 4;
  }
};

TEST(extension, a_data_source_of_the_program_feeds_fit) {
  Model model("small", small_network());
  Trainer trainer(model, softmax_cross_entropy(), sgd(0.01));
  const auto source = std::make_shared<CountingSource>();
  const FitResult result = trainer.fit(source, source, {.epochs = 2, .batch = 32});
  EXPECT_EQ(result.steps, 6);           // the last, smaller batch is dropped
  EXPECT_EQ(result.test.samples, 100);  // but not in evaluation
}

TEST(extension, two_programs_run_in_two_threads) {
  const auto train = [](std::string* weights) {
    Model model("small", small_network());
    Optimizer optimizer = sgd(0.05);
    enable_mixed_precision(optimizer);
    Trainer trainer(model, softmax_cross_entropy(), optimizer, {.deterministic = true});
    for (std::uint64_t step = 0; step < 10; ++step) trainer.step(small_batch(step));
    *weights = model.sha256();
  };
  std::string first, second, alone;
  std::thread a(train, &first), b(train, &second);
  a.join();
  b.join();
  train(&alone);
  EXPECT_EQ(first, second);
  EXPECT_EQ(first, alone);
}

TEST(trainer, training_and_evaluation_of_two_batch_sizes_share_their_states) {
  Model model("small", small_network());
  Optimizer optimizer = sgd(0.05);
  enable_mixed_precision(optimizer, DType::bf16);
  Trainer trainer(model, softmax_cross_entropy(), optimizer);
  trainer.step(small_batch(0, 32));
  trainer.step(small_batch(1, 8));
  const double five = trainer.evaluate(small_source(40), 5).loss;
  const double eight = trainer.evaluate(small_source(40), 8).loss;
  EXPECT_NEAR(five, eight, 1e-5);
  trainer.step(small_batch(2, 32));
  EXPECT_NE(trainer.evaluate(small_source(40), 8).loss, eight);
  EXPECT_EQ(model.predict(small_batch(0, 3)[0]).dims(), (Dims{3, 4}));
}

// More sizes than a program keeps compiled: those that were dropped are compiled again.
TEST(trainer, many_batch_sizes_take_turns) {
  Model model("small", small_network());
  Trainer trainer(model, softmax_cross_entropy(), sgd(0.05));
  for (int round = 0; round < 2; ++round)
    for (std::int64_t batch = 4; batch < 10; ++batch) trainer.step(small_batch(0, batch));
  EXPECT_EQ(trainer.applied_steps(), 12);
  const Tensor images = small_batch(0, 9)[0];
  const Tensor all = model.predict(images);
  for (std::int64_t batch = 1; batch < 9; ++batch) {
    const Tensor some = model.predict(small_batch(0, batch)[0]);
    EXPECT_NEAR(some.at(0), all.at(0), 1e-5) << batch;
  }
}

}  // namespace
}  // namespace narrowgauge::extension_test
