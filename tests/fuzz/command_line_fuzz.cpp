// SPDX-License-Identifier: Apache-2.0
// Words of a command line, one in each line of the input: flags of every kind, and their values.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "cli/flags.h"
#include "cli/interval.h"
#include "cli/settings.h"
#include "cli/task.h"
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
  cli::add_word(app, {"--optimizer,-o", "O", ""}, train.optimizer, optimizer_names());
  cli::add_text(app, {"--schedule", "S", ""}, train.schedule);
  cli::add_text(app, {"--loss-scale", "S", ""}, train.loss_scale);
  cli::add_whole(app, {"--epochs,-e", "N", ""}, train.epochs, 1);
  cli::add_whole(app, {"--warmup", "N", ""}, train.warmup, 0);
  cli::add_whole(app, {"--threads,-t", "N", ""}, train.threads, 0);
  cli::add_real(app, {"--lr", "X", ""}, train.learning_rate);
  cli::add_hyperparameter_flags(app, train.hyperparameters);
  cli::add_real(app, {"--clip", "X", ""}, train.clip);
  cli::add_text(app, {"--checkpoint-every", "N", ""}, train.checkpoint_every);
  cli::add_text(app, {"--image,--data-shape", "CxHxW", ""}, flags.image);
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
