// SPDX-License-Identifier: Apache-2.0
// The network of a run, as commands that use it open it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/config/config.h"
#include "cli/flags/flags.h"
#include "cli/training/training.h"

namespace narrowgauge::cli {

struct TrainedFlags {
  std::optional<std::string> run, data, device;
  PrecisionFlags precision;  // --amp and --math
  std::optional<std::int64_t> batch, threads;
};

// RUN, --data, --amp, --math, --batch, --threads and --device.
void add_trained(CLI::App& app, TrainedFlags& flags);

// The flags for --dump-config: what the run was trained on and in, and the usual numbers.
SettledFlags settled_flags(const TrainedFlags& flags);

inline constexpr std::int64_t usual_batch = 256;

// A network with the weights of its run, which predicts as it was trained unless the flags say
// otherwise, and the data that it is used on.
struct Trained {
  Settings settings;
  TakenCheckpoint checkpoint;
  Task task;
  std::unique_ptr<Session> session;
  std::int64_t batch = usual_batch;  // samples at once
};
// The network of a run, whose data may be gone.
struct Opened {
  Run run;
  std::unique_ptr<Model> model;  // predicts as it was trained unless the flags say otherwise
};
Opened open_network(const TrainedFlags& flags);  // throws DataError when there is no such run

// A session with the run's weights that only evaluates and predicts: it gets no training batch.
Session session_of(const Run& run, Settings settings, const Task& task,
                   const SessionOptions& options);
// Throws DataError when there is no such run or the data do not fit it.
Trained open_trained(const TrainedFlags& flags, const std::vector<std::string>& metrics = {},
                     const std::vector<OwnMetric>& own_metrics = {});

}  // namespace narrowgauge::cli
