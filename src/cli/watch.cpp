// SPDX-License-Identifier: Apache-2.0
#include "cli/watch.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/atomic_file.h"
#include "cli/common/json.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/flags.h"

namespace narrowgauge::cli {
namespace {

constexpr std::int64_t usual_profile_steps = 10;
constexpr std::int64_t settling_steps = 2;  // the first compiles and touches memory anew
constexpr std::size_t most_rows = 20;

std::string in(const std::string& folder, const std::string& name) {
  return (std::filesystem::path(folder) / name).string();
}

JsonObject row_json(const ProfileRow& row) {
  JsonObject json;
  json.add("op", row.op).add("kernel", row.kernel).add("math", name(row.math));
  json.add("nodes", row.nodes).add("milliseconds", row.milliseconds).add("share", row.share);
  json.add("gigabytes_per_second", row.gigabytes_per_second);
  json.add("gigaflops_per_second", row.gigaflops_per_second);
  return row.matrix_unit ? std::move(json.add("matrix_unit", *row.matrix_unit))
                         : std::move(json.add_null("matrix_unit"));
}

}  // namespace

void add_watch(CLI::App& app, WatchFlags& flags) {
  add_text(app, {"--tensorboard", "DIR", "event files of losses, rates and metrics"},
           flags.tensorboard);
  add_switch(app, {"--histograms", "", "of weights and gradients too, at the end of each epoch"},
             flags.histograms);
  add_whole(app, {"--log-every", "N", "steps, in metrics.csv and event files (50)"},
            flags.log_every, 1);
  add_text(app, {"--profile", "FILE", "trace of some steps for Perfetto, and a table of kernels"},
           flags.profile);
  add_whole(app, {"--profile-steps", "N", "steps in the trace (10)"}, flags.profile_steps, 1);
}

void check_watch(const WatchFlags& flags, bool saves, bool compares) {
  require(flags.tensorboard || !flags.histograms, "--histograms: needs --tensorboard");
  require(!compares || !flags.histograms, "--histograms: cannot be added to --compare");
  require(!compares || !flags.profile, "--profile: cannot be added to --compare");
  require(saves || flags.tensorboard || !flags.log_every,
          "--log-every: needs --output, --resume or --tensorboard");
  require(flags.profile || !flags.profile_steps, "--profile-steps: needs --profile");
}

TrainingLogOptions log_options(const WatchFlags& flags, const std::string& folder,
                               const std::string& name) {
  TrainingLogOptions options;
  if (!folder.empty()) options.csv = in(folder, "metrics.csv");
  if (flags.tensorboard)
    options.events = name.empty() ? *flags.tensorboard : in(*flags.tensorboard, name);
  options.every_steps = flags.log_every.value_or(options.every_steps);
  return options;
}

std::string matrix_unit_text(const ProfileRow& row) {
  return row.matrix_unit ? (*row.matrix_unit ? "yes" : "no") : "-";
}

std::string short_name(const std::string& op) {
  constexpr std::string_view ours = "ng.";
  return op.starts_with(ours) ? op.substr(ours.size()) : op;
}

std::string profile_table(const std::vector<ProfileRow>& rows, std::int64_t steps) {
  double total = 0;
  for (const ProfileRow& row : rows) total += row.milliseconds;
  std::string text = fmt::format("kernels         {:.3f} ms a step, over {} steps\n", total, steps);
  TextTable table({folding("op", 15), folding("kernel", 14), numbers("nodes", 3), numbers("ms"),
                   numbers("share"), numbers("GB/s", 1), numbers("Gflop/s", 1),
                   words("matrix unit")});
  for (std::size_t i = 0; i < std::min(rows.size(), most_rows); ++i) {
    const ProfileRow& row = rows[i];
    table.add({short_name(row.op), row.kernel, std::to_string(row.nodes),
               fmt::format("{:.3f}", row.milliseconds), fmt::format("{:.1f} %", 100 * row.share),
               rate_text(row.gigabytes_per_second),
               row.gigaflops_per_second > 0 ? rate_text(row.gigaflops_per_second) : "-",
               matrix_unit_text(row)});
  }
  text += table.text(output_width());
  double rest = 0;
  for (std::size_t i = most_rows; i < rows.size(); ++i) rest += rows[i].share;
  if (rows.size() > most_rows)
    text += fmt::format("({} more kinds, {:.1f} % of the time; the trace has all)\n",
                        rows.size() - most_rows, 100 * rest);
  return text;
}

Watch::Watch(const WatchFlags& flags, const std::optional<std::string>& folder, const Model& model,
             Trainer& trainer)
    : flags_(flags), trainer_(trainer), log_(log_options(flags, folder.value_or(""))) {
  if (flags.histograms) log_.watch(model, trainer);
  // Better to fail before training than after it.
  if (flags.profile) write_file_atomically(*flags.profile, "");
}

void Watch::add(const Progress& progress) {
  log_.add(progress);
  if (flags_.profile && progress.checkpoint.empty() && !progress.epoch_done) follow_profile();
}

// The steps after the first few are timed.
void Watch::follow_profile() {
  const std::int64_t wanted = flags_.profile_steps.value_or(usual_profile_steps);
  if (steps_ >= settling_steps && profiled_ < wanted) ++profiled_;
  ++steps_;
  if (steps_ == settling_steps) trainer_.enable_profile(true);
  if (profiled_ == wanted) trainer_.disable_profile();
}

void Watch::write_profile(bool as_json) {
  if (!flags_.profile) return;
  const std::vector<Trainer::KernelChoice> kernels = trainer_.kernels();
  write_file_atomically(*flags_.profile, chrome_trace(kernels, trainer_.kernel_runs()));
  const std::vector<ProfileRow> rows = profile_rows(kernels, profiled_);
  if (!as_json && profiled_ == 0)
    return say("--profile", fmt::format("the training ended within the first {} steps, which are "
                                        "not timed; the trace is empty",
                                        settling_steps));
  if (!as_json)
    return print(profile_table(rows, profiled_) + "trace           " + *flags_.profile + '\n');
  std::vector<JsonObject> all;
  for (const ProfileRow& row : rows) all.push_back(row_json(row));
  JsonObject json;
  json.add("event", "profile").add("trace", *flags_.profile).add("steps", profiled_);
  print(json.add("kernels", all).line());
}

}  // namespace narrowgauge::cli
