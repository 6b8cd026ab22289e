// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "base/text/nearest.h"
#include "cli/common/text.h"
#include "narrowgauge/error.h"

namespace narrowgauge::cli {
namespace {

// CLI11 keeps no facts of ours with its options.
std::map<const CLI::Option*, FlagFacts>& known_facts() {
  static std::map<const CLI::Option*, FlagFacts> facts;
  return facts;
}

CLI::Option* keep_facts(CLI::Option* option, FlagFacts facts) {
  known_facts()[option] = std::move(facts);
  return option;
}

template <class Read>
CLI::Option* add(CLI::App& app, const Flag& flag, FlagFacts facts, Read read) {
  const auto take = [read](const CLI::results_t& words) {
    read(words.back());
    return true;
  };
  return keep_facts(app.add_option(flag.names, take, flag.text), std::move(facts))
      ->type_name(flag.value)
      ->type_size(1)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

// "A,B,.." is what is said of a list.
FlagFacts text_facts(const Flag& flag) {
  const bool list = flag.value.find(',') != std::string::npos;
  return {list ? Takes::list : Takes::text, flag.words};
}

using TakeText = std::function<void(const std::string&)>;

TakeText into(std::optional<std::string>& target) {
  return [&target](const std::string& text) { target = text; };
}

auto text_reader(const Flag& flag, TakeText take) {
  return [take = std::move(take), name = first_name(flag)](const std::string& text) {
    require(!text.empty(), name, ": expected a value, got nothing");
    take(text);
  };
}

// Parses a number; throws UsageError if f64 or i64 cannot hold it.
template <class T>
std::optional<T> number(const std::string& name, const std::string& text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  require(error != std::errc::result_out_of_range, name, ": ", text, " is beyond what ",
          std::is_integral_v<T> ? "64 bits" : "f64", " can hold");
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

void check_word(const std::string& name, const std::string& word,
                const std::vector<std::string>& words) {
  require(std::find(words.begin(), words.end(), word) != words.end(), name, ": expected ",
          choices(words), ", got \"", word, '"', suggestion(word, words));
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts{""};
  for (const char c : text) {
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

std::vector<std::string> read_list(const std::string& name, const std::string& text) {
  std::vector<std::string> words = split(text);
  for (const std::string& word : words) {
    require(!word.empty(), name, ": expected words with commas between them, got \"", text, '"');
    require(std::count(words.begin(), words.end(), word) == 1, name, ": ", word, " is named twice");
  }
  return words;
}

TakeTexts into(std::vector<std::string>& target) {
  return [&target](const std::vector<std::string>& words) { target = words; };
}

}  // namespace

std::string first_name(const Flag& flag) { return flag.names.substr(0, flag.names.find(',')); }

FlagFacts facts_of(const CLI::Option& option) {
  const auto known = known_facts().find(&option);
  return known == known_facts().end() ? FlagFacts{} : known->second;
}

void add_text(CLI::App& app, const Flag& flag, TakeText take) {
  add(app, flag, text_facts(flag), text_reader(flag, std::move(take)));
}

void add_text(CLI::App& app, const Flag& flag, std::optional<std::string>& target) {
  add_text(app, flag, into(target));
}

void add_required(CLI::App& app, const Flag& flag, std::optional<std::string>& target) {
  add(app, flag, text_facts(flag), text_reader(flag, into(target)))->required();
}

namespace {

auto word_reader(const Flag& flag, TakeText take, std::vector<std::string> words) {
  return [take = std::move(take), name = first_name(flag),
          words = std::move(words)](const std::string& text) {
    check_word(name, text, words);
    take(text);
  };
}

}  // namespace

void add_required_word(CLI::App& app, const Flag& flag, std::optional<std::string>& target,
                       std::vector<std::string> words) {
  add(app, flag, {Takes::text, words}, word_reader(flag, into(target), words))->required();
}

void add_word(CLI::App& app, const Flag& flag, TakeText take, std::vector<std::string> words) {
  add(app, flag, {Takes::text, words}, word_reader(flag, std::move(take), words));
}

void add_word(CLI::App& app, const Flag& flag, std::optional<std::string>& target,
              std::vector<std::string> words) {
  add_word(app, flag, into(target), std::move(words));
}

void add_whole(CLI::App& app, const Flag& flag, std::function<void(std::int64_t)> take,
               std::int64_t least) {
  add(app, flag, {Takes::number},
      [take = std::move(take), name = first_name(flag), least](const std::string& text) {
        const std::optional<std::int64_t> value = number<std::int64_t>(name, text);
        require(value && *value >= least, name, ": expected a whole number from ", least,
                " on, got \"", text, '"');
        take(*value);
      });
}

void add_whole(CLI::App& app, const Flag& flag, std::optional<std::int64_t>& target,
               std::int64_t least) {
  add_whole(
      app, flag, [&target](std::int64_t value) { target = value; }, least);
}

void add_real(CLI::App& app, const Flag& flag, std::function<void(double)> take, double least) {
  add(app, flag, {Takes::number},
      [take = std::move(take), name = first_name(flag), least](const std::string& text) {
        const std::optional<double> value = number<double>(name, text);
        require(value && std::isfinite(*value) && *value >= least, name,
                ": expected a number from ", least, " on, got \"", text, '"');
        take(*value);
      });
}

void add_real(CLI::App& app, const Flag& flag, std::optional<double>& target, double least) {
  add_real(
      app, flag, [&target](double value) { target = value; }, least);
}

namespace {

// Adds an option that takes all words, as many as it may have.
CLI::Option* add_words(CLI::App& app, const Flag& flag, TakeTexts take) {
  const auto take_words = [take = std::move(take)](const CLI::results_t& words) {
    take(words);
    return true;
  };
  return keep_facts(app.add_option(flag.names, take_words, flag.text), {Takes::texts, flag.words})
      ->type_name(flag.value)
      ->type_size(1);
}

}  // namespace

void add_texts(CLI::App& app, const Flag& flag, TakeTexts take) {
  add_words(app, flag, std::move(take))
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_texts(CLI::App& app, const Flag& flag, std::vector<std::string>& target) {
  add_texts(app, flag, into(target));
}

void add_arguments(CLI::App& app, const Flag& flag, std::vector<std::string>& target) {
  add_words(app, flag, into(target))
      ->expected(1, CLI::detail::expected_max_vector_size)
      ->allow_extra_args();
}

void add_list(CLI::App& app, const Flag& flag, TakeTexts take) {
  add(app, flag, {Takes::list, flag.words},
      [take = std::move(take), name = first_name(flag)](const std::string& text) {
        take(read_list(name, text));
      });
}

void add_list(CLI::App& app, const Flag& flag, std::vector<std::string>& target) {
  add_list(app, flag, into(target));
}

void add_word_list(CLI::App& app, const Flag& flag, std::vector<std::string>& target,
                   std::vector<std::string> words) {
  const FlagFacts facts{Takes::list, words};
  add(app, flag, facts,
      [&target, name = first_name(flag), words = std::move(words)](const std::string& text) {
        for (const std::string& word : split(text)) check_word(name, word, words);
        target = read_list(name, text);
      });
}

void add_switch(CLI::App& app, const Flag& flag, bool& target) {
  keep_facts(app.add_flag(flag.names, target, flag.text), {});
}

void add_switch(CLI::App& app, const Flag& flag, std::function<void()> take) {
  keep_facts(app.add_flag_callback(flag.names, std::move(take), flag.text), {});
}

void add_choice(CLI::App& app, const Flag& flag, std::function<void(bool)> take) {
  const auto take_count = [take = std::move(take)](std::int64_t count) { take(count > 0); };
  keep_facts(app.add_flag_function(flag.names, take_count, flag.text), {});
}

}  // namespace narrowgauge::cli
