// SPDX-License-Identifier: Apache-2.0
#include "cli/report/repeat_command.h"

#include <algorithm>
#include <set>
#include <vector>

#include "api/runs/checkpoint_files.h"
#include "api/runs/checkpoint_folder.h"
#include "cli/training/train_flags.h"

namespace narrowgauge::cli {
namespace {

using Words = std::vector<std::string>;

// What tells one run from others is said even where it is usual, and ahead of all else.
constexpr const char* always[] = {"model", "data",      "amp", "epochs",
                                  "batch", "optimizer", "lr",  "seed"};
// What a plan decides in their place.
const std::set<std::string> of_precision{"amp", "math", "policy", "master-weights",
                                         "weight-rounding"};

class Command {
 public:
  void add(const std::string& flag, const Words& words) {
    if (words == Words{"true"}) {
      text_ += " --" + flag;
    } else if (words == Words{"false"}) {
      text_ += " --no-" + flag;
    } else {
      for (const std::string& word : words) text_ += " --" + flag + ' ' + shell_word(word);
    }
  }
  void add_word(const std::string& word) { text_ += ' ' + shell_word(word); }
  std::string take() && { return std::move(text_); }

 private:
  std::string text_ = "narrowgauge train";
};

void add_network(Command& command, const OnnxSettings& onnx) {
  if (onnx.file.empty()) return;
  command.add_word(onnx.file);
  command.add("shape", onnx.shapes);
  command.add("value", onnx.values);
  if (onnx.batch_norm) command.add("train-batch-norm", {"true"});
}

// The flags that save have flags of their own.
TrainFlags saving() {
  TrainFlags flags;
  flags.output = "";
  return flags;
}

// The settings of a run of the same network and optimizer that was told nothing else.
SettledFlags usual_flags(const Settings& settings) {
  Settings usual = usual_settings(settings.model, settings.optimizer);
  usual.onnx = settings.onnx;
  usual.onnx.output.clear();
  usual.precision.set_amp(settings.precision.amp());
  return settled_flags(saving(), usual);
}

}  // namespace

std::string shell_word(const std::string& word) {
  constexpr std::string_view plain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:,=+@%-";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + '\'';
}

std::string repeat_command(const Run& run, bool planned) {
  const Settings& settings = run.record.settings;
  SettledFlags flags = settled_flags(saving(), settings);
  const SettledFlags usual = usual_flags(settings);
  Command command;
  add_network(command, settings.onnx);
  if (planned) {
    for (const std::string& flag : of_precision) flags.erase(flag);
    command.add("plan", {run.file(plan_file)});
  }
  for (const char* flag : always)
    if (const auto found = flags.find(flag); found != flags.end()) {
      command.add(flag, found->second);
      flags.erase(found);
    }
  for (const auto& [flag, words] : flags) {
    const auto found = usual.find(flag);
    const bool off = found == usual.end() && words == Words{"false"};
    if (!off && (found == usual.end() || found->second != words)) command.add(flag, words);
  }
  if (!planned) command.add("override", settings.precision.overrides);
  command.add("output", {run_folder_of(run.checkpoint.path) + "-again"});
  return std::move(command).take();
}

}  // namespace narrowgauge::cli
