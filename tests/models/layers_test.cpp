// SPDX-License-Identifier: Apache-2.0
// Layers against PyTorch's, with the same parameters under the same names: layers_cases.txt, which
// tests/layers_oracle.py stores. Each is trained for some steps too.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "base/random.h"
#include "narrowgauge/narrowgauge.h"
#include "ops/composition/interpret.h"

namespace narrowgauge::layers_test {
namespace {

using Build = std::function<Value(Network&, const Values& inputs)>;

const std::map<std::string, Build> layers{
    {"lstm", [](Network& net, const Values& x) { return net.lstm(x[0], 4, {}, "layer"); }},
    {"lstm_deep",
     [](Network& net, const Values& x) {
       return net.lstm(x[0], 2, {.layers = 2, .bidirectional = true}, "layer");
     }},
    {"lstm_plain",
     [](Network& net, const Values& x) { return net.lstm(x[0], 3, {.bias = false}, "layer"); }},
    {"gru", [](Network& net, const Values& x) { return net.gru(x[0], 4, {}, "layer"); }},
    {"gru_deep",
     [](Network& net, const Values& x) {
       return net.gru(x[0], 2, {.layers = 2, .bidirectional = true}, "layer");
     }},
    {"conv_transpose",
     [](Network& net, const Values& x) {
       return net.conv_transpose(
           x[0], 6, {.kernel = 3, .stride = 2, .groups = 2, .padding = 1, .output_padding = 1},
           "layer");
     }},
    {"group_norm", [](Network& net, const Values& x) { return net.group_norm(x[0], 2, "layer"); }},
    {"rms_norm", [](Network& net, const Values& x) { return net.rms_norm(x[0], "layer"); }},
    {"cross_attention",
     [](Network& net, const Values& x) {
       return net.cross_attention(x[0], x[1], {.heads = 2}, "layer");
     }},
    {"cross_attention_wide",
     [](Network& net, const Values& x) {
       return net.cross_attention(x[0], x[1], {.heads = 2}, "layer");
     }},
    {"rotary",
     [](Network& net, const Values& x) { return net.rotary_embedding(x[0], {.heads = 2}); }},
    {"rotary_interleaved",
     [](Network& net, const Values& x) {
       return net.rotary_embedding(x[0], {.heads = 2, .interleaved = true});
     }},
};

struct Case {
  std::string title;
  std::map<std::string, Tensor> states;
  std::vector<Tensor> inputs;
  Tensor output;
};

// "name 2x3 values..."
std::pair<std::string, Tensor> read_tensor(const std::string& line) {
  std::istringstream in(line);
  std::string name, text;
  in >> name >> text;
  std::replace(text.begin(), text.end(), 'x', ' ');
  std::istringstream sizes(text);
  Tensor tensor(DType::f32, {std::istream_iterator<std::int64_t>(sizes), {}});
  std::int64_t count = 0;
  for (double value = 0; in >> value; ++count) tensor.set(count, value);
  EXPECT_EQ(count, tensor.size()) << name;
  return {name, tensor};
}

std::vector<Case> stored_cases() {
  const char* const root = std::getenv("NARROWGAUGE_SOURCE");
  std::ifstream in(std::string(root ? root : ".") + "/tests/models/layers_cases.txt");
  std::vector<Case> cases;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("case ")) {
      cases.push_back({line.substr(5), {}, {}, {}});
      continue;
    }
    const auto [name, tensor] = read_tensor(line);
    if (name == "input")
      cases.back().inputs.push_back(tensor);
    else if (name == "output")
      cases.back().output = tensor;
    else
      cases.back().states[name] = tensor;
  }
  return cases;
}

Value built(Network& net, const Case& from) {
  Values inputs;
  for (const Tensor& input : from.inputs) {
    Shape shape = input.type().shape;
    shape[0] = net.batch();
    inputs.push_back(net.input(concat("x", inputs.size()), shape));
  }
  return layers.at(from.title)(net, inputs);
}

TEST(layers, give_what_those_of_pytorch_give) {
  const std::vector<Case> cases = stored_cases();
  EXPECT_EQ(cases.size(), layers.size());
  for (const Case& each : cases) {
    SCOPED_TRACE(each.title);
    Model model(each.title, [&](Network& net) { return built(net, each); });
    std::map<std::string, Dims> expected, found;
    for (const auto& [name, tensor] : each.states) expected[name] = tensor.dims();
    for (const std::string& name : model.state_names()) found[name] = model.state(name).dims();
    ASSERT_EQ(found, expected);
    for (const auto& [name, tensor] : each.states) model.set_state(name, tensor);
    const Tensor y = model.predict(each.inputs);
    ASSERT_EQ(y.dims(), each.output.dims());
    for (std::int64_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y.at(i), each.output.at(i), 2e-6) << i;
  }
}

Tensor random_tensor(const Dims& dims, const std::string& name) {
  Tensor tensor(DType::f32, dims);
  const RandomStream random(5, name);
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    tensor.set(i, random.normal(static_cast<std::uint64_t>(i)));
  return tensor;
}

TEST(layers, learn) {
  for (const Case& each : stored_cases()) {
    SCOPED_TRACE(each.title);
    Model model(each.title, [&](Network& net) { return net.linear(built(net, each), 3); });
    Optimizer optimizer = adam(0.02);
    Trainer trainer(model, mean_squared_error(), optimizer);
    std::vector<Tensor> batch;
    for (const Tensor& input : each.inputs)
      batch.push_back(random_tensor(input.dims(), concat("x", batch.size())));
    Dims labels = each.output.dims();
    labels.back() = 3;
    batch.push_back(random_tensor(labels, "labels"));
    std::map<std::string, Tensor> before;
    for (const std::string& name : model.state_names()) before[name] = model.state(name);
    const double first = trainer.step(batch).loss;
    double last = first;
    for (int step = 0; step < 40; ++step) last = trainer.step(batch).loss;
    EXPECT_LT(last, 0.9 * first);
    for (const auto& [name, tensor] : before)
      EXPECT_FALSE(tensor.same_bits(model.state(name))) << name;
  }
}

TEST(layers, begin_as_those_of_pytorch) {
  Network net("begin", Mode::train);
  const Value x = net.input("x", {2, 5, 8});
  net.lstm(x, 16, {}, "lstm");
  net.cross_attention(x, x, {.heads = 2}, "attention");
  net.conv_transpose(net.input("images", {1, 4, 3, 3}), 6, {.kernel = 3, .groups = 2}, "up");
  const auto begin = [&](const char* name) { return net.graph().find_state(name)->initial; };
  EXPECT_DOUBLE_EQ(begin("lstm.weight_ih_l0").b, 0.25);
  EXPECT_DOUBLE_EQ(begin("lstm.bias_hh_l0").b, 0.25);
  EXPECT_DOUBLE_EQ(begin("attention.in_proj_weight").b, std::sqrt(6. / 32));
  EXPECT_EQ(begin("attention.in_proj_bias").a, 0);
  EXPECT_EQ(begin("attention.in_proj_bias").kind, Initial::Kind::constant);
  EXPECT_EQ(begin("attention.out_proj.bias").kind, Initial::Kind::constant);
  EXPECT_DOUBLE_EQ(begin("attention.out_proj.weight").b, 1 / std::sqrt(8.));
  EXPECT_DOUBLE_EQ(begin("up.weight").b, 1 / std::sqrt(3. * 9));
  EXPECT_DOUBLE_EQ(begin("up.bias").b, 1 / std::sqrt(3. * 9));
}

TEST(layers, stand_in_scopes_residuals_and_sequences) {
  Network net("nested", Mode::train);
  const Value x = net.input("x", {2, 5, 8});
  const Value y = net.scope("block", [&] {
    return net.residual(x, [&](Value in) {
      return net.sequential(
          in, {[&](Value at) { return net.rms_norm(at, "norm"); },
               [&](Value at) { return net.cross_attention(at, at, {.heads = 2}, "self"); }});
    });
  });
  EXPECT_EQ(net.shape(y), net.shape(x));
  for (const char* const name : {"block.norm.weight", "block.self.in_proj_weight",
                                 "block.self.out_proj.weight", "block.self.out_proj.bias"})
    EXPECT_NE(net.graph().find_state(name), nullptr) << name;
  EXPECT_EQ(net.graph().states().size(), 5U);
}

TEST(layers, without_a_name_get_one_of_their_own) {
  Network net("twice", Mode::train);
  const Value x = net.input("x", {2, 5, 8});
  const Value images = net.input("images", {1, 4, 3, 3});
  for (int time = 0; time < 2; ++time) {
    net.lstm(x, 4, {.layers = 2, .dropout = 0.5});
    net.gru(x, 4);
    net.cross_attention(x, x, {.heads = 2, .dropout = 0.5});
    net.conv_transpose(images, 4);
    net.group_norm(images, 2);
    net.rms_norm(x);
    net.rotary_embedding(x);
  }
  for (const char* const name : {"lstm_2.weight_ih_l0", "gru_2.weight_ih_l0",
                                 "crossattention_2.in_proj_weight", "rmsnorm_2.weight"})
    EXPECT_NE(net.graph().find_state(name), nullptr) << name;
}

std::string refusal(const std::function<void(Network&)>& build) {
  Network network("refused", Mode::train);
  try {
    build(network);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(layers, refuse_what_they_cannot_take) {
  const auto expect = [](const char* part, const std::function<void(Network&)>& build) {
    const std::string said = refusal(build);
    EXPECT_NE(said.find(part), std::string::npos) << "said: " << said;
  };
  const Shape sequence{2, 5, 8}, image{2, 4, 3, 3};
  expect("lstm: expected [N,T,features]", [&](Network& n) { n.lstm(n.input("x", image), 4); });
  expect("expected hidden and layers of 1 or more",
         [&](Network& n) { n.gru(n.input("x", sequence), 0); });
  expect("conv_transpose: expected images",
         [&](Network& n) { n.conv_transpose(n.input("x", sequence), 4); });
  expect("conv_transpose: expected groups that divide 6 channels",
         [&](Network& n) { n.conv_transpose(n.input("x", image), 6, {.groups = 4}); });
  expect("num_groups 3 does not divide 4",
         [&](Network& n) { n.group_norm(n.input("x", image), 3); });
  expect("rms_norm: expected a finite epsilon",
         [&](Network& n) { n.rms_norm(n.input("x", image), "", 0); });
  expect("rotary_embedding: expected heads that divide the width 8",
         [&](Network& n) { n.rotary_embedding(n.input("x", sequence), {.heads = 8}); });
  expect("cross_attention: expected query and memory", [&](Network& n) {
    n.cross_attention(n.input("x", sequence), n.input("y", image), {.heads = 2});
  });
  expect("residual: expected a body that gives f32[2,5,8]", [&](Network& n) {
    n.residual(n.input("x", sequence), [&](Value x) { return n.linear(x, 3); });
  });
}

}  // namespace
}  // namespace narrowgauge::layers_test
