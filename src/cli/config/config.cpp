// SPDX-License-Identifier: Apache-2.0
#include "cli/config/config.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/files/open_file.h"
#include "base/text/nearest.h"
#include "cli/common/text.h"
#include "cli/config/config_file.h"
#include "cli/flags/flags.h"
#include "narrowgauge/error.h"

namespace narrowgauge::cli {
namespace {

using Kind = ConfigValue::Kind;
using Words = std::vector<std::string>;

std::vector<CLI::Option*> configurable(CLI::App& command) {
  return command.get_options([](const CLI::Option* each) { return each->get_configurable(); });
}

CLI::Option* find_option(CLI::App& command, const std::string& key) {
  for (CLI::Option* option : configurable(command)) {
    const std::vector<std::string>& names = option->get_lnames();
    if (config_key(*option) == key || std::ranges::find(names, key) != names.end()) return option;
  }
  return nullptr;
}

Words keys_of(CLI::App& command) {
  Words keys;
  for (const CLI::Option* option : configurable(command)) keys.push_back(config_key(*option));
  return keys;
}

Words command_names(const CLI::App& program) {
  Words names;
  for (const CLI::App* each : program.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(each->get_name());
  return names;
}

std::string place_of(const std::string& path, const ConfigEntry& entry) {
  return concat(path, ':', entry.line, ": ");
}

// The command that an entry is for: that at hand, or that of its section.
CLI::App& command_of(const ConfigEntry& entry, CLI::App& command, const std::string& path) {
  if (entry.section.empty()) return command;
  CLI::App& program = *command.get_parent();
  const Words names = command_names(program);
  require(std::ranges::find(names, entry.section) != names.end(), place_of(path, entry), '[',
          entry.section, "] is no command: expected ", choices(names),
          suggestion(entry.section, names));
  return *program.get_subcommand(entry.section);
}

// A flag of the command at hand, and where the file speaks of it.
struct Setting {
  CLI::Option* option;
  const ConfigEntry* entry;
};

// The settings that are for this command. What its section says wins over what stands at the top.
std::vector<Setting> settings_for(CLI::App& command, const std::vector<ConfigEntry>& entries,
                                  const std::string& path) {
  std::vector<Setting> settings;
  for (const ConfigEntry& entry : entries) {
    CLI::App& owner = command_of(entry, command, path);
    CLI::Option* option = find_option(owner, entry.key);
    require(option, place_of(path, entry), "unknown key ", entry.key, ": ", owner.get_name(),
            " has no such flag", suggestion(entry.key, keys_of(owner)));
    if (&owner != &command) continue;
    const auto same = std::ranges::find(settings, option, &Setting::option);
    if (same == settings.end())
      settings.push_back({option, &entry});
    else if (same->entry->section.empty())
      same->entry = &entry;
  }
  return settings;
}

std::string found(const ConfigEntry& entry) {
  if (entry.is_list) return "a list";
  const Kind kind = entry.values.front().kind;
  if (kind == Kind::boolean) return entry.values.front().text;
  return concat(kind == Kind::number ? "the number " : "the text ", entry.values.front().text);
}

bool is_one(const ConfigEntry& entry, Kind kind) {
  return !entry.is_list && entry.values.front().kind == kind;
}

// The words that the command line would have in place of the entry.
Words words_of(const ConfigEntry& entry, const CLI::Option& option, const std::string& place) {
  const Takes takes = facts_of(option).takes;
  const auto expect = [&](bool holds, const char* what) {
    require(holds, place, entry.key, ": expected ", what, ", got ", found(entry));
  };
  Words words;
  for (const ConfigValue& value : entry.values) words.push_back(value.text);
  if (takes == Takes::nothing) {
    expect(is_one(entry, Kind::boolean), "true or false");
    return words;
  }
  const bool has_switch =
      std::ranges::find(entry.values, Kind::boolean, &ConfigValue::kind) != entry.values.end();
  if (takes == Takes::number) {
    expect(is_one(entry, Kind::number), "a number");
  } else if (takes == Takes::text) {
    expect(!entry.is_list && !has_switch, "a text");
  } else {
    expect(!has_switch, "a text or a list of texts");
  }
  if (takes != Takes::list) return words;
  std::string joined;
  for (const std::string& word : words) joined += (joined.empty() ? "" : ",") + word;
  return {joined};
}

void take(CLI::App& command, const Setting& setting, const std::string& path) {
  CLI::Option* option = setting.option;
  const std::string place = place_of(path, *setting.entry);
  Words words = words_of(*setting.entry, *option, place);
  // A switch that is off turns its opposite on, where there is one.
  if (facts_of(*option).takes == Takes::nothing && words.front() == "false") {
    option = find_option(command, "no-" + config_key(*option));
    words = {"true"};
  }
  if (!option || !option->empty() || words.empty()) return;
  try {
    option->add_result(words);
    option->run_callback();
  } catch (const UsageError& error) {
    throw UsageError(place + error.what());
  }
}

void take_config(CLI::App& command, const std::string& path) {
  const std::string text = read_text_file(path);
  require<DataError>(!text.empty(), path, ": expected settings, found nothing");
  const std::vector<ConfigEntry> entries = parse_config(text, path);
  std::vector<Setting> settings = settings_for(command, entries, path);
  std::erase_if(settings, [](const Setting& each) { return !each.option->empty(); });
  for (const Setting& setting : settings) take(command, setting, path);
}

// "3", "true", "\"lenet\"", "[\"a\", \"b\"]"
std::string value_text(const Words& words, Takes takes) {
  if (takes == Takes::number || takes == Takes::nothing) return words.back();
  if (takes != Takes::texts) return config_text(words.back());
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "" : ", ") + config_text(word);
  return words.size() == 1 ? list : '[' + list + ']';
}

// Whether it is --no-x beside --x, of which a file says x = false.
bool is_opposite(const CLI::App& command, const CLI::Option& option) {
  const std::string key = config_key(option);
  return key.starts_with("no-") && command.get_option_no_throw("--" + key.substr(3));
}

Words words_in_effect(const CLI::App& command, const CLI::Option& option,
                      const SettledFlags& settled) {
  if (!option.empty()) return option.reduced_results();
  const std::string key = config_key(option);
  const CLI::Option* opposite = command.get_option_no_throw("--no-" + key);
  if (opposite && !opposite->empty()) return {"false"};
  const auto known = settled.find(key);
  return known == settled.end() ? Words{} : known->second;
}

}  // namespace

void add_config(CLI::App& command) {
  add_text(command, {"--config", "FILE", "flags from a file of TOML, such as epochs = 3"},
           [&command](const std::string& path) { take_config(command, path); });
  command.get_option("--config")->configurable(false);
}

void add_dump_config(CLI::App& command) {
  add_switch(command, {"--dump-config", "", "print the settings in effect as such a file, and end"},
             [] {});
  command.get_option("--dump-config")->configurable(false);
}

bool wants_config(const CLI::App& command) {
  const CLI::Option* option = command.get_option_no_throw("--dump-config");
  return option && option->count() > 0;
}

std::string config_key(const CLI::Option& option) {
  if (!option.get_lnames().empty()) return option.get_lnames().front();
  return CLI::detail::to_lower(option.get_name(true));
}

std::string config_of(const CLI::App& command, const SettledFlags& settled) {
  std::string text = concat("# narrowgauge ", command.get_name(), " --config FILE\n");
  for (const CLI::Option* option : command.get_options({})) {
    if (!option->get_configurable() || is_opposite(command, *option)) continue;
    const std::string key = config_key(*option);
    const Words words = words_in_effect(command, *option, settled);
    if (!words.empty())
      text += concat(key, " = ", value_text(words, facts_of(*option).takes), '\n');
  }
  return text;
}

}  // namespace narrowgauge::cli
