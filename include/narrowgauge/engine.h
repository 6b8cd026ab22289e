// SPDX-License-Identifier: Apache-2.0
// A trained network made ready for inference: its weights are fixed, its normalizations folded,
// and, where it is asked for, its numbers are 16 or 8 bits wide. Says what that cost.
//
//   Model model = Model::from_onnx("resnet50.onnx");
//   const Engine engine = convert(model, {.precision = EnginePrecision::int8,
//                                         .calibration = pictures});
//   engine.save("resnet50_int8.onnx");
//   Tensor scores = engine.predict(batch);  // from any number of threads
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "narrowgauge/data.h"
#include "narrowgauge/export.h"
#include "narrowgauge/model.h"

namespace narrowgauge {

// What an engine computes in.
enum class EnginePrecision : std::uint8_t { automatic, f32, bf16, f16, int8 };
NG_API std::string_view name(EnginePrecision precision);               // "auto", "f32", ...
NG_API EnginePrecision parse_engine_precision(std::string_view name);  // throws UsageError

// How far conversion is.
struct ConvertProgress {
  std::string_view stage;          // "calibrating", "measuring", "sensitivity"
  std::int64_t done = 0, all = 0;  // samples, or ops
};

// Pixels u8 that an engine takes instead of images f32 that are normalized already.
struct NG_API EnginePixels {
  bool channels_last = true;  // [N,H,W,C]; else [N,C,H,W]
  // The shape of pictures, where it is not that of the network's images: the only channel is then
  // repeated, and black pixels come around. 0: as in the network.
  std::int64_t channels = 0;           // 1, or as many as the network takes
  std::int64_t height = 0, width = 0;  // pixels
  // (x - mean) / deviation, where x is pixel / 255: one number for all channels of the network, or
  // one for each.
  std::vector<float> mean{0.0f};
  std::vector<float> deviation{1.0f};  // as the mean
};

// How convert() works.
struct NG_API ConvertOptions {
  EnginePrecision precision = EnginePrecision::automatic;  // see EnginePrecision
  // Formats by a plan for the model's graph(Mode::evaluate), or one that it was to be trained by,
  // as Model::set_plan() takes them; `precision` is then that of the plan, or automatic.
  std::optional<PrecisionPlan> plan{};
  // Samples whose first tensors are the inputs of the network, in its order. Needed for int8, whose
  // ranges they tell; unlabelled ones will do.
  std::shared_ptr<DataSource> calibration{};
  std::int64_t calibration_samples = 256;  // as many of them, drawn by `seed`, each by itself
  // "absmax", "percentile(99.99)", "entropy" or "mse": how ranges follow from what was seen.
  std::string calibrator = "mse";
  // Ranges from files that earlier conversions of this network kept, merged, instead of samples.
  std::vector<std::string> calibration_files{};
  std::string keep_calibration{};  // the file to keep them in, for `calibration_files`; "": none
  // 8, or 7: for runtimes that multiply bytes by AVX2, whose sums of two products saturate beyond
  // 16 bits (ONNX Runtime on CPUs without VNNI).
  int weight_bits = 8;
  bool channel_scales = true;  // of weights: a scale for each output channel, else one for all
  bool equalize = true;        // ranges of channels across layers; results stay as they are
  bool correct_bias = true;    // by what rounded weights shift the means of channels
  // Samples on which the loss of accuracy is measured: the inputs, then a label of a class (i64),
  // where there is one. Nothing: the samples for calibration.
  std::shared_ptr<DataSource> validation{};
  std::int64_t validation_samples = 0;  // the first so many; 0: all
  // The most that may be lost: points of accuracy, or, without labels, percent of the output (root
  // of mean squares). Ops go back to f32, those first that cost most, until it is kept. On machines
  // with a unit for bf16, what does not compute in int8 is then in bf16 if that keeps the limit too
  // and is faster. Nothing: int8 wherever it can be; 0.5 for EnginePrecision::automatic.
  std::optional<double> max_drop{};
  bool sensitivity = false;  // measures each op by itself, also where no op need go back
  std::int64_t sensitivity_samples = 16;  // on which
  std::uint64_t seed = 1;                 // of the samples for calibration
  // What the engine takes in place of its only input, images f32 [N,C,H,W]. Samples for calibration
  // and validation are such images all the same, and times are without the way from pixels.
  std::optional<EnginePixels> pixels{};
  // Called in the thread of convert(); what it throws ends the conversion.
  std::function<void(const ConvertProgress&)> progress{};
};

// What a network gives on the samples for validation.
struct NG_API EngineAccuracy {
  std::optional<double> accuracy;  // share of labels that are right, where there are labels
  double agreement = 1;            // share of samples with the class that the f32 network gives
  // Root of mean squares of the difference to f32, over that of the output; the largest where there
  // are several outputs. Outputs of whole numbers count where there are no others.
  double error = 0;
};

// A contraction of the network, also one that int8 leaves as it is.
struct NG_API ConvertedOp {
  std::string name, op;                 // "layer1.0.conv1", "Conv"
  std::string precision;                // "int8", "f32", ...
  std::string why;                      // it has this precision
  std::optional<double> sensitivity{};  // error of the output when it alone computes on bytes
};

// A precision that EnginePrecision::automatic tried.
struct NG_API EngineCandidate {
  EnginePrecision precision = EnginePrecision::f32;  // of the whole
  double milliseconds = 0;                           // for one sample by itself
  bool within_budget = true;                         // see ConvertOptions::max_drop
};

// What was converted, and what it cost.
struct NG_API ConversionReport {
  EnginePrecision precision = EnginePrecision::f32;  // of the engine
  EngineAccuracy before, after;                      // in f32; of the engine
  std::int64_t validation_samples = 0;               // that these are of
  std::int64_t calibration_samples = 0;              // that ranges are from; 0: none were needed
  std::int64_t bytes_before = 0, bytes_after = 0;    // of weights
  // The time for one sample by itself, the median of several; 0 without samples to measure on.
  double milliseconds_before = 0, milliseconds_after = 0;  // in f32; of the engine
  std::vector<EngineCandidate> candidates{};  // that EnginePrecision::automatic took one of
  std::vector<ConvertedOp> ops;               // in the order of the network
  std::optional<double> max_drop;             // as asked for
  // The accuracy lost, in the unit of max_drop: points of accuracy, or percent of the output.
  double drop() const;
  bool within_budget() const { return !max_drop || drop() <= *max_drop; }  // see max_drop
};

// What is done with ENGINE.cache, a file beside an engine's file: which kernels are fastest on this
// machine, and the weights as these kernels pack them. Engines map it, so that they predict sooner
// and processes share these weights. One of another CPU, version or network, or a damaged one, is
// refused with a warning; NARROWGAUGE_ENGINE_CACHE=off is CacheUse::off everywhere. The engine's
// file is mapped too, and weights that no kernel packs are read from it: replace such a file as a
// whole, as save() does, and do not write over it while an engine is open.
enum class CacheUse : std::uint8_t {
  off,   // nothing, and weights are copied into memory
  read,  // taken where it is; one that is refused is made anew with the first prediction
  make   // the same; it is made where there is none, and the first prediction adds what it lacks
};

// A network for inference alone. Any number of threads may ask at once: they share its plans and
// its weights.
class NG_API Engine {
 public:
  // Opens a file that save() wrote, or any other of ONNX. Throws as Model::from_onnx() does.
  static Engine open(const std::string& path, CacheUse cache = CacheUse::read);
  // Opens a file in memory, which is copied: it need not stay. It has no cache. A name and tensors
  // in other files as for Model::from_onnx().
  static Engine open(std::span<const std::byte> bytes, const OnnxMemory& memory = {});
  ~Engine();
  Engine(Engine&&) noexcept;             // the other throws UsageError when it is used
  Engine& operator=(Engine&&) noexcept;  // the same
  // Another one that predicts as this does, and shares plans and weights with it. Each may outlive
  // the other.
  Engine clone() const;

  // Outputs by name, for inputs by name; see Model::run().
  std::vector<NamedTensor> run(std::span<const NamedTensor> inputs) const;
  // The first output, for inputs in their order; see Model::predict().
  Tensor predict(std::span<const Tensor> inputs) const;
  Tensor predict(const Tensor& input) const;  // of a network with one input
  // Writes the outputs into memory that the caller has; see Model::predict().
  void predict(std::span<const Tensor> inputs, std::span<Tensor> outputs) const;
  void predict(const Tensor& input, Tensor& output) const;  // of a network with one of each
  std::vector<ModelPort> inputs() const;                    // in their order
  std::vector<ModelPort> outputs() const;                   // in their order
  void set_plan_memory(std::int64_t bytes);                 // see Model::set_plan_memory()

  // Writes a file of ONNX with QuantizeLinear, DequantizeLinear and Cast nodes, which other
  // runtimes read too. Throws DataError. Its cache is made anew for this machine by predicting a
  // batch of 1, unless `cache` is another: none for networks that have more open sizes than the
  // batch.
  void save(const std::string& path, CacheUse cache = CacheUse::make) const;
  [[nodiscard]] std::vector<std::byte> save() const;  // the bytes of such a file; see to_onnx()
  const ConversionReport& report() const;             // empty for an engine from a file

 private:
  friend NG_API Engine convert(const Model& model, const ConvertOptions& options);
  friend struct EngineAccess;  // internal
  struct Implementation;
  explicit Engine(std::shared_ptr<Implementation> implementation);
  Held<"engine", std::shared_ptr<Implementation>> implementation_;
};

// Throws UsageError for options that do not fit each other or the network, DataError for samples
// that do not fit it. An engine that loses more than `max_drop` is returned, and its report says
// so.
NG_API Engine convert(const Model& model, const ConvertOptions& options);

// A range that a calibrator chose.
struct NG_API ChosenRange {
  std::string calibrator;   // "mse"
  float low = 0, high = 0;  // of the numbers that bytes then stand for
  float scale = 1;          // from one of them to the next
  double clipped = 0;       // share of the value's elements that are beyond it
};

// A value that is bytes in an engine in int8, and what calibration saw of it.
struct NG_API ComparedRanges {
  std::string name;                 // in the network
  float least = 0, most = 0;        // of its elements
  std::vector<ChosenRange> chosen;  // by each calibrator as it is by itself, without a number
};

// The ranges between which ConvertOptions::calibrator chooses, in the order of the network. Values
// that must agree, such as the parts of a Concat, have one range. Throws as convert() does.
NG_API std::vector<ComparedRanges> compare_ranges(const Model& model,
                                                  const ConvertOptions& options);

// Writes a file of ONNX from which training goes on as the network will compute on bytes: values
// pass through QuantizeLinear and DequantizeLinear, whose ranges calibration found, normalizations
// are in the convolutions, and weights and biases are f32. Throws as convert() does.
NG_API void prepare_quantized_training(const Model& model, const ConvertOptions& options,
                                       const std::string& path);

}  // namespace narrowgauge
