// SPDX-License-Identifier: Apache-2.0
#include "cli/training/kept_ranges.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "api/conversion/frozen.h"
#include "api/conversion/int8_conversion.h"
#include "api/runs/checkpoint_files.h"
#include "api/runs/checkpoint_folder.h"
#include "cli/common/interrupt.h"
#include "cli/common/terminal.h"
#include "cli/training/trained.h"
#include "quantize/freeze.h"

namespace narrowgauge::cli {

namespace {

constexpr const char* ranges_file = "ranges.json";

struct Interrupted {};  // what a signal makes of the next progress

std::shared_ptr<DataSource> unchanged_samples(Settings settings, const Task& task) {
  if (settings.samples.augment.empty()) return task.training;
  settings.samples.augment.clear();
  return prepare_task(settings, task.images).training;
}

ConvertOptions gathering(const Settings& settings, const Task& task, bool quiet) {
  ConvertOptions options;
  options.precision = EnginePrecision::int8;
  options.calibration = unchanged_samples(settings, task);
  options.seed = static_cast<std::uint64_t>(settings.seed);
  options.progress = [quiet](const ConvertProgress& progress) {
    if (interrupted()) throw Interrupted{};
    if (!quiet && stderr_is_terminal())
      show_status(fmt::format("ranges for int8: {} of {}", progress.done, progress.all));
  };
  return options;
}

// The newest checkpoint and the best, which may be the same one.
std::set<std::string> checkpoints_of(const std::string& folder) {
  std::set<std::string> paths;
  for (const std::string& path : {read_checkpoint(folder).path, best_path(folder)})
    if (!path.empty()) paths.insert(std::filesystem::canonical(path).string());
  return paths;
}

// Returns of how many samples the ranges are.
std::int64_t keep_in(const std::string& checkpoint, ConvertOptions options) {
  TrainedFlags trained;
  trained.run = checkpoint;
  const Opened opened = open_network(trained);
  opened.model->set_precision({});
  options.keep_calibration = path_in(checkpoint, ranges_file);
  const Graph graph = frozen_graph(*opened.model);
  return Int8Conversion(graph, options).samples();
}

}  // namespace

std::optional<std::string> kept_ranges(const Run& run) {
  std::string path = run.file(ranges_file);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::nullopt;
  return path;
}

void require_needs_ranges(const Settings& settings, const Task& task) {
  const Graph graph = frozen_graph(Model(settings.model, task.build));
  require(!is_quantized(graph), "--keep-ranges: ", settings.model,
          " is quantized already, its own ranges stay");
  require(!quantizable(graph).empty(), "--keep-ranges: ", settings.model,
          " has no convolution or product of f32 values with fixed weights, int8 changes nothing");
}

std::optional<std::int64_t> keep_ranges(const std::string& folder, const Settings& settings,
                                        const Task& task, bool quiet) try {
  const InterruptScope interrupts;
  const ConvertOptions options = gathering(settings, task, quiet);
  std::int64_t samples = 0;
  for (const std::string& checkpoint : checkpoints_of(folder))
    samples = keep_in(checkpoint, options);
  show_status("");
  return samples;
} catch (const Interrupted&) {
  show_status("");
  return std::nullopt;
}

}  // namespace narrowgauge::cli
