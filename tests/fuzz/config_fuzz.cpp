// SPDX-License-Identifier: Apache-2.0
// Files of settings. What is read, is written again and read as the same.
#include "cli/config/config_file.h"
#include "fuzz/fuzz.h"

using namespace narrowgauge;

namespace {

using Entries = std::vector<cli::ConfigEntry>;

std::string written(const Entries& entries) {
  std::string text;
  for (const cli::ConfigEntry& entry : entries) {
    if (!entry.section.empty()) text += concat('[', entry.section, "]\n");
    text += concat(entry.key, " = ", entry.is_list ? "[" : "");
    for (const cli::ConfigValue& value : entry.values) {
      const bool quoted = value.kind == cli::ConfigValue::Kind::text;
      text += quoted ? cli::config_text(value.text) : value.text;
      if (entry.is_list) text += ',';
    }
    text += entry.is_list ? "]\n" : "\n";
  }
  return text;
}

void must_be_same(const Entries& entries, const Entries& again) {
  fuzz::must(entries.size() == again.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    fuzz::must(entries[i].key == again[i].key && entries[i].is_list == again[i].is_list);
    fuzz::must(entries[i].values.size() == again[i].values.size());
    for (std::size_t k = 0; k < entries[i].values.size(); ++k) {
      fuzz::must(entries[i].values[k].kind == again[i].values[k].kind);
      fuzz::must(entries[i].values[k].text == again[i].values[k].text);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Entries entries;
  std::string text;
  const bool read = fuzz::take([&] {
    entries = cli::parse_config(std::string(fuzz::text_of(data, size)), "config.toml");
    text = written(entries);
  });
  if (!read) return 0;
  Entries again;
  fuzz::must(fuzz::take([&] { again = cli::parse_config(text, "config.toml"); }));
  must_be_same(entries, again);
  return 0;
}
