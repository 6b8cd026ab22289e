// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/language_models.h"

namespace narrowgauge {

namespace {

constexpr std::string_view transformer_name = "tiny-transformer", lstm_name = "lstm";

template <class T>
void take(T& target, T wanted, T least) {
  if (wanted >= least) target = wanted;
}

}  // namespace

bool is_language_model(std::string_view name) {
  return name == transformer_name || name == lstm_name;
}

BuildNetwork find_language_model(std::string_view name, TextShape text,
                                 const LanguageModelSize& wanted) {
  require<ModelError>(is_language_model(name), "model: expected a language model, ",
                      transformer_name, " or ", lstm_name, ", got '", name, '\'');
  const auto take_size = [&](auto& size) {
    take<std::int64_t>(size.layers, wanted.layers, 1);
    take<std::int64_t>(size.width, wanted.width, 1);
    take(size.dropout, wanted.dropout, 0.0);
  };
  if (name == lstm_name) {
    require(wanted.heads <= 0, "lstm: has no attention, got ", wanted.heads, " heads");
    LstmSize size;
    take_size(size);
    return lstm_language_model(size, text);
  }
  TransformerSize size;
  take_size(size);
  take<std::int64_t>(size.heads, wanted.heads, 1);
  return tiny_transformer(size, text);
}

}  // namespace narrowgauge
