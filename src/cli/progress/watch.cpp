// SPDX-License-Identifier: Apache-2.0
#include "cli/progress/watch.h"

#include <fmt/format.h>

#include <filesystem>

#include "api/runs/checkpoint_folder.h"
#include "base/files/atomic_file.h"
#include "base/files/output_path.h"
#include "cli/common/terminal.h"
#include "cli/flags/flags.h"
#include "cli/progress/profile_text.h"

namespace narrowgauge::cli {
namespace {

constexpr std::int64_t usual_profile_steps = 10;
constexpr std::int64_t settling_steps = 2;  // the first compiles and touches memory anew

std::string in(const std::string& folder, const std::string& name) {
  return (std::filesystem::path(folder) / name).string();
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

RunLog::RunLog(TrainingLogOptions options, const CheckpointOptions& checkpoints, bool goes_on)
    : table_(options.csv) {
  const bool over_another = !goes_on && checkpoints.locked && checkpoints.locked->holds_run();
  if (over_another) options.csv = waiting_ = temporary_path(table_);
  log_.emplace(options);
}

RunLog::~RunLog() {
  std::error_code ignored;
  if (!waiting_.empty()) std::filesystem::remove(waiting_, ignored);
}

void RunLog::add(const Progress& progress) {
  log_->add(progress);
  if (waiting_.empty() || progress.checkpoint.empty()) return;
  log_->move_csv(table_);
  waiting_.clear();
}

Watch::Watch(const WatchFlags& flags, const CheckpointOptions& checkpoints, bool goes_on,
             const Model& model, Trainer& trainer)
    : flags_(flags),
      trainer_(trainer),
      log_(log_options(flags, checkpoints.folder), checkpoints, goes_on) {
  if (flags.histograms) log_.log().watch(model, trainer);
  // Better to fail before training than after it.
  if (flags.profile) const AtomicFile probe(*flags.profile);
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
  if (!as_json && profiled_ == 0)
    return say("--profile", fmt::format("the training ended within the first {} steps, which are "
                                        "not timed; the trace is empty",
                                        settling_steps));
  print_profile(profile_rows(kernels, profiled_), {profiled_, "a step", "steps"}, *flags_.profile,
                as_json);
}

}  // namespace narrowgauge::cli
