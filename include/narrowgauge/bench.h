// SPDX-License-Identifier: Apache-2.0
// How fast networks train in each precision on this machine. The precisions of a network take turns
// iteration by iteration, so that other load on the machine meets all alike:
//
//   const BenchOutcome outcome = benchmark({.networks = {{"mine", build, softmax_cross_entropy(),
//                                                         {{"labels", {0, 10}}}}},
//                                           .precisions = {"ieee", "bf16"}});
//   const double times = rate_ratio(outcome.rows[1], outcome.rows[0]).median;
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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
inline constexpr std::array<std::string_view, 6> bench_precisions{"ieee", "f32", "dfp16",
                                                                  "bf16", "f16", "auto"};

// A network to train, and what its inputs hold.
struct BenchNetwork {
  std::string name;                              // each name once in a task
  BuildNetwork build;                            // makes its inputs and layers
  Loss loss;                                     // what training minimises
  std::map<std::string, WholeNumbers> ranges{};  // of inputs of whole numbers, labels among them
};

// SGD with rate 0.01 on one random batch, the same weights and batch for all precisions.
struct BenchTask {
  std::vector<BenchNetwork> networks{};                               // trained one after another
  std::vector<std::string> precisions{"ieee", "f32", "bf16", "f16"};  // of bench_precisions
  std::int64_t batch = 32, iterations = 10;  // samples in a step; turns of each precision
  std::int64_t batches = 10;                 // steps in an iteration
  std::int64_t seed = 1;                     // of weights and batch
  int threads = 0;                           // 0: as many as the calling thread uses
  bool profile = false;                      // for rooflines: times kernels in as many steps more
};

// Interpolated quartiles; NaN of nothing.
struct Quartiles {
  double lower, median, upper;  // a quarter, half and three quarters of the values lie below
};
NG_API Quartiles quartiles_of(std::vector<double> values);  // in any order

// One network in one precision, or another program's training of it.
struct NG_API BenchRow {
  std::string model, precision;  // name of the network; one of bench_precisions, or a rival's
  std::string rival{};           // whose training it is; "": ours
  std::string layout{};          // of images in the rival's memory
  std::vector<double> rates{};   // samples a second, of each iteration
  std::vector<double> losses{};  // of the first three steps, warm-up included
  std::int64_t steps = 0, skipped_steps = 0;  // all, warm-up included; of these without an update
  TrainingMemory memory{};  // of our training; a rival's row repeats that of our first precision
  std::int64_t batch_bytes = 0, largest_batch = 0;  // of the batch; most samples that fit memory
  bool random = false;        // has dropout: its losses are those of the numbers drawn
  TrainingProfile profile{};  // its kernels; their times where the task asks for a profile

  bool is_rival() const { return !rival.empty(); }          // whether another program trained
  Quartiles spread() const { return quartiles_of(rates); }  // of `rates`; NaN without one
  double rate() const { return spread().median; }  // samples a second, the median; NaN without one
  double first_loss() const;                       // NaN before a step
};

// What the row is called beside others of its model: "bf16", "torch bf16".
NG_API std::string label_of(const BenchRow& row);

// Whether a precision trains f32 values: ieee, f32 or dfp16.
NG_API bool is_f32(const std::string& precision);

// The row of the same model in ieee, or else in f32; nullptr without one.
NG_API const BenchRow* base_of(const std::vector<BenchRow>& rows, const BenchRow& row);

// Quartiles of the ratio of rates, each round's against the other's of the same round.
NG_API Quartiles ratio_quartiles(std::span<const double> rates, std::span<const double> others);

// Quartiles of the ratio of two rows' rates in iterations.
NG_API Quartiles rate_ratio(const BenchRow& row, const BenchRow& other);

// The median of rate_ratio() of the row and its base_of(); NaN without one.
NG_API double speed_up(const std::vector<BenchRow>& rows, const BenchRow& row);
// The first loss of the row divided by that of its base_of(), less 1; NaN without one.
NG_API double loss_difference(const std::vector<BenchRow>& rows, const BenchRow& row);

// The makers of the kernels that ran, most work first: "oneDNN amx", "own amx bf16x3", "own". For
// contractions with the instructions and the way of keeping f32 or f16.
NG_API std::vector<std::string> kernel_families(const std::vector<Trainer::KernelChoice>& kernels);

// Another program that trains the same networks, by turns with ours.
class NG_API Rival {
 public:
  // What some steps of training took and gave.
  struct Steps {
    double seconds = 0;          // of wall-clock time, for all the steps
    std::vector<double> losses;  // of each step
  };

  virtual ~Rival() = default;
  virtual std::string version() const = 0;  // of the program, for reports
  // The rows that run beside these of one network.
  virtual std::vector<BenchRow> rows_beside(std::span<const BenchRow> own) const = 0;
  // Takes over the network with its present weights; the batch holds the inputs of the graph.
  virtual void open(const Model& model, const Graph& graph, std::span<const Tensor> batch) = 0;
  // Takes so many steps on the batch of open(), in the row's precision and layout. Each row trains
  // weights of its own, from where its last steps left them.
  virtual Steps train(const BenchRow& row, std::int64_t steps) = 0;
};

// The precision that "auto" stood for, and why.
struct SettledPrecision {
  std::string precision, reason;  // "f32", "bf16" or "f16"; a text for people
};

// What benchmark() found.
struct BenchOutcome {
  std::vector<BenchRow> rows{};  // those that ran
  std::vector<std::string>
      sequences{};  // networks whose precisions did not fit into memory at once
  std::map<std::string, SettledPrecision> settled{};  // of each network, where auto is asked for
  std::optional<PeakRates> machine{};                 // with a profile
  std::vector<BenchRow> rivals{};  // the rival's rows, without layouts far behind the other
  std::string rival_version{};     // what Rival::version() says; "" without a rival
  bool stopped = false;            // by BenchWatch::stop; rows and iterations may be missing
};

// What a benchmark does at the moment.
struct BenchStatus {
  // The parts of a benchmark; only benchmark_kernels() is ever timing contractions.
  enum class Stage : std::uint8_t {
    choosing_precision,
    planning_memory,
    making_weights,
    warming_up,
    iterating,
    measuring_peaks,
    timing_contractions
  };
  Stage stage{};                    // what is under way
  std::string model{}, label{};     // of the row; neither for the machine's peaks
  std::int64_t number = 0, of = 0;  // of the iteration or contraction under way
  double rate = 0;                  // samples a second in the iteration before; 0: there is none
};

// Called while a benchmark runs; each may be empty.
struct BenchWatch {
  std::function<void(const BenchStatus&)> status{};  // when what is under way changes
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
  std::string model, precision;               // name of the network; one of bench_precisions
  std::vector<ContractionTime> contractions;  // in the order of the plan
};
// What benchmark_kernels() found.
struct KernelOutcome {
  PeakRates peaks{};              // the better of each rate before and after the contractions
  std::vector<KernelRow> rows{};  // of each network in each precision; after a stop, those begun
  bool stopped = false;           // by BenchWatch::stop; contractions may be missing
};
// Times the contractions of each network and precision, and the machine's peaks. Throws UsageError
// for unknown precisions. The task's iterations, batches and profile do not matter. A stop comes
// between two contractions.
NG_API KernelOutcome benchmark_kernels(const BenchTask& task, const BenchWatch& watch = {});

// The share of the peak of its math that a contraction reached.
NG_API double of_peak(const ContractionTime& time, const PeakRates& peaks);

// All contractions of a step together, each counted as often as it occurs in the step. The share of
// the peak is the time they would take at the peak of each one's math, divided by the time they
// took; 0 without contractions.
struct KernelTotal {
  double milliseconds = 0, flops = 0, of_peak = 0;  // of a step; the last is the share of the peak
};
// Sums up the contractions of one network in one precision, KernelRow::contractions.
NG_API KernelTotal total_of(const std::vector<ContractionTime>& contractions,
                            const PeakRates& peaks);

}  // namespace narrowgauge
