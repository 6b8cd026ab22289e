// SPDX-License-Identifier: Apache-2.0
// PyTorch in a process of its own, which trains the same network on the same batch when told to:
// torch_steps.py.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cli/bench/python_process.h"
#include "narrowgauge/graph.h"
#include "narrowgauge/model.h"

namespace narrowgauge::cli {

inline const std::vector<std::string> torch_precisions{"f32", "bf16"};
inline const std::vector<std::string> torch_layouts{"contiguous", "channels_last"};

struct TorchSteps {
  double seconds = 0;
  std::vector<double> losses;
};

class TorchProcess {
 public:
  // Starts NARROWGAUGE_TORCH_PYTHON or else python3, to work with so many threads. Throws
  // UsageError if it has no torch.
  explicit TorchProcess(int threads);

  const std::string& version() const { return version_; }

  // Sets the network that is trained from now on, with the model's present weights, on a batch for
  // the inputs of the graph. Throws ModelError for one that torch does not have here.
  void open(const Model& model, const Graph& graph, std::span<const Tensor> batch);
  TorchSteps step(const std::string& precision, const std::string& layout, std::int64_t count);

 private:
  PythonProcess process_;
  std::string version_;
};

}  // namespace narrowgauge::cli
