// SPDX-License-Identifier: Apache-2.0
#include "cli/formats/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/threads/parallel.h"
#include "cli/common/text.h"
#include "cli/training/training.h"
#include "narrowgauge/error.h"
#include "narrowgauge/models.h"
#include "study/gradients.h"

namespace narrowgauge::cli {
namespace {

constexpr double usual_loss_scale = 65536;

Values values_of_file(const FormatsFlags& flags) {
  const std::string& path = *flags.histogram;
  require(!flags.data && !flags.batch && !flags.loss_scale,
          "formats: --data, --batch and --loss-scale need the folder of a run, ", path,
          " is a file");
  TensorFile file = read_safetensors(path);
  ValueSet set{"tensors", {}, 1};
  for (NamedTensor& tensor : file.tensors)
    if (is_floating(tensor.tensor.dtype())) set.tensors.push_back(std::move(tensor));
  require<DataError>(!set.tensors.empty(), path,
                     ": expected tensors of floating-point numbers, found ", file.tensors.size(),
                     " of others");
  return {path, {std::move(set)}};
}

// The flag's loss scale, or that of a run in f16 when it was saved, or the usual one.
double loss_scale_of(const FormatsFlags& flags, const Run& run) {
  if (flags.loss_scale) return *flags.loss_scale;
  if (run.record.settings.precision.narrow != DType::f16) return usual_loss_scale;
  return loss_scale_of(run.checkpoint).value_or(usual_loss_scale);
}

std::vector<Tensor> first_batch(const Task& task, std::int64_t batch) {
  BatchLoader loader(task.training, {.batch = batch, .shuffle = true, .epochs = 1});
  auto next = loader.next();
  require<DataError>(next.has_value(), task.data, ": has no batch of ", batch);
  return std::move(next->tensors);
}

std::string with_scale(double scale) { return fmt::format("gradients x {}", number_text(scale)); }

Values values_of_run(const FormatsFlags& flags) {
  const std::string& folder = *flags.histogram;
  Run run = read_run(folder);
  RunRecord& record = run.record;
  Settings& settings = record.settings;
  require_network(settings);
  if (flags.data) settings.data = *flags.data;
  const Task task = prepare_task(settings, record.images);
  const std::int64_t batch = std::min(flags.batch.value_or(settings.batch), task.training_size);
  const ThreadScope threads(settings.threads > 0 ? settings.threads : thread_count());
  Model model = model_of(settings, record.images);
  load_weights(model, run);
  Gradients found = gradients_of(model, task.loss, first_batch(task, batch));

  ValueSet weights{"weights", {}, 1}, gradients{"gradients", std::move(found.tensors), 1};
  for (const NamedTensor& gradient : gradients.tensors)
    weights.tensors.push_back({gradient.name, model.state(gradient.name)});
  const double scale = loss_scale_of(flags, run);
  ValueSet scaled{with_scale(scale), gradients.tensors, scale};
  const std::string source =
      fmt::format("{}: {} on {}; gradients in f32 of {} samples, loss {}", folder, settings.model,
                  settings.data, batch, number_text(found.loss));
  return {source, {std::move(weights), std::move(gradients), std::move(scaled)}};
}

}  // namespace

Values read_values(const FormatsFlags& flags) {
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(*flags.histogram, ignored);
  return folder ? values_of_run(flags) : values_of_file(flags);
}

}  // namespace narrowgauge::cli
