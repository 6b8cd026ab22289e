// SPDX-License-Identifier: Apache-2.0
// How fast networks train in each precision on this machine. The precisions of a network take turns
// iteration by iteration, so that other load on the machine meets all alike:
//
//   const BenchOutcome outcome = benchmark({.networks = {{"mine", build, softmax_cross_entropy(),
//                                                         {{"labels", {0, 10}}}}},
//                                           .precisions = {"ieee", "bf16"}});
//   const double times = rate_ratio(outcome.rows[1], outcome.rows[0]).median;
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "narrowgauge/contraction_time.h"
#include "narrowgauge/export.h"
#include "narrowgauge/model.h"
#include "narrowgauge/model_info.h"
#include "narrowgauge/random_batch.h"
#include "narrowgauge/roofline.h"

namespace narrowgauge {

// ieee, f32 and dfp16 train f32 values: with contractions in IEEE's f32, in the way of keeping f32
// that suits the machine (bf16x3, dfp16 or ieee), or in dfp16. The others are mixed precision; auto
// is the format that is fastest here.
inline const std::vector<std::string> bench_precisions{"ieee", "f32", "dfp16",
                                                       "bf16", "f16", "auto"};

struct BenchNetwork {
  std::string name;  // each name once in a task
  BuildNetwork build;
  Loss loss;
  std::map<std::string, WholeNumbers> ranges{};  // of inputs of whole numbers, labels among them
};

// SGD with rate 0.01 on one random batch, the same weights and batch for all precisions.
struct BenchTask {
  std::vector<BenchNetwork> networks{};
  std::vector<std::string> precisions{"ieee", "f32", "bf16", "f16"};
  std::int64_t batch = 32, iterations = 10;
  std::int64_t batches = 10;  // steps in an iteration
  std::int64_t seed = 1;      // of weights and batch
  int threads = 0;            // 0: as many as the calling thread uses
  bool profile = false;       // for rooflines: times kernels in as many steps more
};

// Interpolated quartiles; NaN of nothing.
struct Quartiles {
  double lower, median, upper;
};
NG_API Quartiles quartiles_of(std::vector<double> values);

// One network in one precision, or another program's training of it.
struct NG_API BenchRow {
  std::string model, precision;
  std::string rival{};           // whose training it is; "": ours
  std::string layout{};          // of images in the rival's memory
  std::vector<double> rates{};   // samples a second, of each iteration
  std::vector<double> losses{};  // of the first three steps, warm-up included
  std::int64_t steps = 0, skipped_steps = 0;
  TrainingMemory memory{};
  std::int64_t batch_bytes = 0, largest_batch = 0;
  bool random = false;        // has dropout: its losses are those of the numbers drawn
  TrainingProfile profile{};  // its kernels; their times where the task asks for a profile

  bool is_rival() const { return !rival.empty(); }
  Quartiles spread() const { return quartiles_of(rates); }
  double rate() const { return spread().median; }
  double first_loss() const;  // NaN before a step
};

// What the row is called beside others of its model: "bf16", "torch bf16".
NG_API std::string label_of(const BenchRow& row);

// Whether a precision trains f32 values: ieee, f32 or dfp16.
NG_API bool is_f32(const std::string& precision);

// The row of the same model in ieee, or else in f32; nullptr without one.
NG_API const BenchRow* base_of(const std::vector<BenchRow>& rows, const BenchRow& row);

// Quartiles of the ratio of rates, each iteration against the other row's of the same round.
NG_API Quartiles rate_ratio(const BenchRow& row, const BenchRow& other);

// The row's speed (the median of rate_ratio()) and first loss against those of base_of(); NaN where
// there is none.
NG_API double speed_up(const std::vector<BenchRow>& rows, const BenchRow& row);
NG_API double loss_difference(const std::vector<BenchRow>& rows, const BenchRow& row);

// Whose kernels ran, most work first: "oneDNN amx", "own amx bf16x3", "own". For contractions with
// the instructions and the way of keeping f32 or f16.
NG_API std::vector<std::string> kernel_families(const std::vector<Trainer::KernelChoice>& kernels);

// Another program that trains the same networks, by turns with ours.
class NG_API Rival {
 public:
  struct Steps {
    double seconds = 0;
    std::vector<double> losses;  // of each step
  };

  virtual ~Rival() = default;
  virtual std::string version() const = 0;
  // The rows that run beside these of one network.
  virtual std::vector<BenchRow> rows_beside(std::span<const BenchRow> own) const = 0;
  // Takes over the network with its present weights; the batch holds the inputs of the graph.
  virtual void open(const Model& model, const Graph& graph, std::span<const Tensor> batch) = 0;
  virtual Steps train(const BenchRow& row, std::int64_t steps) = 0;
};

// The precision that "auto" stood for, and why.
struct SettledPrecision {
  std::string precision, reason;
};

struct BenchOutcome {
  std::vector<BenchRow> rows{};  // those that ran
  std::vector<std::string>
      sequences{};  // networks whose precisions did not fit into memory at once
  std::map<std::string, SettledPrecision> settled{};  // of each network, where auto is asked for
  std::optional<PeakRates> machine{};                 // with a profile
  std::vector<BenchRow> rivals{};  // the rival's rows, without layouts far behind the other
  std::string rival_version{};
  bool stopped = false;
};

// What a benchmark does at the moment.
struct BenchStatus {
  enum class Stage : std::uint8_t {
    choosing_precision,
    planning_memory,
    making_weights,
    warming_up,
    iterating,
    measuring_peaks,
    timing_contractions
  };
  Stage stage{};
  std::string model{}, label{};     // of the row; neither for the machine's peaks
  std::int64_t number = 0, of = 0;  // of the iteration or contraction under way
  double rate = 0;                  // samples a second in the iteration before; 0: there is none
};

// Called while a benchmark runs; each may be empty.
struct BenchWatch {
  std::function<void(const BenchStatus&)> status{};
  std::function<void(const BenchRow&)> iteration{};  // after each, whose rate is the row's last
  std::function<bool()> stop{};                      // asked after each step; true ends all
};

// Two batches warm up, then the iterations run. A rival's layout that is far slower than its other
// one after the warm-up gets no turns. If the precisions of a network do not fit into memory
// together, those of f32 run first, then the narrow ones; if that is too much, each alone. Throws
// UsageError for unknown precisions, OutOfMemoryError for a network that does not fit.
NG_API BenchOutcome benchmark(const BenchTask& task, const BenchWatch& watch = {},
                              Rival* rival = nullptr);

// Every distinct contraction of a training step, alone and warm.
struct KernelRow {
  std::string model, precision;
  std::vector<ContractionTime> contractions;
};
struct KernelOutcome {
  PeakRates peaks{};
  std::vector<KernelRow> rows{};
  bool stopped = false;
};
// The task's iterations, batches and profile do not matter. A stop comes between two contractions.
NG_API KernelOutcome benchmark_kernels(const BenchTask& task, const BenchWatch& watch = {});

// The share of the peak of its math that a contraction reached.
NG_API double of_peak(const ContractionTime& time, const PeakRates& peaks);

// The sum over all nodes: milliseconds, and the share of the peak of each contraction's math. Both
// count a contraction as often as it occurs in the step.
struct KernelTotal {
  double milliseconds = 0, flops = 0, of_peak = 0;
};
NG_API KernelTotal total_of(const std::vector<ContractionTime>& contractions,
                            const PeakRates& peaks);

}  // namespace narrowgauge
