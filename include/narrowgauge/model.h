// SPDX-License-Identifier: Apache-2.0
// A network with its weights: trained, evaluated, saved, loaded, asked for predictions.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "narrowgauge/data.h"
#include "narrowgauge/metrics.h"
#include "narrowgauge/models.h"
#include "narrowgauge/named_tensor.h"
#include "narrowgauge/network.h"
#include "narrowgauge/optimizer.h"
#include "narrowgauge/step_outcome.h"

namespace narrowgauge {

// Which tensors of a file load() takes.
enum class LoadMatch : std::uint8_t {
  exact,  // exactly the model's tensors, each with its type; f32 and f64 are converted
  shape   // those with a name and shape of the model; other real formats are converted
};
NG_API LoadMatch parse_load_match(std::string_view name);  // throws UsageError

// What load() takes and refuses.
struct NG_API LoadOptions {
  LoadMatch match = LoadMatch::exact;  // which tensors it takes
  bool only_finite = false;  // infinities and NaN are a DataError; else they are only reported
};

// What load() did; names are in alphabetical order.
struct NG_API LoadReport {
  std::int64_t taken = 0;            // tensors
  std::vector<std::string> missing;  // of the model, not in the file: they stay as they were
  std::vector<std::string> extra;    // in the file, not of the model
  // A tensor of another shape.
  struct Mismatch {
    std::string name;        // in both
    TensorType model, file;  // what each has
  };
  std::vector<Mismatch> mismatched;  // in both, but of another shape: they stay as they were
  // A tensor that holds infinities or NaN.
  struct NotFinite {
    std::string name;                  // in the model
    std::int64_t count = 0, size = 0;  // infinities and NaN; all numbers
  };
  std::vector<NotFinite> not_finite;  // among the taken
};

// An input or output of a model.
struct NG_API ModelPort {
  std::string name;                // as run() takes and gives it
  std::optional<TensorType> type;  // nothing: known only when the model runs
};

// What is known of the inputs of a model file before it runs, by name.
struct KnownInputs {
  std::map<std::string, Dims> sizes{};     // shapes in place of sizes that the file leaves open
  std::map<std::string, Tensor> values{};  // of inputs that become constants
};

// How a model file is read that lies in memory.
struct OnnxMemory {
  std::string name = "model.onnx";  // stands for the path in messages and names the network
  // The bytes of a file in which the model keeps tensors (external data), by its location in the
  // model. They must stay until the call that reads the model returns. None: such tensors are a
  // DataError.
  std::function<std::span<const std::byte>(const std::string& location)> external{};
};

// What training makes of BatchNormalization that a model file has in its form for inference.
enum class BatchNormForm : std::uint8_t {
  stored,   // normalizes by the means and variances of the file, in training too
  training  // normalizes by those of the batch, and keeps running averages, which begin with the
            // file's
};

// How the network of a model file is trained.
struct OnnxTraining {
  std::string output{};                              // that loss and metrics are of; "": the first
  BatchNormForm batch_norm = BatchNormForm::stored;  // of all its normalizations
  // Leaves the first size of all inputs open where the file fixes it at the same number, unless
  // other shapes in the file need that.
  bool open_batch = false;
};

// predict() and run() may be called from any number of threads at once. Each call computes in
// memory of its own. As many of these as the machine has cores (at least four) are kept for later
// calls, and the plans of the last input shapes (set_plan_memory()). Changes of weights or
// precision (set_state(), load(), set_precision(), a Trainer's step() and resume()) wait for
// running predictions, and later predictions wait for them; so it is with the first prediction of
// each shape, which compiles. A Trainer belongs to one thread at a time. A Model that was moved
// from throws UsageError when it is used; assigned to, it is as good as any.
class NG_API Model {
 public:
  // Builds the network and its initial weights, a function of the seed. `name` is for files and
  // messages. Throws what `build` throws.
  explicit Model(std::string name, BuildNetwork build, std::uint64_t seed = 1);
  // A network from a file of ONNX, of any opset, with the names that it has there. Its float
  // initializers are the parameters. Throws DataError for a file that is damaged, ModelError naming
  // node and op for what is not supported, UsageError where `known` does not fit the inputs.
  static Model from_onnx(const std::string& path, const KnownInputs& known = {},
                         const OnnxTraining& training = {});
  // Reads a file in memory, which is copied: it need not stay.
  static Model from_onnx(std::span<const std::byte> bytes, const OnnxMemory& memory = {},
                         const KnownInputs& known = {}, const OnnxTraining& training = {});
  // Writes what predict() computes as a file of ONNX: in f32, or with a Cast wherever
  // set_precision() changes a format. Inputs, outputs, parameters and nodes keep their names, and
  // open sizes stay open; `batch` fixes the first size of all inputs where it is open, and then no
  // other may be. An op of the program is said by the ops that it decomposes into, or stands in its
  // own domain with its attributes: from_onnx() reads it where register_op() made it known. Weights
  // of 2 GiB and more go to the file `path`.data beside it. Throws ModelError naming node and op
  // for what ONNX cannot say, UnknownValueError where a shape depends on values that only a run
  // knows, DataError for what cannot be written.
  void to_onnx(const std::string& path, std::optional<std::int64_t> batch = {}) const;
  // The bytes of such a file, with all weights inside; DataError from 2 GiB on.
  [[nodiscard]] std::vector<std::byte> to_onnx(std::optional<std::int64_t> batch = {}) const;
  ~Model();
  Model(Model&&) noexcept;             // the Trainer of the other goes on with this one
  Model& operator=(Model&&) noexcept;  // the same; a Trainer of what this was goes on with that

  const std::string& name() const;  // as given
  Graph graph(Mode mode) const;     // f32, with the symbol N for the batch

  // Output for a batch of inputs; the evaluation graph. Throws UsageError for another shape.
  Tensor predict(const Tensor& input);
  Tensor predict(std::span<const Tensor> inputs);  // for a network with several inputs
  // Into memory that the caller has: a tensor for each of outputs(), in their order, of the type
  // that it has for these inputs. Once a prediction of these shapes was made, the call takes no
  // memory. Throws UsageError, and writes nothing, for other types and for memory that overlaps
  // that of an input or another output.
  void predict(std::span<const Tensor> inputs, std::span<Tensor> outputs);
  void predict(const Tensor& input, Tensor& output);  // of a network with one of each
  // All outputs for inputs by name, in any order. Throws UsageError naming an input that is
  // missing, unknown, or of another type. Where shapes depend on values that only a run knows, the
  // model is planned anew for each shape of the inputs, or computed node by node; elements of
  // sequences are then called "name[0]", "name[1]", ...
  std::vector<NamedTensor> run(std::span<const NamedTensor> inputs);
  std::vector<ModelPort> inputs() const;   // in the order of predict()
  std::vector<ModelPort> outputs() const;  // in the order of run()
  // Makes predict() and Trainer::evaluate() compute as `wanted`, in plain f32 by default. Once a
  // Trainer is made, they compute as it trains.
  void set_precision(PrecisionRequest wanted);
  // Sets formats by a plan for graph(Mode::evaluate), or by one that this network was to be trained
  // by, which is followed where the graphs have the same nodes. Throws ModelError for a plan of
  // another network.
  void set_plan(PrecisionPlan plan);
  // How many bytes the plans of input shapes may take, those of predictions, and of each graph of a
  // Trainer or Step of this model: 256 MiB unless this is called. The oldest go first, but the last
  // 32 are kept in any case. A shape whose plan is not kept is compiled again. Throws UsageError
  // for a negative number.
  void set_plan_memory(std::int64_t bytes);

  // Parameters and running statistics as safetensors; load() also takes the folder of a run and
  // reads its newest checkpoint. Throws DataError for a file that is damaged or does not fit (with
  // LoadMatch::shape: of which nothing fits); nothing is changed then. load() ignores what other
  // programs store beside weights: batch counts (*.num_batches_tracked) and position numbers
  // (*.position_ids). Weights that are not finite are loaded, with a warning in the log. A file
  // records the formats in which the saved model predicted; the loading model predicts so too,
  // unless a Trainer or set_precision() decided.
  void save(const std::string& path) const;
  [[nodiscard]] std::vector<std::byte> save() const;  // the bytes of such a file
  LoadReport load(const std::string& path, const LoadOptions& options = {});  // see save()
  // Loads safetensors in memory, which are copied; `name` stands for the file in messages.
  LoadReport load(std::span<const std::byte> bytes, const LoadOptions& options = {},
                  const std::string& name = "model.safetensors");
  // Another model of the same network, with copies of all weights and statistics, and of what steps
  // and a Trainer keep beside them. What becomes of one of the two changes nothing in the other.
  Model clone() const;
  std::vector<std::string> state_names() const;  // of parameters and statistics
  Tensor state(std::string_view name) const;     // a copy
  // Throws UsageError for an unknown name and for another type.
  void set_state(std::string_view name, const Tensor& value);
  std::string sha256() const;  // of all parameters and running statistics

  struct Implementation;

 private:
  friend struct ModelAccess;  // internal
  explicit Model(std::shared_ptr<Implementation> implementation);
  Held<"model", std::shared_ptr<Implementation>> implementation_;
};

// What one step did.
struct NG_API StepResult {
  StepOutcome outcome = StepOutcome::applied;  // applied, or why it was skipped
  double loss = 0;                             // unscaled
  double scale = 1;                            // of the loss in this step
  double norm = 0;                             // of all gradients, unscaled and before clipping
  double learning_rate = 0;                    // of this step, after the schedule
  bool applied() const { return outcome == StepOutcome::applied; }  // whether the weights changed
};

// Means over the samples of a source.
struct NG_API Evaluation {
  double loss = 0;      // that training minimizes
  double accuracy = 0;  // share of labels that are right; NaN where the targets are no classes
  std::vector<MetricValue> metrics{};  // of TrainerOptions: `metrics`, then `own_metrics`
  std::int64_t samples = 0;            // that the means are over
  std::int64_t not_finite = 0;  // samples whose prediction holds an infinity or NaN: none is right
};

// What a Trainer does where a step needs more memory than there is.
enum class Recompute : std::uint8_t {
  off,       // throws OutOfMemoryError
  automatic  // the backward pass computes cheap results again instead of keeping them: same bits
};

// How a Trainer works, beside what its Optimizer says.
struct NG_API TrainerOptions {
  std::uint64_t seed = 1;                  // of dropout and of the order of the data
  bool deterministic = false;              // the same bits for any number of threads
  int threads = 0;                         // 0: all
  std::optional<std::string> plan_file{};  // a precision plan instead of the policy's
  std::optional<std::string> plan_text{};  // its text, where plan_file only names it
  std::string plan_reason{};               // kept in the plan: why this format
  // NARROWGAUGE_AMP and NARROWGAUGE_AUTO_MIXED_PRECISION choose a format where the optimizer, and a
  // plan, ask for none.
  bool obeys_environment = true;
  // Each batch is computed in so many equal parts, one after the other, whose gradients add up: the
  // same step in less memory, but for statistics of the batch (BatchNormalization) and dropout.
  // Losses must be means over samples of equal weight.
  std::int64_t accumulation = 1;
  Recompute recompute = Recompute::off;             // where memory does not suffice
  std::function<void(const std::string&)> trace{};  // text of what each pass of compilation did
  std::vector<std::string> metrics{};  // that evaluations also measure, as metric_help() names them
  std::vector<OwnMetric> own_metrics{};  // of the program itself
};

struct Checkpoint;       // checkpoint.h
class CheckpointFolder;  // internal

// What fit() reports while it runs. Return false to stop after this step.
struct NG_API Progress {
  std::int64_t epoch = 0, epochs = 0;    // the one under way, from 0; of FitOptions
  std::int64_t batch = 0, batches = 0;   // within the epoch, after this step
  double samples_per_second = 0;         // over the epoch so far
  double mean_loss = 0;                  // over the epoch so far
  double input_share = 0;                // of the time so far: waiting for samples to be read
  std::int64_t skipped_steps = 0;        // in all
  StepResult last;                       // of the step just made
  bool epoch_done = false;               // the last step of its epoch
  std::optional<Evaluation> evaluation;  // at the end of an epoch, where a test source was given
  // Path of the checkpoint that was just written, else empty. It is reported in a call of its own,
  // whose other fields repeat the call before.
  std::string checkpoint;
};
using ProgressCallback = std::function<bool(const Progress&)>;  // called in the thread of fit()

// Where and how often fit() writes checkpoints. It also writes one at its end and when the callback
// stops it; only the end writes one before any step was applied. A checkpoint that cannot be
// written ends the training with its DataError; earlier ones stay.
struct NG_API CheckpointOptions {
  std::string folder{};           // of the run (checkpoint.h); "": none are kept
  std::int64_t every_steps = 0;   // counted over the whole run; 0: not by steps
  double every_seconds = 0;       // of time, after the step under way; 0: not by time
  std::int64_t every_epochs = 0;  // after its evaluation; with all three 0: each epoch
  std::int64_t keep = 2;          // the last so many; older ones are removed, and other runs'
  // Keeps one more, the link RUN/best: that of the evaluation which FitOptions::watch finds best.
  bool best = false;
  std::map<std::string, std::string> files{};  // name and content of more to keep in each
  std::shared_ptr<CheckpointFolder> locked{};  // the folder, where it is locked already
};

// The metric of its evaluations by which fit() judges a training: for early stopping, the best
// checkpoint and a schedule with a plateau.
struct NG_API WatchOptions {
  std::string metric = "loss";  // "loss", "accuracy" or one of TrainerOptions' metrics
  // Ends the training after so many evaluations in a row that were no better; 0: never.
  std::int64_t patience = 0;
  // For patience, a value is better by more than this. The best checkpoint is that of the best
  // value, however little it was better by.
  double least_change = 0;
};

// What fit() does.
struct NG_API FitOptions {
  std::int64_t epochs = 1;   // in all: fit() does what is left of them after a resume() or a fit()
  std::int64_t batch = 128;  // samples in a step
  bool evaluate_each_epoch = true;  // else only at the end
  CheckpointOptions checkpoints{};  // none unless they have a folder
  WatchOptions watch{};             // by which the training is judged
  // So many skipped steps in a row end the training with a DivergedError; at least 1.
  std::int64_t most_skips = 100;
};

// What fit() did.
struct NG_API FitResult {
  double first_loss = 0, final_loss = 0;      // of the first step; mean over the last epoch
  double samples_per_second = 0;              // training only, waiting for samples included
  double input_share = 0;                     // of that time: waiting for samples to be read
  std::int64_t steps = 0, skipped_steps = 0;  // taken in this call; of these without an update
  Evaluation test;                            // after the last epoch; of the test source
  bool stopped = false;                       // by the callback
  std::string ended_early{};                  // why it ended before its last epoch; "": it did not
  std::string checkpoint;                     // path of the last that was written
};

// What f16 lost of the gradients, over the steps that Trainer::flushed() counts.
struct NG_API FlushReport {
  std::int64_t flushed = 0, elements = 0;  // of f16 gradients: made zero by rounding, and all
  std::string first;                       // the first value, in backward order, that lost some
  std::int64_t first_flushed = 0, first_elements = 0;  // of that value
};

// What a step computes twice to need less memory.
struct NG_API RecomputeReport {
  std::vector<std::string> nodes;  // of the forward pass, whose results are computed again
  std::int64_t saved_bytes = 0;    // of activations
  double flops = 0;                // more a step, about
};

// Shares its Model, which may end before it or be moved. A new Trainer takes the model over with
// fresh moments, counters and loss scale; an earlier one then throws UsageError when asked to
// train, and so does one that was moved from. Belongs to one thread at a time.
class NG_API Trainer {
 public:
  // Compiles on the first step, when the batch size is known. Throws UsageError when mixed
  // precision was asked for and nothing would become narrow, a plan is in another format, or there
  // is no such metric.
  Trainer(Model& model, Loss loss, Optimizer optimizer, TrainerOptions options = {});
  ~Trainer();
  Trainer(Trainer&&) noexcept;             // the model stays the same
  Trainer& operator=(Trainer&&) noexcept;  // the same
  // Another one for a clone() of this one's model that was made since the last step: it goes on
  // with the same moments, counters, random numbers and kernels, bit for bit. Throws UsageError for
  // another network, for the same model, and while averages stand in the place of the weights.
  Trainer clone(Model& model) const;

  // One step on the tensors of a batch: the network's inputs, then the loss's. A step that throws
  // does not count.
  StepResult step(std::span<const Tensor> batch);
  // Means of loss and accuracy over all samples, computed as the network trains.
  Evaluation evaluate(const std::shared_ptr<DataSource>& source, std::int64_t batch = 256);
  // Throws DivergedError when the loss is not finite for several steps in a row, when the test loss
  // is not finite after an epoch, when FitOptions::most_skips steps in a row were skipped, or when
  // no step could be applied; throws UsageError naming the process that already writes to the
  // folder of checkpoints, and where something waits for evaluations and there are none.
  FitResult fit(const std::shared_ptr<DataSource>& training,
                const std::shared_ptr<DataSource>& test, const FitOptions& options,
                const ProgressCallback& progress = {});

  const PrecisionPlan& plan() const;      // of the training graph
  Graph graph() const;                    // the training graph in f32, before precision
  std::int64_t applied_steps() const;     // since the training began
  std::int64_t skipped_steps() const;     // since the training began
  std::int64_t activation_bytes() const;  // most bytes of values alive at once; 0 before a step
  // The bytes of parameters with their narrow copies, statistics and moments; before a step without
  // copies.
  std::int64_t state_bytes() const;
  // What the step computes again because memory does not suffice; nothing before the first step.
  RecomputeReport recomputed() const;
  // Losses by f16 in the steps so far on batches of the latest size; all zeros before the first
  // step.
  FlushReport flushed() const;
  // The kernel that a node of the training step runs.
  struct KernelChoice {
    std::string node, op, implementation;  // names; the last is for people
    KernelFacts facts;                     // for decisions and comparisons
    Phase phase = Phase::forward;          // part of the step
    double milliseconds = 0;               // summed over the steps since enable_profile()
    Math math = Math::none;                // of a contraction
    double flops = 0;        // of a step: multiplications and additions of contractions
    std::int64_t bytes = 0;  // of a step: operands, each read or written once
    std::string why{};       // this kernel, where others would have taken the node too
  };
  // Steps are timed kernel by kernel from now on, and with `keeps_runs` also run by run.
  void enable_profile(bool keeps_runs = false);
  void disable_profile();                     // what was measured stays
  std::vector<KernelChoice> kernels() const;  // in the order of the plan; empty before a step
  // One run of a kernel, as chrome_trace() (trace.h) draws it.
  struct KernelRun {
    std::size_t kernel = 0;              // place among kernels()
    double begin = 0, milliseconds = 0;  // begin: in ms of std::chrono::steady_clock
  };
  std::vector<KernelRun> kernel_runs() const;  // in the order of time

  // Later steps keep a copy of their gradients, or no longer do: for histograms.
  void keep_gradients(bool keeps);
  // The gradients of the latest step, by the names of the parameters, f32 and unscaled, before
  // clipping; none unless they were kept.
  std::vector<NamedTensor> gradients() const;

  // Puts the averages of Optimizer::ema_decay in the place of the model's weights, for predict(),
  // save() and to_onnx(), or the weights back in theirs. Until then the Trainer evaluates, but does
  // not train and adds no checkpoint. Throws UsageError where there are no averages.
  void swap_averages();

  // Adds a checkpoint to the folder of a run (checkpoint.h) and returns its path. Whenever the
  // program ends or the power fails, the earlier checkpoints or this one too are whole. Keeps the
  // last two of this run, and none of another run in the folder. resume() continues from the newest
  // as if never stopped; throws DataError for one of another model, optimizer or precision.
  std::string save(const std::string& folder) const;
  void resume(const std::string& folder);     // see save()
  void resume(const Checkpoint& checkpoint);  // one that was read
  std::int64_t epochs_done() const;           // by fit(), also before it was saved and resumed

 private:
  friend struct TrainerAccess;  // internal
  struct Implementation;
  explicit Trainer(std::shared_ptr<Implementation> implementation);
  Held<"trainer", std::shared_ptr<Implementation>> implementation_;
};

}  // namespace narrowgauge
