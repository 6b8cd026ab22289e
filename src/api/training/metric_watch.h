// SPDX-License-Identifier: Apache-2.0
// What fit() has seen of the metric by which it judges a training.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "narrowgauge/model.h"
#include "train/plateau.h"

namespace narrowgauge {

// The state of a watch, which checkpoints keep, so that a resumed training ends where it would have
// ended.
struct WatchState {
  std::string metric{};         // that the values are of; "": none yet, or an earlier version's
  double best = 0;              // value so far, however little it was better by
  bool has_best = false;        // whether there was any that is no NaN
  double reference = 0;         // the last that was better than the one before by the least change
  bool has_reference = false;   // whether there was any that is no NaN
  std::int64_t worse = 0;       // values since the reference
  Plateau::State plateau = {};  // of the schedule
  bool operator==(const WatchState&) const = default;
};

// What became of an evaluation.
enum class Verdict : std::uint8_t { none, no_better, best };

// The metrics that evaluations measure where these are asked for: loss and accuracy, which every
// evaluation has, then these.
std::vector<std::string> measured_with(const std::vector<std::string>& metrics);

// Throws UsageError for a metric that evaluations do not have, or numbers that make no sense.
void check(const WatchOptions& options, const std::vector<std::string>& metrics);
// The value that an evaluation has of a metric that check() accepts.
MetricValue watched_in(const Evaluation& evaluation, const std::string& metric);

// Starts the record anew, and says so in the log, if it is of another metric than this one. What a
// plateau has made of the learning rate stays.
void watch_by(WatchState& state, const std::string& metric);
// Takes the next value: `best` if it is better than all before. Patience counts the values that are
// not better than the reference by more than the least change, as Keras' EarlyStopping does.
Verdict judge(WatchState& state, const WatchOptions& options, const MetricValue& value);
// Why a training that waits so long has waited long enough; "" while it has not.
std::string why_over(const WatchState& state, const WatchOptions& options);

std::string text_of(const WatchState& state);
// The inverse. Throws DataError, beginning with `where`, for any other text.
WatchState parse_watch_state(const std::string& text, const std::string& where);

}  // namespace narrowgauge
