// SPDX-License-Identifier: Apache-2.0
// The built-in networks: what they are called, what they take, and how they are built. Parameters
// are named and shaped as in the files that are published for them: torchvision's for resnet18,
// resnet50, vgg19, densenet121 and mobilenet_v2, timm's for vit-small, Hugging Face's for
// bert-base.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "narrowgauge/network.h"

namespace narrowgauge {

// The shape of one image.
struct NG_API ImageShape {
  std::int64_t channels = 1, height = 28, width = 28;  // height and width in pixels
};

// The sizes of one text: its length and its vocabulary.
struct NG_API TextShape {
  std::int64_t sequence = 128, vocabulary = 30522;  // tokens of a text; tokens there are
};

// What is put on an encoder of text: a choice among classes for the whole text, or the span of
// tokens that answers a question.
enum class Head : std::uint8_t { classification, question_answering };

// What a network takes: images, or tokens of a text.
enum class InputKind : std::uint8_t { images, tokens };

// What a network for images gives: scores of classes for an image, or for each of its pixels, or
// the image again.
enum class OutputKind : std::uint8_t { classes, pixels, image };

// How a network is usually trained: as published with it, or found by trial.
struct NG_API TrainingHabits {
  std::string_view optimizer = "sgd";    // as optimizer_names() has it
  std::int64_t epochs = 3, batch = 128;  // passes over the data; samples of a step
  double clip = 0;                       // largest norm of the gradients; 0: no limit
  bool warms_up = true;                  // whether the rate of the first steps grows from 0
  // What suits it where it is trained by sgd().
  struct NG_API Sgd {
    double learning_rate = 0.05, weight_decay = 1e-4;  // as an Optimizer has them
  };
  // What suits it where it is trained by adamw().
  struct NG_API AdamW {
    double learning_rate = 0, weight_decay = 0, beta2 = 0;  // 0: those of adamw()
  };
  Sgd sgd{};      // see Sgd
  AdamW adamw{};  // see AdamW
};

// What is known of a built-in network before it is built.
struct NG_API ModelFacts {
  std::string_view name;                // as model_names() has it
  InputKind input = InputKind::images;  // images or tokens
  ImageShape image{};                   // usual, as published; for tokens without meaning
  TextShape text{};                     // usual; for images without meaning
  std::int64_t classes = 10;            // usual
  std::int64_t least_side = 8;          // of an image
  std::int64_t side_step = 1;           // height and width are multiples of it
  std::int64_t padded_side = 1;  // smaller images of a data set get black around them up to this
  OutputKind output = OutputKind::classes;  // for an image
  TrainingHabits habits{};                  // how it is usually trained
};

NG_API std::vector<std::string> model_names();  // "mlp", "lenet", "resnet20", ...
// Throws ModelError for a name that is not in model_names().
NG_API const ModelFacts& model_facts(std::string_view name);

// A network for images: input "images" f32 [N, channels, height, width], logits [N, classes], or of
// pixels [N, classes, height, width], or the image again, whatever the classes.
// Throws ModelError for an unknown name and for images that are too small for the network or of a
// size that it cannot take, UsageError for a network that takes no images.
NG_API BuildNetwork find_model(std::string_view name, ImageShape image, std::int64_t classes);

// BERT (Devlin et al. 2019): inputs "input_ids", "token_type_ids" and "attention_mask" (1 where
// there is a token, 0 in the padding), each i64 [N, sequence]. Logits are [N, classes], or for
// question answering [N, sequence, 2]: scores of being the answer's first and its last token.
struct NG_API BertSize {
  std::int64_t layers = 12, width = 768, heads = 12, inner = 3072;  // inner: of the feed-forward
  std::int64_t positions = 512, token_types = 2;  // the longest text; kinds of a token
  double dropout = 0.1;                           // of embeddings, attention and feed-forward
};
// Throws UsageError for a sequence longer than the positions, a width that the heads do not divide,
// and fewer than one of anything. `classes` is used for classification only.
NG_API BuildNetwork bert(const BertSize& size, TextShape text, Head head, std::int64_t classes = 2);
// BERT in the size that is published as bert-base.
NG_API BuildNetwork bert_base(TextShape text, Head head, std::int64_t classes = 2);

// Vision Transformer (Dosovitskiy et al. 2021); the class token's features give the logits.
struct NG_API VitSize {
  std::int64_t layers = 12, width = 384, heads = 6, inner = 1536;  // inner: of the feed-forward
  std::int64_t patch = 16;                                         // pixels on a side
};
// Throws ModelError for images that are not cut into whole patches.
NG_API BuildNetwork vit(const VitSize& size, ImageShape image, std::int64_t classes);

}  // namespace narrowgauge
