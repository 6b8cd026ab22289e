// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/python_process.h"

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace narrowgauge::cli {

struct PythonAnswer::Content {
  nlohmann::json fields;
};

std::string PythonAnswer::text(std::string_view field) const {
  return content_->fields.value(field, "");
}
double PythonAnswer::number(std::string_view field) const {
  return content_->fields.value(field, 0.0);
}
std::vector<double> PythonAnswer::numbers(std::string_view field) const {
  return content_->fields.value(field, std::vector<double>());
}
bool PythonAnswer::is(std::string_view field) const { return content_->fields.value(field, false); }

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string python() {
  const char* chosen = std::getenv("NARROWGAUGE_TORCH_PYTHON");
  return chosen && *chosen ? chosen : "python3";
}

// The script lies beside the program where it was built, and where it was installed.
std::string script_path(const std::string& who, const std::string& script) {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  const fs::path built = folder / "share/narrowgauge" / script;
  const fs::path installed = folder.parent_path() / "share/narrowgauge" / script;
  for (const fs::path& path : {built, installed})
    if (fs::exists(path, error)) return path.string();
  throw DataError(concat(who, ": there is no ", installed.string()));
}

std::vector<std::string> command(const std::string& python, const std::string& script,
                                 std::vector<std::string> words) {
  words.insert(words.begin(), {python, script});
  return words;
}

}  // namespace

PythonProcess::PythonProcess(std::string who, const std::string& script,
                             std::vector<std::string> words)
    : who_(std::move(who)),
      python_(python()),
      process_(command(python_, script_path(who_, script), std::move(words))) {}

PythonAnswer PythonProcess::read_answer() {
  const std::optional<std::string> line = process_.read_line();
  json answer = line ? json::parse(*line, nullptr, false) : json();
  if (answer.is_object())
    return PythonAnswer(std::make_shared<PythonAnswer::Content>(std::move(answer)));
  const int code = process_.wait();
  require(code != Subprocess::cannot_start, who_, ": ", python_, " cannot be started");
  throw DeviceError(concat(who_, ": ", python_, " ended early, with ", code));
}

}  // namespace narrowgauge::cli
