// SPDX-License-Identifier: Apache-2.0
// What a tokenizer makes of texts, each a line of JSON: a line {"tokens": [...], "text": ...} for
// each, where `text` is what the tokens say. For tests/tokenizers_oracle.py.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "narrowgauge/error.h"
#include "narrowgauge/text_data.h"
#include "narrowgauge/tokenizer.h"

using namespace narrowgauge;

namespace {

struct Wishes {
  TokenizerOptions options;
  std::string texts, training;
};

std::string training_text(const Wishes& wishes) {
  if (wishes.training.empty()) return {};
  const TextSplit split = read_text(wishes.training);
  return split.train + split.test;
}

void run(const Wishes& wishes) {
  const auto made = make_tokenizer(wishes.options, training_text(wishes));
  const auto tokenizer = tokenizer_of_json(made->json(), "saved");
  std::ifstream lines(wishes.texts);
  for (std::string line; std::getline(lines, line);) {
    const auto tokens = tokenizer->encode(nlohmann::json::parse(line).get<std::string>());
    const nlohmann::json answer{{"tokens", tokens}, {"text", tokenizer->decode(tokens)}};
    std::cout << answer.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  }
}

}  // namespace

int main(int count, char** arguments) {
  Wishes wishes;
  CLI::App app("Tokens of texts.");
  app.add_option("--kind", wishes.options.kind)->required();
  app.add_option("--vocabulary", wishes.options.vocabulary);
  app.add_option("--merges", wishes.options.merges);
  app.add_option("--most", wishes.options.most);
  app.add_flag("--cased", wishes.options.cased);
  app.add_option("--training", wishes.training);
  app.add_option("--texts", wishes.texts, "a file of JSON, a text a line")->required();
  CLI11_PARSE(app, count, arguments);
  try {
    run(wishes);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
