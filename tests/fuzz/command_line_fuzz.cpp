// SPDX-License-Identifier: Apache-2.0
// Words of a command line, one in each line of the input: flags of every kind, and their values.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "cli/flags/flags.h"
#include "cli/flags/interval.h"
#include "cli/task/settings.h"
#include "cli/task/task.h"
#include "fuzz/fuzz.h"

using namespace narrowgauge;

namespace {

struct Flags {
  cli::TrainFlags train;
  std::optional<std::string> image;
  std::vector<std::string> units, numbers;
};

void add_flags(CLI::App& app, Flags& flags) {
  cli::TrainFlags& train = flags.train;
  cli::add_text(app, {"--model,-m", "M", ""}, train.model);
  cli::add_amp(app, "", train.precision);
  cli::add_math(app, train.precision);
  cli::add_overrides(app, train.precision);
  cli::add_word_list(app, {"--compare", "A,B,..", ""}, train.compare, {"off", "f16", "bf16"});
  using enum cli::SettingGroup;
  for (const cli::SettingGroup group : {run, data, network, training, ending})
    cli::add_setting_flags(app, group, train.given);
  cli::add_hyperparameter_flags(app, train.hyperparameters);
  cli::add_text(app, {"--checkpoint-every", "N", ""}, train.checkpoint_every);
  cli::add_text(app, {"--data-shape", "CxHxW", ""}, flags.image);
  cli::add_list(app, {"--units", "U,V,..", ""}, flags.units);
  cli::add_arguments(app, {"NUMBER", "", ""}, flags.numbers);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::istringstream lines{std::string(fuzz::text_of(data, size))};
  std::vector<std::string> words;
  for (std::string word; std::getline(lines, word);) words.push_back(word);
  std::ranges::reverse(words);  // as CLI11 takes them
  static Flags flags;
  static CLI::App app("fuzz");
  static const bool made = (add_flags(app, flags), true);
  flags = {};
  fuzz::take([&] {
    try {
      app.parse(words);
    } catch (const CLI::Error&) {
    }
  });
  fuzz::take([&] { check(cli::make_optimizer(cli::settle(flags.train, std::nullopt), 100)); });
  if (const auto& every = flags.train.checkpoint_every)
    fuzz::take([&] {
      const cli::Interval interval = cli::parse_interval("--checkpoint-every", *every);
      fuzz::must((interval.steps > 0) + (interval.seconds > 0) + (interval.epochs > 0) == 1);
    });
  if (flags.image) fuzz::take([&] { cli::image_text(cli::parse_image(*flags.image)); });
  return made ? 0 : 1;
}
