// SPDX-License-Identifier: Apache-2.0
#include "cli/convert/source.h"

#include <algorithm>
#include <filesystem>

#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/task/run_folder.h"
#include "cli/training/kept_ranges.h"
#include "cli/training/trained.h"
#include "narrowgauge/npz.h"
#include "narrowgauge/random_batch.h"

namespace narrowgauge::cli {

namespace {

constexpr std::int64_t random_samples = 64;

std::shared_ptr<DataSource> random_for(const Model& model,
                                       const std::map<std::string, WholeNumbers>& ranges) {
  return std::make_shared<TensorSource>(
      random_batch(model.graph(Mode::evaluate), random_samples, ranges, 1));
}

// Arrays by the names of the inputs, with "labels" where they are there; nullptr unless the file
// has all inputs.
std::shared_ptr<DataSource> arrays_for(const Model& model, const std::string& data) {
  if (std::filesystem::path(data).extension() != ".npz") return {};
  const std::vector<NamedTensor> arrays = read_npz(data);
  std::vector<Tensor> columns;
  for (const ModelPort& port : model.inputs()) {
    const auto found = std::ranges::find(arrays, port.name, &NamedTensor::name);
    if (found == arrays.end()) return {};
    columns.push_back(found->tensor);
  }
  if (const auto labels = std::ranges::find(arrays, "labels", &NamedTensor::name);
      labels != arrays.end())
    columns.push_back(labels->tensor.cast(DType::i64));
  return std::make_shared<TensorSource>(std::move(columns));
}

std::vector<float> floats(const char* flag, const std::optional<std::string>& text) {
  return text ? parse_floats(flag, *text) : std::vector<float>{};
}

void take_normalization(Settings& settings, const ConvertSourceFlags& flags) {
  settings.mean = floats("--mean", flags.mean);
  settings.deviation = floats("--deviation", flags.deviation);
}

// How a set of data is opened that is neither drawn nor arrays by the names of the inputs.
struct Reading {
  Settings settings;
  std::optional<ImageFacts> images{};  // of a run: how its images became inputs
};

void take_samples(ConvertSource& taken, const std::string& data, Reading reading,
                  const std::map<std::string, WholeNumbers>& ranges = {}) {
  taken.data = data;
  if (data == random_data) {
    taken.calibration = taken.validation = random_for(taken.model, ranges);
  } else if (const auto arrays = arrays_for(taken.model, data)) {
    taken.calibration = taken.validation = arrays;
  } else {
    reading.settings.data = data;
    reading.settings.samples.augment.clear();
    const Task task = prepare_task(reading.settings, reading.images);
    taken.calibration = task.training;
    taken.validation = task.test;
    taken.images = task.images;
  }
}

// The set of a run, unless another is named. With ranges the network can do without samples.
void take_samples_of_run(ConvertSource& taken, const RunRecord& record,
                         const ConvertSourceFlags& flags) {
  const Reading reading{record.settings, record.images};
  if (flags.calibrate) return take_samples(taken, *flags.calibrate, reading);
  try {
    take_samples(taken, record.settings.data, reading);
  } catch (const DataError& error) {
    if (taken.ranges.empty())
      throw DataError(concat(
          error.what(), "; --calibrate names other samples",
          flags.takes_kept_ranges ? ", and `train --keep-ranges` lets a run go without" : ""));
    taken.data.clear();
    say("no samples", concat(error.what(), "; the accuracy is not measured"));
  }
}

void take_ranges(ConvertSource& taken, const Run& run, const ConvertSourceFlags& flags) {
  if (!flags.ranges.empty() || flags.calibrate || !flags.takes_kept_ranges) return;
  const std::optional<std::string> kept = kept_ranges(run);
  if (!kept) return;
  taken.ranges = {*kept};
  taken.ranges_name = "the training, in " + *kept;
}

ConvertSource of_run(const ConvertSourceFlags& flags) {
  require(!flags.known.are_given() && !flags.weights,
          "--weights, --shape and --value: need a file of ONNX or --model, ", *flags.source,
          " is a folder");
  require(!flags.mean && !flags.deviation, "--mean and --deviation: ", *flags.source,
          " is a run, which has its own");
  TrainedFlags trained;
  trained.run = flags.source;
  Opened opened = open_network(trained);
  const RunRecord& record = opened.run.record;
  ConvertSource found{std::move(*opened.model), {}, {}, {}};
  found.model.set_precision({});
  found.ranges = flags.ranges;
  take_ranges(found, opened.run, flags);
  take_samples_of_run(found, record, flags);
  found.images = record.images;
  return found;
}

ConvertSource of_file(const ConvertSourceFlags& flags) {
  require(!flags.weights, "--weights: needs --model, ", *flags.source, " has its own");
  const OnnxTraining training{.open_batch = !flags.known.are_given()};
  ConvertSource found{
      Model::from_onnx(*flags.source, known_inputs(flags.known), training), {}, {}, {}};
  if (!flags.calibrate) return found;
  Settings settings;
  settings.model = settings.onnx.file = *flags.source;
  settings.onnx.shapes = flags.known.shapes;
  settings.onnx.values = flags.known.values;
  take_normalization(settings, flags);
  take_samples(found, *flags.calibrate, {settings});
  return found;
}

ConvertSource of_network(const ConvertSourceFlags& flags) {
  require(!flags.known.are_given(), "--shape and --value: need a file of ONNX");
  const NetworkChoice network = choose_network(flags.network);
  ConvertSource found{Model(network.model, network.build()), {}, {}, {}};
  if (flags.weights) found.model.load(*flags.weights, {.only_finite = true});
  if (!flags.calibrate) return found;
  Settings settings = usual_settings(network.model, "sgd");
  settings.samples.image = flags.network.image.value_or("");
  take_normalization(settings, flags);
  take_samples(found, *flags.calibrate, {settings}, network.ranges());
  return found;
}

}  // namespace

EnginePixels pixels_of(const ConvertSource& source, const ConvertSourceFlags& flags,
                       std::string_view layout) {
  EnginePixels pixels;
  pixels.channels_last = layout == "nhwc";
  if (source.images) {
    const ImageFacts& images = *source.images;
    pixels.channels = images.drawn.channels;
    pixels.height = images.drawn.height;
    pixels.width = images.drawn.width;
    pixels.mean = images.transform.mean;
    pixels.deviation = images.transform.deviation;
    return pixels;
  }
  require(flags.mean && flags.deviation,
          "--pixels: nothing tells how pixels are normalized, --mean and --deviation would");
  pixels.mean = floats("--mean", flags.mean);
  pixels.deviation = floats("--deviation", flags.deviation);
  return pixels;
}

ConvertSource open_convert_source(const ConvertSourceFlags& flags) {
  require(flags.source || flags.network.model,
          "convert: what to convert is missing: a run, a file of ONNX, or --model");
  require(!flags.source || !flags.network.model, "convert: ", flags.source.value_or(""),
          " is a network, --model is another");
  const bool is_run = flags.source && std::filesystem::is_directory(*flags.source);
  ConvertSource found = is_run ? of_run(flags) : flags.source ? of_file(flags) : of_network(flags);
  if (!flags.ranges.empty()) found.ranges = flags.ranges;
  if (found.ranges_name.empty())
    found.ranges_name = found.ranges.empty() ? found.data : listed(found.ranges);
  return found;
}

}  // namespace narrowgauge::cli
