// SPDX-License-Identifier: Apache-2.0
#include "cli/task/text_task.h"

#include <algorithm>

#include "base/hash/sha256.h"
#include "base/log.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/task/task.h"
#include "narrowgauge/language_models.h"
#include "narrowgauge/text_data.h"

namespace narrowgauge::cli {
namespace {

constexpr double worth_telling = 0.001;  // share of tokens that the vocabulary lacks

DataFacts::Part part_of(const std::string& text) {
  Sha256 sum;
  sum.update(text);
  return {std::ssize(text), sum.hex()};
}

TextSplit load_text(const Settings& settings) {
  require<DataError>(settings.data != "glyphs", "--data: ", settings.model,
                     " reads text, expected a file of text or a folder with train.txt and "
                     "test.txt");
  show_status(concat("loading ", settings.data));
  TextSplit split = read_text(settings.data, {.utf8 = settings.text.tokens != "bytes"});
  show_status("");
  if (split.replaced > 0)
    log(LogLevel::warning,
        concat(settings.data, ": ", grouped(split.replaced), " bytes are no UTF-8, the first is ",
               "byte ", split.first_replaced, "; they are read as U+FFFD"));
  return split;
}

std::int64_t count_characters(const std::string& text) {
  return std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

void tell_unknown_in_test(const TokenList& tokens, const Tokenizer& tokenizer,
                          const std::string& data) {
  if (tokenizer.unknown() < 0) return;
  std::int64_t unknown = 0;
  for (std::int64_t i = 0; i < tokens.size(); ++i) unknown += tokens[i] == tokenizer.unknown();
  const double share = static_cast<double>(unknown) / static_cast<double>(tokens.size());
  if (share < worth_telling) return;
  log(LogLevel::warning, concat(data, ": ", percent_text(share), " of the test's tokens (",
                                grouped(unknown), ") are not in the vocabulary"));
}

TextShape text_shape(const Settings& settings, const Tokenizer& tokenizer) {
  return {settings.text.context, tokenizer.size()};
}

BuildNetwork text_network_of(const Settings& settings, const Tokenizer& tokenizer) {
  return find_language_model(settings.model, text_shape(settings, tokenizer), settings.text.size);
}

std::shared_ptr<TextSource> text_source(std::shared_ptr<const TokenList> tokens, Windows windows,
                                        const Settings& settings) {
  const bool moving = windows == Windows::moving;
  const std::int64_t least = moving ? settings.text.context + 1 : 2;
  require<DataError>(tokens->size() >= least, settings.data, ": expected at least ", least,
                     " tokens in its ", moving ? "training" : "test", " part",
                     moving ? " for such a --context" : "", ", found ", tokens->size());
  return std::make_shared<TextSource>(std::move(tokens), settings.text.context, windows,
                                      static_cast<std::uint64_t>(settings.seed));
}

Loss loss_of_text(const Settings& settings) {
  return settings.loss.empty() ? next_token_cross_entropy() : parse_loss(settings.loss);
}

ResultWords words_for(const std::string& test, const TokenList& tokens, const Tokenizer& tokenizer,
                      std::int64_t context) {
  ResultWords words{.is_text = true, .samples = "windows", .window = context};
  words.tokens = tokens.size() - 1;
  if (tokenizer.is_lossless())
    words.tokens_per_character =
        static_cast<double>(tokens.size()) /
        static_cast<double>(std::max<std::int64_t>(count_characters(test), 1));
  return words;
}

}  // namespace

Task text_task(const Settings& settings, DataFacts* facts) {
  const TextSplit split = load_text(settings);
  if (facts) *facts = {part_of(split.train), part_of(split.test)};
  show_status(concat("making tokens of ", settings.data));
  TextFacts text;
  text.tokenizer = settings.text.tokenizer.empty()
                       ? make_tokenizer(settings.text.tokenizer_options(), split.train)
                       : tokenizer_of(settings);
  const auto training = tokens_of(*text.tokenizer, split.train);
  const auto test = tokens_of(*text.tokenizer, split.test);
  show_status("");
  Task task;
  task.build = text_network_of(settings, *text.tokenizer);
  task.loss = loss_of_text(settings);
  task.training = text_source(training, Windows::moving, settings);
  task.test = text_source(test, Windows::tiling, settings);
  tell_unknown_in_test(*test, *text.tokenizer, settings.data);
  text.words = words_for(split.test, *test, *text.tokenizer, settings.text.context);
  task.text = std::move(text);
  return task;
}

std::shared_ptr<const Tokenizer> tokenizer_of(const Settings& settings) {
  require<DataError>(!settings.text.tokenizer.empty(), "a run of ", settings.model, " without its ",
                     tokenizer_file);
  return tokenizer_of_json(settings.text.tokenizer, tokenizer_file);
}

Task text_network_task(const Settings& settings) {
  Task task;
  task.data = settings.data;
  task.build = text_network_of(settings, *tokenizer_of(settings));
  task.loss = loss_of_text(settings);
  return task;
}

Model text_model_of(const Settings& settings) {
  return Model(settings.model, text_network_task(settings).build,
               static_cast<std::uint64_t>(settings.seed));
}

ResultWords words_of(const Task& task) {
  if (task.text) return task.text->words;
  ResultWords words;
  if (!task.images) words.samples = "samples";
  if (!task.table.empty()) words.samples = "rows";
  if (task.images && task.images->masks) {
    words.of_pixels = true;
    words.samples = "pictures";
  }
  return words;
}

}  // namespace narrowgauge::cli
