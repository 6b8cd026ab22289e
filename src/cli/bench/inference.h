// SPDX-License-Identifier: Apache-2.0
// How fast the inference of trained networks is: latency and throughput by batch and precision,
// beside other programs that predict by the same file by turns.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "narrowgauge/bench.h"
#include "narrowgauge/model.h"

namespace narrowgauge::cli {

inline const std::vector<std::string> inference_precisions{"ieee", "f32", "dfp16", "bf16", "f16"};
inline const std::vector<std::int64_t> usual_batches{1, 32};

// A network as a file of ONNX; sizes that it leaves open are those of `known`, or the batch where
// they come first, or 1.
struct InferenceNetwork {
  std::string name, path;
  KnownInputs known{};
};

struct InferenceTask {
  std::vector<InferenceNetwork> networks{};
  std::vector<std::int64_t> batches{};  // none: the usual ones, or the one that a file fixes
  std::vector<std::string> precisions{"ieee", "f32", "bf16"};
  std::vector<std::string> peers{};  // "onnxruntime", "openvino"
  // The files of peers that predict by one of their own; the task then has one network.
  std::map<std::string, std::string> peer_files{};
  std::int64_t rounds = 7;  // turns of each
  double seconds = 0.3;     // of a turn, at least one prediction
  int threads = 0;          // 0: as many as the calling thread uses
};

// One network at one batch in one precision, by one program.
struct InferenceRow {
  std::string model{}, program{}, precision{};  // program: "" is ours
  std::string peer_file{};                      // of its own; "" where all predict by one
  std::int64_t batch = 1;
  double load_seconds = 0;        // from the file to the first prediction
  std::int64_t load_bytes = 0;    // of memory that this added to the process
  std::vector<double> seconds{};  // of each prediction
  std::vector<double> rates{};    // samples a second, of each round: by its median prediction
  double difference = 0;          // of the predictions from those of the first row at this batch
  std::string missing{};          // why there is no measurement; "" if there is one

  bool is_peer() const { return !program.empty(); }
  double percentile(double share) const;  // of `seconds`; NaN of none
};

struct InferenceOutcome {
  std::vector<InferenceRow> rows{};
  std::vector<std::string> versions{};  // "onnxruntime 1.32.0"
  int threads = 0;                      // of each contender
  bool stopped = false;
};

// Which of two contenders is measured, for whoever waits.
using InferenceStatus = std::function<void(const InferenceRow& row, std::int64_t round)>;

// Loads all contenders of a network at a batch, then lets them take turns. Throws UsageError where
// a peer's library is missing or a file fixes another batch.
InferenceOutcome benchmark_inference(const InferenceTask& task, const InferenceStatus& status,
                                     const std::function<bool()>& stop);

// The fastest peer of the row's network and batch, in its format (any, from a file of its own) or
// else in f32; nullptr: none ran.
const InferenceRow* peer_for(const InferenceOutcome& outcome, const InferenceRow& row);

// Throws CheckError where a peer's predictions are not ours: then the times mean nothing.
// Predictions by a file of its own need the same names and sizes only.
void check_answers(const InferenceOutcome& outcome);

}  // namespace narrowgauge::cli
