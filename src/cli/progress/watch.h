// SPDX-License-Identifier: Apache-2.0
// What a training leaves for those who watch it: metrics.csv, event files, and a trace of kernels.
#pragma once

#include <optional>
#include <string>

#include "cli/flags/watch_flags.h"
#include "narrowgauge/model.h"
#include "narrowgauge/training_log.h"

namespace CLI {
class App;
}  // namespace CLI

namespace narrowgauge::cli {

void add_watch(CLI::App& app, WatchFlags& flags);
// Throws UsageError for flags that do not go together. `saves`: there is a run folder.
void check_watch(const WatchFlags& flags, bool saves, bool compares);

// What is logged of a run in `folder` ("": none is kept). Of several runs each has a name, which
// is that of its folder of events.
TrainingLogOptions log_options(const WatchFlags& flags, const std::string& folder,
                               const std::string& name = "");

// The log of a run in `checkpoints`. Over a run that is not this one its table has another name up
// to the first checkpoint, with which the run takes the folder: what fails before leaves no table.
class RunLog {
 public:
  RunLog(TrainingLogOptions options, const CheckpointOptions& checkpoints, bool goes_on);
  ~RunLog();
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;
  TrainingLog& log() { return *log_; }
  void add(const Progress& progress);

 private:
  std::string table_, waiting_;  // waiting_: its name until then; "": there is none
  std::optional<TrainingLog> log_;
};

class Watch {
 public:
  // `goes_on`: the folder holds this run, which goes on there.
  Watch(const WatchFlags& flags, const CheckpointOptions& checkpoints, bool goes_on,
        const Model& model, Trainer& trainer);
  void add(const Progress& progress);
  // Writes the trace and prints where the time went, or a line {"event":"profile",...}, where that
  // was asked for.
  void write_profile(bool as_json);

 private:
  void follow_profile();

  const WatchFlags& flags_;
  Trainer& trainer_;
  RunLog log_;
  std::int64_t steps_ = 0, profiled_ = 0;
};

}  // namespace narrowgauge::cli
