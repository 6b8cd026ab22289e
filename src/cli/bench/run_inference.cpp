// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/files/atomic_file.h"
#include "cli/bench/flags.h"
#include "cli/bench/inference.h"
#include "cli/bench/inference_report.h"
#include "cli/common/exit_code.h"
#include "cli/common/interrupt.h"
#include "cli/common/temporary_folder.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"

namespace narrowgauge::cli {
namespace {

void check_inference_flags(const BenchFlags& flags) {
  require(!flags.request.kernels && !flags.roofline && !flags.steps,
          "--kernels, --roofline and --batches: of training, not with --inference");
  require(std::ranges::find(flags.against, "torch") == flags.against.end(),
          "--against: with --inference onnxruntime and openvino, not torch, which reads no ONNX");
  for (const std::string& precision : flags.precisions)
    require(std::ranges::find(inference_precisions, precision) != inference_precisions.end(),
            "--precision: expected ", choices(inference_precisions), " with --inference, got \"",
            precision, '"');
  require(!flags.models.empty() || !flags.files.empty(),
          "bench: --model or the file of a network is required");
}

std::map<std::string, std::string> peer_files(const BenchFlags& flags) {
  std::map<std::string, std::string> files;
  for (const std::string& text : flags.peer_files) {
    const auto [peer, file] = parse_assignment(text);
    require(!peer.empty() && !file.empty(), "--peer-file: expected PEER=FILE, got \"", text, '"');
    require(std::ranges::find(flags.against, peer) != flags.against.end(), "--peer-file: \"", peer,
            "\" is not one of --against");
    require<DataError>(std::filesystem::is_regular_file(file), file, ": is not a file");
    require(files.emplace(peer, file).second, "--peer-file: two files for ", peer);
  }
  require(files.empty() || flags.models.size() + flags.files.size() == 1,
          "--peer-file: stands beside one network, got ", flags.models.size() + flags.files.size());
  return files;
}

// The task without its networks.
InferenceTask settled_task(const BenchFlags& flags) {
  InferenceTask task;
  task.batches = batch_sizes(flags);
  if (!flags.precisions.empty()) task.precisions = flags.precisions;
  take("--iterations", task.rounds, flags.iterations, most_samples);
  take("--threads", task.threads, flags.threads, most_threads);
  task.peers = flags.against;
  task.peer_files = peer_files(flags);
  return task;
}

// Built-in networks become files in the folder.
InferenceTask inference_task(const BenchFlags& flags, const TemporaryFolder& folder) {
  InferenceTask task = settled_task(flags);
  for (const std::string& path : flags.files)
    task.networks.push_back(
        {std::filesystem::path(path).stem().string(), path, known_inputs(flags.known)});
  for (const std::string& name : flags.models) {
    const std::string path = folder.file(name + ".onnx");
    Model(name, choose_one(flags, name).build(), static_cast<std::uint64_t>(flags.seed.value_or(1)))
        .to_onnx(path);
    task.networks.push_back({name, path});
  }
  return task;
}

}  // namespace

int run_inference(const BenchFlags& flags) {
  check_inference_flags(flags);
  if (flags.request.plot) require_writable_file(*flags.request.plot);
  const TemporaryFolder folder;
  const InferenceTask task = inference_task(flags, folder);
  const InterruptScope interrupts;
  const InferenceOutcome outcome = benchmark_inference(
      task,
      [](const InferenceRow& row, std::int64_t round) {
        show_status(inference_status_text(row, round));
      },
      interrupted);
  show_status("");
  if (flags.request.json)
    print(inference_json(outcome).line());
  else if (!outcome.rows.empty())
    print(inference_table(outcome) + '\n' + inference_remarks(task, outcome));
  if (flags.request.plot && !outcome.rows.empty())
    write_file_atomically(*flags.request.plot, inference_picture(outcome));
  if (!outcome.stopped) {
    check_answers(outcome);
    return ExitCode::ok;
  }
  say("interrupted", "stopped before all rounds were done");
  return interrupted_code();
}

SettledFlags settled_inference_flags(const BenchFlags& flags) {
  check_inference_flags(flags);
  const InferenceTask task = settled_task(flags);
  return {
      {"precision", {fmt::format("{}", fmt::join(task.precisions, ","))}},
      {"batch",
       {fmt::format("{}", fmt::join(task.batches.empty() ? usual_batches : task.batches, ","))}},
      {"iterations", {std::to_string(task.rounds)}},
      {"seed", {std::to_string(flags.seed.value_or(1))}},
      {"threads", {std::to_string(task.threads)}}};
}

}  // namespace narrowgauge::cli
