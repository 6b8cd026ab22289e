// SPDX-License-Identifier: Apache-2.0
// A frozen network with any choice of its contractions on bytes.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "api/conversion/validation.h"
#include "narrowgauge/engine.h"
#include "quantize/byte_values.h"
#include "quantize/calibration.h"
#include "quantize/quantize_graph.h"

namespace narrowgauge {

class Int8Conversion {
 public:
  // Both must outlive it. Learns the ranges of values that may be bytes, from the samples or the
  // files that the options name, and keeps them in the file for that.
  Int8Conversion(const Graph& f32, const ConvertOptions& options);
  Int8Conversion(const Graph& f32, ConvertOptions&& options) = delete;

  std::int64_t samples() const { return calibration_.samples(); }  // that ranges are from
  const std::vector<int>& candidates() const { return candidates_; }
  const Graph& prepared() const { return prepared_; }
  const Calibration& calibration() const { return calibration_; }

  // The network with these of the candidates on bytes.
  Graph with_bytes_in(const std::set<int>& contractions) const;
  Graph with_all() const { return with_bytes_in({candidates_.begin(), candidates_.end()}); }
  // The graph for training that goes on, see prepare_quantized_training().
  Graph trainable() const;
  // The error of the output for each candidate when it alone computes on bytes, those that it reads
  // with all candidates.
  std::map<int, double> sensitivity(const Validation& validation) const;

 private:
  std::vector<Value> values_to_observe() const;
  CalibratedNetwork network() const;
  Calibration learn() const;
  Calibration observed(const std::vector<Value>& values) const;  // on samples
  Calibration kept(const std::vector<Value>& values) const;      // in files
  void require_same_network(const Calibration& part, const std::vector<Value>& values,
                            const std::string& file) const;
  std::optional<Tensor> bias_shift_of(int node) const;
  Quantization quantization(const std::set<int>& contractions) const;
  Graph quantized(const Quantization& quantization) const;

  const ConvertOptions& options_;
  Graph prepared_;  // whose channels have ranges that agree
  std::vector<int> candidates_;
  Calibration calibration_;
};

// The contractions of a frozen network that may compute on bytes.
std::vector<int> quantizable(const Graph& graph);
// Whether the options tell where ranges come from.
bool has_ranges(const ConvertOptions& options);
// Throws UsageError where a frozen network of this name cannot be converted to int8.
void require_quantizable(const std::string& name, const Graph& graph,
                         const ConvertOptions& options);

}  // namespace narrowgauge
