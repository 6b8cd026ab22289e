// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/torch_process.h"

#include "cli/common/temporary_folder.h"
#include "narrowgauge/error.h"
#include "narrowgauge/safetensors.h"

namespace narrowgauge::cli {

TorchProcess::TorchProcess(int threads)
    : process_("--against torch", "torch_steps.py", {std::to_string(threads)}) {
  version_ = process_.read_success<UsageError>().text("torch");
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
  process_.read_success<ModelError>();
}

TorchSteps TorchProcess::step(const std::string& precision, const std::string& layout,
                              std::int64_t count) {
  process_.write_line(concat("step\t", precision, '\t', layout, '\t', count));
  const PythonAnswer answer = process_.read_success<DeviceError>();
  return {answer.number("seconds"), answer.numbers("losses")};
}

}  // namespace narrowgauge::cli
