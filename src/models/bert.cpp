// SPDX-License-Identifier: Apache-2.0
// Devlin, Chang, Lee, Toutanova 2019.
#include "models/table.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/pointwise/cast.h"

namespace narrowgauge {

namespace {

constexpr double bert_epsilon = 1e-12;
// Added to the scores of padding: its share is then 0 in f32, yet the sum stays finite in f16.
constexpr double far_below = -1e4;

struct Text {
  Value ids, types, mask;  // i64 [N, sequence]
};

Text text_inputs(Network& net, const TextShape& text) {
  const Shape shape{net.batch(), text.sequence};
  const Value ids = net.input("input_ids", shape, DType::i64);
  const Value types = net.input("token_type_ids", shape, DType::i64);
  return {ids, types, net.input("attention_mask", shape, DType::i64)};
}

// The mask [N, 1, 1, sequence] for the scores: 0 for tokens, far below for padding.
Value score_mask(Network& net, Value mask) {
  const Shape shape = net.shape(mask);
  const Value one = net.graph().constant(Tensor::scalar(DType::f32, 1));
  const Value depth = net.graph().constant(Tensor::scalar(DType::f32, far_below));
  Value x = net.apply(Cast{DType::f32}, {mask}, "mask.number");
  x = net.apply(Mul{}, {net.apply(Sub{}, {one, x}, "mask.padding"), depth}, "mask.scores");
  return net.reshape(x, {shape[0], 1, 1, shape[1]}, "mask");
}

Value embeddings(Network& net, const Text& text, const BertSize& size, TextShape shape) {
  Value x = net.embedding(text.ids, shape.vocabulary, size.width, "word_embeddings");
  const Value places =
      net.parameter("bert.embeddings.position_embeddings.weight", {size.positions, size.width},
                    Initial::truncated_normal(0, 0.02));
  x = net.add(x, net.embedding(text.types, size.token_types, size.width, "token_type_embeddings"));
  x = net.add(x, net.slice(places, 0, 0, shape.sequence, "position_embeddings"));
  return net.dropout(net.layer_norm(x, "LayerNorm", bert_epsilon), size.dropout);
}

// Adds the layer's output to its input and normalizes.
Value joined(Network& net, Value x, Value onto, const BertSize& size) {
  x = net.dropout(net.linear(x, size.width, "dense"), size.dropout);
  return net.layer_norm(net.add(x, onto), "LayerNorm", bert_epsilon);
}

Value layer(Network& net, Value x, Value mask, const BertSize& size) {
  const Value mixed = net.scope("attention.self", [&] {
    const Value query = net.linear(x, size.width, "query");
    const Value key = net.linear(x, size.width, "key");
    const Value value = net.linear(x, size.width, "value");
    return net.attention(query, key, value,
                         {.heads = size.heads, .dropout = size.dropout, .mask = mask});
  });
  x = net.scope("attention.output", [&] { return joined(net, mixed, x, size); });
  const Value inner = net.gelu(net.linear(x, size.inner, "intermediate.dense"));
  return net.scope("output", [&] { return joined(net, inner, x, size); });
}

Value encoder(Network& net, const BertSize& size, TextShape shape) {
  const Text text = text_inputs(net, shape);
  const Value mask = score_mask(net, text.mask);
  Value x = net.scope("embeddings", [&] { return embeddings(net, text, size, shape); });
  for (std::int64_t i = 0; i < size.layers; ++i)
    x = net.scope(concat("encoder.layer.", i), [&] { return layer(net, x, mask, size); });
  return x;
}

// The first token stands for the whole text.
Value pooled(Network& net, Value x, const BertSize& size) {
  x = net.reshape(net.slice(x, 1, 0, 1, "pooler.first"), {net.batch(), size.width}, "pooler.token");
  return net.tanh(net.linear(x, size.width, "pooler.dense"));
}

void check_bert(const BertSize& size, TextShape text, std::int64_t classes) {
  for (const std::int64_t count : {size.layers, size.width, size.heads, size.inner,
                                   size.token_types, text.vocabulary, classes})
    require(count >= 1, "bert: expected at least one of everything, got ", count);
  require(size.width % size.heads == 0, "bert: ", size.heads, " heads do not divide a width of ",
          size.width);
  require(text.sequence >= 1 && text.sequence <= size.positions,
          "bert: expected a sequence of 1 to ", size.positions, " tokens, got ", text.sequence);
}

}  // namespace

// Weights begin as in google-research/bert, modeling.py: truncated normal of deviation 0.02, bias
// 0.
BuildNetwork bert(const BertSize& size, TextShape text, Head head, std::int64_t classes) {
  check_bert(size, text, classes);
  return [=](Network& net) {
    const Initial small = Initial::truncated_normal(0, 0.02);
    net.set_initials(
        {.linear_weight = small, .linear_bias = Initial::constant(0), .embedding = small});
    Value x = net.scope("bert", [&] {
      const Value encoded = encoder(net, size, text);
      return head == Head::classification ? pooled(net, encoded, size) : encoded;
    });
    if (head == Head::question_answering) return net.linear(x, 2, "qa_outputs");
    return net.linear(net.dropout(x, size.dropout), classes, "classifier");
  };
}

BuildNetwork bert_base(TextShape text, Head head, std::int64_t classes) {
  return bert({}, text, head, classes);
}

}  // namespace narrowgauge

NG_MODEL(bert_base, 12, {.name = "bert-base", .input = InputKind::tokens, .classes = 2})
