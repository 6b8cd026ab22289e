// SPDX-License-Identifier: Apache-2.0
#include "cli/data/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "cli/common/json.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "narrowgauge/text_data.h"

namespace narrowgauge::cli {
namespace {

struct PartFacts {
  std::int64_t bytes = 0, characters = 0, words = 0, lines = 0;
  std::set<std::string> distinct;  // characters
};

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

PartFacts facts_of_text(const std::string& text) {
  constexpr std::string_view blanks = " \t\r\n";
  PartFacts facts{.bytes = std::ssize(text), .distinct = {}};
  bool in_word = false;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = begin + 1;
    while (end < text.size() && !begins_character(text[end])) ++end;
    ++facts.characters;
    facts.distinct.insert(text.substr(begin, end - begin));
    const bool blank = blanks.find(text[begin]) != std::string_view::npos;
    facts.words += !blank && !in_word;
    in_word = !blank;
    facts.lines += text[begin] == '\n';
    begin = end;
  }
  return facts;
}

JsonObject text_json(const PartFacts& facts) {
  JsonObject json;
  json.add("bytes", facts.bytes).add("characters", facts.characters);
  json.add("distinct_characters", std::ssize(facts.distinct));
  return std::move(json.add("words", facts.words).add("lines", facts.lines));
}

}  // namespace

bool is_text(const std::string& path) {
  std::error_code ignored;
  const auto holds = [&](const char* name) {
    return std::filesystem::exists(std::filesystem::path(path) / name, ignored);
  };
  return path.ends_with(".txt") || path.ends_with(".txt.gz") || holds("train.txt") ||
         holds("train.txt.gz");
}

void print_text_survey(const std::string& path, bool as_json) {
  const TextSplit split = read_text(path);
  const PartFacts train = facts_of_text(split.train), test = facts_of_text(split.test);
  if (as_json) {
    JsonObject json;
    json.add("data", path).add("kind", "text").add("training", text_json(train));
    print(json.add("test", text_json(test)).add("replaced_bytes", split.replaced).line());
    return;
  }
  print(fmt::format("{}: text\n", path));
  TextTable table({words("part"), numbers("bytes"), numbers("characters"), numbers("distinct"),
                   numbers("words"), numbers("lines", 1)});
  for (const auto& [name, facts] : {std::pair("training", &train), std::pair("test", &test)})
    table.add({name, grouped(facts->bytes), grouped(facts->characters),
               grouped(std::ssize(facts->distinct)), grouped(facts->words), grouped(facts->lines)});
  print('\n' + table.text(output_width()));
  if (split.replaced > 0)
    print(fmt::format("\n{} bytes are no UTF-8, the first at byte {}\n", grouped(split.replaced),
                      grouped(split.first_replaced)));
}

}  // namespace narrowgauge::cli
