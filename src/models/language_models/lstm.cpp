// SPDX-License-Identifier: Apache-2.0
#include "models/table.h"
#include "narrowgauge/language_models.h"

namespace narrowgauge {

namespace {

void check_lstm(const LstmSize& size, TextShape text) {
  for (const std::int64_t count : {size.layers, size.width, text.sequence, text.vocabulary})
    require(count >= 1, "lstm: expected at least one of everything, got ", count);
  require(size.dropout >= 0 && size.dropout < 1, "lstm: expected a dropout from 0 to below 1, got ",
          size.dropout);
}

}  // namespace

BuildNetwork lstm_language_model(const LstmSize& size, TextShape text) {
  check_lstm(size, text);
  return [=](Network& net) {
    const Value tokens = net.input("tokens", {net.batch(), text.sequence}, DType::i64);
    net.set_initials({.embedding = Initial::normal(0, 0.1)});
    Value x = net.embedding(tokens, text.vocabulary, size.width, "embedding");
    x = net.dropout(x, size.dropout);
    x = net.lstm(x, size.width, {.layers = size.layers, .dropout = size.dropout}, "lstm");
    return net.linear(net.dropout(x, size.dropout), text.vocabulary, "head");
  };
}

}  // namespace narrowgauge

NG_MODEL(lstm, 14,
         {.name = "lstm",
          .input = InputKind::tokens,
          .text = characters,
          .classes = 0,
          .habits = habits_of_text})
