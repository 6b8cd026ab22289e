// SPDX-License-Identifier: Apache-2.0
// The built-in networks: sizes as published, names of parameters, what they refuse, and that they
// train. tests/models_oracle.py compares what they compute.
#include "narrowgauge/models.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "api/training/training_setup.h"
#include "base/random.h"
#include "narrowgauge/explain.h"
#include "narrowgauge/language_models.h"
#include "narrowgauge/model.h"
#include "narrowgauge/model_info.h"
#include "precision/colouring/policy.h"
#include "train/training_graph.h"

namespace narrowgauge::models_test {
namespace {

constexpr BertSize small_bert{
    .layers = 2, .width = 32, .heads = 4, .inner = 64, .positions = 16, .token_types = 2};
constexpr TextShape small_text{.sequence = 8, .vocabulary = 50};

Graph forward(const std::string& name, const BuildNetwork& build, const Loss& loss = {},
              Mode mode = Mode::train) {
  Network network(name, mode);
  const Value prediction = build(network);
  network.graph().output("prediction", prediction);
  if (loss) network.graph().output("loss", loss(network, prediction));
  verify(network.graph(), Stage::built);
  return std::move(network.graph());
}

BuildNetwork published(const std::string& name) {
  const ModelFacts& facts = model_facts(name);
  if (is_language_model(name)) return find_language_model(name, facts.text);
  if (facts.input == InputKind::tokens) return bert_base(facts.text, Head::classification);
  return find_model(name, facts.image, facts.classes);
}

TEST(models, have_the_published_numbers_of_parameters) {
  const std::pair<const char*, std::int64_t> expected[] = {
      {"resnet18", 11'689'512},
      {"resnet50", 25'557'032},
      {"vgg19", 143'667'240},
      {"densenet121", 7'978'856},
      {"mobilenet_v2", 3'504'872},
      {"vit-small", 22'050'664},
      {"bert-base", 109'482'240 + 2 * 768 + 2}};
  for (const auto& [name, count] : expected)
    EXPECT_EQ(model_info(forward(name, published(name))).parameters, count) << name;
  // Without the pooler, 768 * 768 + 768, and with two scores a token.
  const Graph spans = forward("bert-base", bert_base({}, Head::question_answering));
  EXPECT_EQ(model_info(spans).parameters, 109'482'240 - 590'592 + 2 * 768 + 2);
}

// 1e9 multiply-adds for one image of 224x224: torchvision's table of weights, timm's for vit-small.
TEST(models, have_the_published_multiply_adds) {
  const std::pair<const char*, double> expected[] = {
      {"resnet18", 1.814},    {"resnet50", 4.089},     {"vgg19", 19.632},
      {"densenet121", 2.834}, {"mobilenet_v2", 0.301}, {"vit-small", 4.61}};
  for (const auto& [name, count] : expected)
    EXPECT_NEAR(model_info(forward(name, published(name), {}, Mode::evaluate)).macs * 1e-9, count,
                0.005 * count)
        << name;
}

struct Named {
  const char *model, *state, *type;
};

TEST(models, name_and_shape_parameters_as_published_files_do) {
  const Named expected[] = {
      {"resnet18", "layer2.0.downsample.1.running_mean", "f32[128]"},
      {"resnet50", "layer4.0.conv2.weight", "f32[512,512,3,3]"},
      {"resnet50", "fc.weight", "f32[1000,2048]"},
      {"vgg19", "features.34.weight", "f32[512,512,3,3]"},
      {"vgg19", "classifier.6.bias", "f32[1000]"},
      {"densenet121", "features.denseblock4.denselayer16.conv1.weight", "f32[128,992,1,1]"},
      {"densenet121", "features.transition3.conv.weight", "f32[512,1024,1,1]"},
      {"mobilenet_v2", "features.1.conv.0.0.weight", "f32[32,1,3,3]"},
      {"mobilenet_v2", "features.18.0.weight", "f32[1280,320,1,1]"},
      {"vit-small", "pos_embed", "f32[1,197,384]"},
      {"vit-small", "blocks.11.attn.qkv.weight", "f32[1152,384]"},
      {"bert-base", "bert.embeddings.word_embeddings.weight", "f32[30522,768]"},
      {"bert-base", "bert.embeddings.position_embeddings.weight", "f32[512,768]"},
      {"bert-base", "bert.encoder.layer.11.attention.self.query.weight", "f32[768,768]"},
      {"bert-base", "bert.encoder.layer.0.attention.output.LayerNorm.bias", "f32[768]"},
      {"bert-base", "bert.encoder.layer.3.intermediate.dense.weight", "f32[3072,768]"},
      {"bert-base", "bert.pooler.dense.weight", "f32[768,768]"},
      {"bert-base", "classifier.weight", "f32[2,768]"}};
  for (const Named& each : expected) {
    const Graph graph = forward(each.model, published(each.model));
    const State* state = graph.find_state(each.state);
    ASSERT_TRUE(state) << each.model << ' ' << each.state;
    EXPECT_EQ(state->type, TensorType::parse(each.type)) << each.model << ' ' << each.state;
  }
}

std::string refusal(const std::function<void()>& ask) {
  try {
    ask();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(models, say_which_images_they_take) {
  const auto asked = [](const char* name, std::int64_t side) {
    return refusal([&] { find_model(name, {3, side, side}, 10); });
  };
  EXPECT_NE(asked("vgg19", 31).find("32x32 is the least"), std::string::npos);
  EXPECT_NE(asked("densenet121", 28).find("29x29 is the least"), std::string::npos);
  EXPECT_NE(asked("vit-small", 40).find("multiples of 16"), std::string::npos);
  EXPECT_NE(asked("resnet5", 32).find("expected one of mlp"), std::string::npos);
  EXPECT_THROW(find_model("bert-base", {}, 2), UsageError);
  for (const std::string& name : model_names()) {
    const ModelFacts& facts = model_facts(name);
    if (facts.input != InputKind::images) continue;
    const std::int64_t side = facts.least_side;
    const Graph graph = forward(name, find_model(name, {1, side, side}, 5));
    Shape scores{Dim::symbol("N"), 5};
    if (facts.output == OutputKind::pixels) scores.insert(scores.end(), {side, side});
    if (facts.output == OutputKind::image) scores = {Dim::symbol("N"), 1, side, side};
    EXPECT_EQ(graph.type(graph.find_output("prediction")), (TensorType{DType::f32, scores}))
        << name;
  }
}

TEST(models, bert_says_which_texts_it_takes) {
  EXPECT_NE(refusal([] { bert_base({.sequence = 513}, Head::classification); }).find("1 to 512"),
            std::string::npos);
  EXPECT_NE(refusal([] { bert({.width = 100}, {}, Head::classification); }).find("do not divide"),
            std::string::npos);
}

Tensor random_images(std::int64_t side) {
  Tensor images(DType::f32, {2, 3, side, side});
  const RandomStream pixels(3, "images");
  std::uint64_t element = 0;
  for (float& pixel : images.values<float>()) pixel = pixels.normal(element++);
  return images;
}

Tensor numbers(Dims dims, std::int64_t below) {
  Tensor tensor(DType::i64, std::move(dims));
  std::int64_t place = 0;
  for (std::int64_t& number : tensor.values<std::int64_t>()) number = 7 * place++ % below;
  return tensor;
}

// The lengths of the two texts are 8 and 5.
std::vector<Tensor> random_texts() {
  Tensor mask(DType::i64, {2, 8});
  for (std::int64_t i = 0; i < 13; ++i)
    mask.values<std::int64_t>()[static_cast<std::size_t>(i)] = 1;
  return {numbers({2, 8}, 50), numbers({2, 8}, 2), mask};
}

void expect_trains(const std::string& name, const BuildNetwork& build, const Loss& loss,
                   const std::vector<Tensor>& batch) {
  for (const bool narrow : {false, true}) {
    Model model(name, build);
    Optimizer optimizer = sgd(0.01);
    if (narrow) enable_mixed_precision(optimizer, DType::bf16);
    Trainer trainer(model, loss, optimizer);
    for (int step = 0; step < 2; ++step) {
      const StepResult result = trainer.step(batch);
      EXPECT_TRUE(result.applied()) << name;
      EXPECT_TRUE(std::isfinite(result.loss)) << name;
      EXPECT_GT(result.norm, 0) << name;
    }
  }
}

class ImageModels : public testing::TestWithParam<const char*> {};

TEST_P(ImageModels, train_in_f32_and_bf16) {
  const std::string name = GetParam();
  // At 32x32 mobilenet_v2 normalizes over the two images alone: its gradients go beyond f32, as
  // PyTorch's do.
  const std::int64_t side = name == "mobilenet_v2" ? 64 : 32;
  expect_trains(name, find_model(name, {3, side, side}, 10), softmax_cross_entropy(),
                {random_images(side), numbers({2}, 10)});
}

INSTANTIATE_TEST_SUITE_P(models, ImageModels,
                         testing::Values("resnet18", "resnet50", "densenet121", "mobilenet_v2",
                                         "vit-small"),
                         [](const auto& each) {
                           std::string name = each.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(models, bert_trains_in_f32_and_bf16_with_either_head) {
  std::vector<Tensor> batch = random_texts();
  batch.push_back(numbers({2}, 3));
  expect_trains("bert", bert(small_bert, small_text, Head::classification, 3),
                softmax_cross_entropy(), batch);
  batch.back() = numbers({2, 2}, 8);
  expect_trains("bert", bert(small_bert, small_text, Head::question_answering),
                span_cross_entropy(), batch);
}

TEST(models, bert_does_not_see_padding) {
  for (const bool narrow : {false, true}) {
    Model model("bert", bert(small_bert, small_text, Head::classification, 3));
    if (narrow) model.set_precision(PrecisionRequest{.narrow = DType::f16});
    std::vector<Tensor> texts = random_texts();
    const Tensor before = model.predict(texts);
    texts[0].values<std::int64_t>()[14] = 49;  // in the padding of the second
    const Tensor same = model.predict(texts);
    texts[0].values<std::int64_t>()[12] = 49;  // its last token
    const Tensor other = model.predict(texts);
    for (std::int64_t i = 0; i < 3; ++i) {
      EXPECT_EQ(before.at(3 + i), same.at(3 + i));
      EXPECT_NE(before.at(3 + i), other.at(3 + i));
      EXPECT_EQ(before.at(i), other.at(i));
    }
  }
}

TEST(models, every_node_has_a_reason_for_its_format) {
  for (const std::string& name : model_names())
    for (const DType narrow : {DType::f16, DType::bf16}) {
      Optimizer optimizer = sgd(0.1);
      enable_mixed_precision(optimizer, narrow);
      const Graph network =
          forward(name, published(name),
                  is_language_model(name) ? next_token_cross_entropy() : softmax_cross_entropy());
      settle_loss_scale(optimizer, network);
      const Graph graph = make_training_graph(network, optimizer);
      const PrecisionPlan plan = make_precision_plan(graph, optimizer.precision);
      const Explanation explanation = explain(graph, plan, {{"N", 2}});
      EXPECT_EQ(explanation.summary.unlisted, 0) << name;
      int narrow_nodes = 0;
      for (const NodeExplanation& node : explanation.nodes) {
        EXPECT_NE(node.reason, "") << name << ' ' << node.entry.name;
        EXPECT_GE(node.chain.size(), 1u) << name << ' ' << node.entry.name;
        narrow_nodes += node.entry.dtype == narrow;
      }
      EXPECT_GT(narrow_nodes, 5) << name;
    }
}

}  // namespace
}  // namespace narrowgauge::models_test
