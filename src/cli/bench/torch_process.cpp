// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/torch_process.h"

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "narrowgauge/error.h"
#include "narrowgauge/safetensors.h"

namespace narrowgauge::cli {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

std::string python() {
  const char* chosen = std::getenv("NARROWGAUGE_TORCH_PYTHON");
  return chosen && *chosen ? chosen : "python3";
}

// The script lies beside the program where it was built, and where it was installed.
std::string script_path() {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  const fs::path built = folder / "share/narrowgauge/torch_steps.py";
  const fs::path installed = folder.parent_path() / "share/narrowgauge/torch_steps.py";
  for (const fs::path& path : {built, installed})
    if (fs::exists(path, error)) return path.string();
  throw DataError(concat("--against torch: there is no ", installed.string()));
}

template <class Error>
json read_answer(Subprocess& process) {
  const std::optional<std::string> line = process.read_line();
  const json answer = line ? json::parse(*line, nullptr, false) : json();
  if (!answer.is_object()) {
    const int code = process.wait();
    require(code != Subprocess::cannot_start, "--against torch: ", python(), " cannot be started");
    throw DeviceError(concat("--against torch: ", python(), " ended early, with ", code));
  }
  require<Error>(!answer.contains("error"), "--against torch: ", answer.value("error", ""));
  return answer;
}

// A folder that is removed with everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "narrowgauge_XXXXXX").string();
    require<DataError>(mkdtemp(pattern.data()) != nullptr, pattern, ": cannot be made");
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

}  // namespace

TorchProcess::TorchProcess(int threads)
    : process_({python(), script_path(), std::to_string(threads)}) {
  version_ = read_answer<UsageError>(process_).value("torch", "");
}

void TorchProcess::open(const Model& model, const Graph& graph, std::span<const Tensor> batch) {
  const TemporaryFolder folder;
  const std::string weights = folder.file("weights"), inputs = folder.file("batch");
  model.save(weights);
  TensorFile file;
  for (std::size_t i = 0; i < batch.size(); ++i)
    file.tensors.push_back({graph.value_name(graph.inputs()[i]), batch[i]});
  write_safetensors(inputs, file);
  process_.write_line(concat("open\t", model.name(), '\t', weights, '\t', inputs));
  read_answer<ModelError>(process_);
}

TorchSteps TorchProcess::step(const std::string& precision, const std::string& layout,
                              std::int64_t count) {
  process_.write_line(concat("step\t", precision, '\t', layout, '\t', count));
  const json answer = read_answer<DeviceError>(process_);
  return {answer.at("seconds"), answer.at("losses")};
}

}  // namespace narrowgauge::cli
