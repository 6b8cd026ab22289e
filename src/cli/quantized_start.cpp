// SPDX-License-Identifier: Apache-2.0
#include "cli/quantized_start.h"

#include <fmt/format.h>

#include <filesystem>

#include "cli/convert/source.h"
#include "cli/run_folder.h"
#include "narrowgauge/engine.h"

namespace narrowgauge::cli {

namespace {

template <class T, class Value>
void take_unless_given(std::optional<T>& flag, const Value& value) {
  if (!flag) flag = value;
}

std::string numbers_text(const std::vector<float>& numbers) {
  return fmt::format("{}", fmt::join(numbers, ","));
}

void take_from_run(TrainFlags& flags, const RunRecord& record) {
  require<ModelError>(!record.is_text(), "--quantize: ", *flags.file,
                      " is a run of a language model, whose network is no file of ONNX");
  take_unless_given(flags.data, record.settings.data);
  take_unless_given(flags.optimizer, record.settings.optimizer);
  take_unless_given(flags.learning_rate, record.settings.learning_rate / 10);
  if (!record.settings.samples.augment.empty())
    take_unless_given(flags.augment, record.settings.samples.augment);
  if (!record.settings.samples.layout.empty())
    take_unless_given(flags.layout, record.settings.samples.layout);
  if (!record.images) return;
  take_unless_given(flags.mean, numbers_text(record.images->transform.mean));
  take_unless_given(flags.deviation, numbers_text(record.images->transform.deviation));
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
