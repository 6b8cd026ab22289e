// SPDX-License-Identifier: Apache-2.0
// Ops of a program in mixed precision, and what is said of those that are written wrongly.
#include <gtest/gtest.h>

#include <stdexcept>

#include "narrowgauge/narrowgauge.h"

namespace narrowgauge::own_ops_test {
namespace {

// y = 2x, with kernels for f32 alone. Each test spoils one thing.
struct Doubled {
  static constexpr OpInfo info{.name = "Doubled",
                               .domain = "own",
                               .inputs = "x:T",
                               .outputs = "y:T",
                               .types = "T:float",
                               .precision = narrowgauge::infer};
  enum class Fault : std::uint8_t {
    none,
    no_run,
    alias_of_no_input,
    one_value_too_many,
    another_shape,
    another_graph,
    throws
  };
  static inline Fault fault = Fault::none;

  static void attributes(auto&, auto&&) {}
  TensorTypes infer(const Inference& in) const { return {in.type(0)}; }
  Values gradient(Gradient& g) const {
    const Value good = g.add(Doubled{}, {g.output_gradient()});
    if (fault == Fault::one_value_too_many) return {good, good, good};
    if (fault == Fault::another_shape) return {g.scalar(1, DType::f32)};
    if (fault == Fault::another_graph)
      return {Graph("other").input("x", g.graph().type(g.input(0)))};
    if (fault == Fault::throws) throw std::runtime_error("no such table");
    return {good};
  }
  static std::span<const Kernel> kernels() {
    static constexpr Kernel list[] = {{"own:f32", offer}};
    return list;
  }
  static Offer offer(const Request& request) {
    if (request.input(0).dtype != DType::f32) return Offer::decline("only f32");
    Offer made;
    if (fault == Fault::alias_of_no_input) made.aliases = {{1, 0}};
    if (fault == Fault::no_run || !made.aliases.empty()) return made;
    made.run = [count = element_count(request.input(0).dims)](const KernelCall& call) {
      for (std::int64_t i = 0; i < count; ++i)
        call.output(0).as<float>()[i] = 2 * call.input(0).as<const float>()[i];
    };
    return made;
  }
};

// The first half of x, said to lie where x does.
struct Half {
  static constexpr OpInfo info{
      .name = "Half", .domain = "own", .inputs = "x:T", .outputs = "y:T", .types = "T:float"};
  static void attributes(auto&, auto&&) {}
  TensorTypes infer(const Inference& in) const { return {{in.dtype(0), {in.shape(0)[0], 2}}}; }
  static std::span<const Kernel> kernels() {
    static constexpr Kernel list[] = {{"own:half", offer}};
    return list;
  }
  static Offer offer(const Request&) {
    Offer made;
    made.aliases = {{0, 0}};
    return made;
  }
};

// y = factor x + shift, with attributes of several kinds.
struct Affine {
  static constexpr OpInfo info{.name = "Affine",
                               .domain = "own.ops",
                               .inputs = "x:T",
                               .outputs = "y:T",
                               .types = "T:float",
                               .precision = narrowgauge::infer};
  double factor = 1;
  Tensor shift{DType::f32, {2, 2}};
  Dims places{1};
  std::string activations = "a,b";
  bool on = true;
  static void attributes(auto& self, auto&& visit) {
    visit("factor", self.factor);
    visit("shift", self.shift);
    visit("places", self.places);
    visit("activations", self.activations);
    visit("on", self.on);
  }
  TensorTypes infer(const Inference& in) const {
    require(shift.dims() == Dims({2, 2}) && places == Dims({3, 4}) && activations == "a,b" && !on,
            "Affine: the attributes are others");
    return {in.type(0)};
  }
  static std::span<const Kernel> kernels() {
    static constexpr Kernel list[] = {{"own:f32", offer}};
    return list;
  }
  static Offer offer(const Request& request) {
    if (request.input(0).dtype != DType::f32) return Offer::decline("only f32");
    Offer made;
    made.run = [op = request.as<Affine>(),
                count = element_count(request.input(0).dims)](const KernelCall& call) {
      for (std::int64_t i = 0; i < count; ++i)
        call.output(0).as<float>()[i] =
            static_cast<float>(op.factor) * call.input(0).as<const float>()[i] +
            static_cast<float>(op.shift.at(i % 4));
    };
    return made;
  }
};

// y = x^2 + x, said by built-in ops alone.
struct Composed {
  static constexpr OpInfo info{.name = "Composed",
                               .domain = "own.ops",
                               .inputs = "x:T",
                               .outputs = "y:T",
                               .types = "T:float",
                               .precision = narrowgauge::infer};
  static void attributes(auto&, auto&&) {}
  TensorTypes infer(const Inference& in) const { return {in.type(0)}; }
  Values decompose(Rewriting& r) const {
    const OpTable& ops = op_table();
    const OpRecord &mul = *ops.find("Mul"), &add = *ops.find("Add");
    const Value x = r.input(0);
    const Value square = r.graph().add(mul, mul.make_default(), {x, x});
    return {r.graph().add(add, add.make_default(), {square, x})};
  }
  static std::span<const Kernel> kernels() { return {}; }
};

Value network(Network& net) {
  const Value x = net.input("x", {net.batch(), 4});
  const Value wide = net.apply(Doubled{}, {net.linear(x, 8, "first")}, "doubled");
  return net.linear(net.relu(wide), 3, "last");
}

std::vector<Tensor> batch() {
  std::vector<Tensor> made{Tensor(DType::f32, {6, 4}), Tensor(DType::i64, {6})};
  for (std::int64_t i = 0; i < 24; ++i) made[0].set(i, static_cast<double>(i % 7) / 4 - 0.7);
  for (std::int64_t i = 0; i < 6; ++i) made[1].set(i, static_cast<double>(i % 3));
  return made;
}

std::string said_by(const std::function<void()>& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "nothing";
}

class OwnOps : public testing::Test {
 protected:
  void TearDown() override { Doubled::fault = Doubled::Fault::none; }
  static std::string said_in_training(Doubled::Fault fault) {
    Doubled::fault = fault;
    return said_by([] {
      Model model("own", network);
      Trainer(model, softmax_cross_entropy(), sgd(0.1)).step(batch());
    });
  }
};

TEST_F(OwnOps, that_compute_in_f32_alone_train_and_predict_in_mixed_precision) {
  for (const DType narrow : {DType::f16, DType::bf16}) {
    Model model("own", network);
    Optimizer optimizer = adam(0.05);
    enable_mixed_precision(optimizer, narrow);
    Trainer trainer(model, softmax_cross_entropy(), optimizer);
    const std::vector<Tensor> samples = batch();
    const double first = trainer.step(samples).loss;
    for (int i = 0; i < 60; ++i) trainer.step(samples);
    EXPECT_LT(trainer.step(samples).loss, 0.7 * first) << name(narrow);
    const auto source = std::make_shared<TensorSource>(samples);
    EXPECT_LT(trainer.evaluate(source, 3).loss, first) << name(narrow);
    const NodeExplanation why = explain(trainer).node("doubled");
    EXPECT_EQ(why.entry.dtype, DType::f32);
    EXPECT_EQ(why.reason, "its op does not take the narrow format (own:f32: only f32)");
    EXPECT_EQ(explain(trainer).node("last").entry.dtype, narrow);
    Model alone("own", network);
    alone.set_precision({.narrow = narrow});
    EXPECT_EQ(alone.predict(samples[0]).dims(), (Dims{6, 3}));
    EXPECT_EQ(explain(alone).node("doubled").entry.dtype, DType::f32);
    EXPECT_NE(said_by([&] {
                alone.set_precision({.narrow = narrow, .overrides = {concat("doubled=", narrow)}});
                alone.predict(samples[0]);
              }).find("does not take"),
              std::string::npos);
  }
}

TEST_F(OwnOps, whose_offer_computes_nothing_are_refused_by_name) {
  EXPECT_EQ(said_in_training(Doubled::Fault::no_run),
            "node 'doubled': kernel 'own:f32' of own.Doubled made a wrong offer: it has no run "
            "function");
  EXPECT_EQ(said_in_training(Doubled::Fault::alias_of_no_input),
            "node 'doubled': kernel 'own:f32' of own.Doubled made a wrong offer: its aliases name "
            "input 1 and output 0, of 1 and 1");
}

TEST_F(OwnOps, whose_alias_has_another_size_are_refused_by_name) {
  Model model("own", [](Network& net) {
    return net.apply(Half{}, {net.input("x", {net.batch(), 4})}, "half");
  });
  EXPECT_EQ(
      said_by([&] { model.predict(batch()[0]); }),
      "node 'half': kernel 'own:half' of own.Half made a wrong offer: output 0 of 48 bytes is "
      "to be input 0, which has 96");
}

TEST_F(OwnOps, whose_gradient_is_wrong_are_refused_by_name) {
  using enum Doubled::Fault;
  EXPECT_EQ(said_in_training(one_value_too_many),
            "node 'doubled': gradient() of own.Doubled gives 3 values for 1 inputs");
  EXPECT_EQ(said_in_training(another_shape),
            "node 'doubled': gradient() of own.Doubled gives f32[] for input 0, which is f32[N,8]");
  EXPECT_TRUE(said_in_training(another_graph)
                  .starts_with("node 'doubled': gradient() of own.Doubled gives for input 0: a "
                               "value of another graph than 'own'"))
      << said_in_training(another_graph);
  EXPECT_EQ(said_in_training(throws),
            "node 'doubled': gradient() of own.Doubled failed: no such table");
}

Value affine_network(Network& net) {
  const Value x = net.linear(net.input("x", {net.batch(), 4}), 4, "first");
  const Affine op{
      1.5, Tensor::from<float>({2, 2}, std::vector<float>{1, 2, 3, 4}), {3, 4}, "a,b", false};
  return net.linear(net.apply(op, {x}, "affine"), 3, "last");
}

TEST_F(OwnOps, are_written_to_files_in_their_domain_and_read_where_they_are_registered) {
  const std::string path = testing::TempDir() + "own_ops.onnx";
  Model model("own", affine_network);
  model.to_onnx(path);
  EXPECT_EQ(onnx_info(path).opsets.at("own.ops"), 1);
  EXPECT_NE(said_by([&] { Model::from_onnx(path); }).find("unknown op 'own.ops.Affine'"),
            std::string::npos);
  register_op(record_of<Affine>());
  Model again = Model::from_onnx(path);
  const Tensor x = batch()[0];
  EXPECT_TRUE(again.predict(x).same_bits(model.predict(x)));
  EXPECT_GE(again.graph(Mode::evaluate).find_node("affine"), 0);
  model.set_precision({.narrow = DType::bf16});
  model.to_onnx(path);
  EXPECT_TRUE(Model::from_onnx(path).predict(x).same_bits(model.predict(x)));
}

TEST_F(OwnOps, that_decompose_need_no_kernel_and_are_written_by_built_in_ops) {
  const std::string path = testing::TempDir() + "composed.onnx";
  Model model("own", [](Network& net) {
    const Value x = net.linear(net.input("x", {net.batch(), 4}), 4, "first");
    return net.linear(net.apply(Composed{}, {x}, "composed"), 3, "last");
  });
  const Tensor x = batch()[0];
  const Tensor y = model.predict(x);
  model.to_onnx(path);
  EXPECT_TRUE(Model::from_onnx(path).predict(x).same_bits(y));
  Trainer trainer(model, softmax_cross_entropy(), adam(0.05));
  const double first = trainer.step(batch()).loss;
  for (int i = 0; i < 60; ++i) trainer.step(batch());
  EXPECT_LT(trainer.step(batch()).loss, 0.7 * first);
}

}  // namespace
}  // namespace narrowgauge::own_ops_test
