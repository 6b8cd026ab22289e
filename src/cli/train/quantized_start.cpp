// SPDX-License-Identifier: Apache-2.0
#include "cli/train/quantized_start.h"

#include <filesystem>

#include "cli/convert/source.h"
#include "cli/task/run_folder.h"
#include "narrowgauge/engine.h"

namespace narrowgauge::cli {

namespace {

// Flags that are given win.
void take_from_run(TrainFlags& flags, const RunRecord& record) {
  require<ModelError>(!record.is_text(), "--quantize: ", *flags.file,
                      " is a run of a language model, whose network is no file of ONNX");
  const Settings& of_run = record.settings;
  if (!flags.data) flags.data = of_run.data;
  GivenSettings taken{{"optimizer", of_run.optimizer},
                      {"learning_rate", of_run.learning_rate / 10}};
  if (!of_run.samples.augment.empty()) taken["augment"] = of_run.samples.augment;
  if (!of_run.samples.layout.empty()) taken["layout"] = of_run.samples.layout;
  if (record.images) {
    taken["mean"] = record.images->transform.mean;
    taken["deviation"] = record.images->transform.deviation;
  }
  flags.given.merge(taken);
}

}  // namespace

QuantizedStart::QuantizedStart(TrainFlags& flags) {
  if (!flags.quantize) return;
  require(flags.file.has_value(),
          "--quantize: needs a trained network, as in `train runs/lenet --quantize int8`");
  ConvertSourceFlags from;
  from.source = flags.file;
  from.calibrate = flags.data;
  from.known = flags.known;
  const bool is_run = std::filesystem::is_directory(*flags.file);
  require(is_run || flags.data, "--quantize: needs --data, for the ranges of the values of ",
          *flags.file);
  const ConvertSource source = open_convert_source(from);
  folder_.emplace();
  const std::string network =
      folder_->file(std::filesystem::path(source.model.name()).stem().string() + "_int8.onnx");
  ConvertOptions options;
  options.precision = EnginePrecision::int8;
  options.calibration = source.calibration;
  prepare_quantized_training(source.model, options, network);
  if (is_run) take_from_run(flags, read_run(*flags.file).record);
  flags.file = network;
  flags.known = {};
}

}  // namespace narrowgauge::cli
