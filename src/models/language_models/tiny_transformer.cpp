// SPDX-License-Identifier: Apache-2.0
// Radford et al., "Language Models are Unsupervised Multitask Learners", 2019.
#include <cmath>

#include "models/table.h"
#include "narrowgauge/language_models.h"
#include "ops/index/gather.h"
#include "ops/math/matmul.h"
#include "ops/shape/concat.h"

namespace narrowgauge {

namespace {

constexpr double deviation = 0.02;  // of weights as they begin

class Decoder {
 public:
  Decoder(Network& net, const TransformerSize& size, TextShape text)
      : net_(net), size_(size), text_(text) {
    const Initial small = Initial::normal(0, deviation);
    net_.set_initials(
        {.linear_weight = small, .linear_bias = Initial::constant(0), .embedding = small});
  }

  Value logits() {
    const Value tokens = net_.input("tokens", {net_.batch(), text_.sequence}, DType::i64);
    const Value table = net_.parameter("transformer.wte.weight", {text_.vocabulary, size_.width},
                                       Initial::normal(0, deviation));
    Value x = net_.apply(Gather{.counts_from_end = false}, {table, tokens}, "transformer.wte");
    if (!size_.rotary) x = net_.add(x, positions());
    x = net_.dropout(x, size_.dropout);
    for (std::int64_t i = 0; i < size_.layers; ++i)
      x = net_.scope(concat("transformer.h.", i), [&] { return layer(x, i); });
    x = net_.layer_norm(x, "transformer.ln_f");
    const Value head = size_.tied
                           ? table
                           : net_.parameter("lm_head.weight", {text_.vocabulary, size_.width},
                                            Initial::normal(0, deviation));
    return net_.apply(FusedMatMul{false, true}, {x, head}, "lm_head");
  }

 private:
  Value positions() {
    return net_.parameter("transformer.wpe.weight", {text_.sequence, size_.width},
                          Initial::normal(0, deviation));
  }

  Value layer(Value x, std::int64_t index) {
    x = net_.add(x, attention(net_.layer_norm(x, "ln_1"), concat("transformer.h.", index)));
    Value y = net_.linear(net_.layer_norm(x, "ln_2"), size_.inner, "mlp.c_fc");
    return net_.add(x, projected(net_.gelu(y), "mlp.c_proj"));
  }

  // The last product before a sum, whose weights begin smaller the more such sums there are.
  Value projected(Value x, const char* name) {
    const Initial usual = Initial::normal(0, deviation);
    const double sums = 2 * static_cast<double>(size_.layers);
    set_linear(Initial::normal(0, deviation / std::sqrt(sums)));
    const Value y = net_.linear(x, size_.width, name);
    set_linear(usual);
    return net_.dropout(y, size_.dropout);
  }

  void set_linear(Initial weight) {
    net_.set_initials({.linear_weight = std::move(weight), .linear_bias = Initial::constant(0)});
  }

  Value attention(Value x, const std::string& where) {
    const Initial small = Initial::normal(0, deviation);
    const Value weight =
        net_.parameter(where + ".attn.c_attn.weight", {3 * size_.width, size_.width}, small);
    const Value bias =
        net_.parameter(where + ".attn.c_attn.bias", {3 * size_.width}, Initial::constant(0));
    const auto parts = [&](Value whole) { return net_.apply(Split{.num_outputs = 3}, {whole}); };
    const Value weights = parts(weight), biases = parts(bias);
    const auto projection = [&](int which, const char* name) {
      const Value product =
          net_.apply(FusedMatMul{false, true}, {x, Value{weights.node, which}}, name);
      return net_.add(product, Value{biases.node, which});
    };
    Value query = projection(0, "attn.query"), key = projection(1, "attn.key");
    const Value value = projection(2, "attn.value");
    if (size_.rotary) {
      query = net_.rotary_embedding(query, {.heads = size_.heads}, "attn.turned_query");
      key = net_.rotary_embedding(key, {.heads = size_.heads}, "attn.turned_key");
    }
    const Value seen =
        net_.attention(query, key, value,
                       {.heads = size_.heads, .dropout = size_.dropout, .causal = true}, "attn");
    return projected(seen, "attn.c_proj");
  }

  Network& net_;
  const TransformerSize& size_;
  TextShape text_;
};

void check_tiny_transformer(const TransformerSize& size, TextShape text) {
  for (const std::int64_t count :
       {size.layers, size.width, size.heads, size.inner, text.sequence, text.vocabulary})
    require(count >= 1, "tiny-transformer: expected at least one of everything, got ", count);
  require(size.width % size.heads == 0, "tiny-transformer: ", size.heads,
          " heads do not divide a width of ", size.width);
  require(size.dropout >= 0 && size.dropout < 1,
          "tiny-transformer: expected a dropout from 0 to below 1, got ", size.dropout);
}

}  // namespace

BuildNetwork tiny_transformer(const TransformerSize& given, TextShape text) {
  TransformerSize size = given;
  if (size.inner == 0) size.inner = 4 * size.width;
  check_tiny_transformer(size, text);
  return [=](Network& net) { return Decoder(net, size, text).logits(); };
}

}  // namespace narrowgauge

NG_MODEL(tiny_transformer, 13,
         {.name = "tiny-transformer",
          .input = InputKind::tokens,
          .text = characters,
          .classes = 0,
          .habits = habits_of_text})
