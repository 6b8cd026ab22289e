// SPDX-License-Identifier: Apache-2.0
// What a model file of ONNX holds and costs, known before anything runs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "narrowgauge/model.h"
#include "narrowgauge/model_info.h"

namespace narrowgauge {

// The nodes of one op in a file.
struct OnnxOpCount {
  std::string op;               // "Conv", "com.microsoft.Gelu"
  std::int64_t nodes = 0;       // in the graph, the graphs inside of nodes, and functions
  bool known = false;           // computed here, as an op or by the model's own function
  bool differentiable = false;  // has a gradient, or consists of ops that may have one
};

// A file of ONNX.
struct OnnxInfo {
  std::string producer, description;           // "pytorch 2.9"; the doc string
  std::int64_t ir_version = 0;                 // of the file format
  std::map<std::string, std::int64_t> opsets;  // by domain; "ai.onnx" is ""
  std::vector<ModelPort> inputs, outputs;      // without initializers
  std::vector<OnnxOpCount> ops;                // the most frequent first
  std::int64_t parameters = 0;                 // numbers in float initializers
  std::int64_t bytes = 0;                      // of all initializers
  std::optional<ModelInfo> costs;              // nothing where shapes or ops are not known
  std::string reason;                          // why there are no costs
};

// Reads the file; nothing is computed. Sizes that it leaves open count as 1 in `costs`, unless
// `known` fixes them. Throws DataError for a file that is damaged, UsageError where `known` does
// not fit the inputs.
NG_API OnnxInfo onnx_info(const std::string& path, const KnownInputs& known = {});

}  // namespace narrowgauge
