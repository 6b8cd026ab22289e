// SPDX-License-Identifier: Apache-2.0
// How much a converted network loses: its predictions beside those in f32, and beside the labels.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "api/conversion/frozen.h"
#include "api/programs/contraction_profile.h"
#include "narrowgauge/engine.h"

namespace narrowgauge {

class Validation {
 public:
  // The first `count` samples of a source (0: all), whose first tensors are the inputs of `graph`,
  // the network in f32. Runs it.
  Validation(const Graph& graph, std::shared_ptr<DataSource> source, std::int64_t count,
             std::function<void(std::int64_t done, std::int64_t all)> progress);

  std::int64_t samples() const { return samples_; }
  const EngineAccuracy& before() const { return before_; }
  // The accuracy of another form of the network, on the first `most` samples (0: all).
  EngineAccuracy of(const Graph& graph, std::int64_t most = 0) const;
  // The milliseconds in which each of these forms of the network predicts one sample: the median of
  // several times. They run by turns, so that what else the machine does slows all of them.
  std::vector<double> milliseconds(const std::vector<const Graph*>& graphs) const;
  // The milliseconds that the contractions of these names take then.
  ContractionTimes contraction_milliseconds(const Graph& graph,
                                            const std::set<std::string>& names) const;

 private:
  class Tally;
  using Outputs = std::vector<Tensor>;
  // Calls `use` with each batch and what the network gives for it.
  void run(const Graph& graph, std::int64_t most,
           const std::function<void(const Batch&, const Outputs&)>& use) const;

  Batch smallest_batch(const Graph& graph) const;  // of one sample, where the network takes it

  std::shared_ptr<DataSource> source_;
  std::size_t inputs_;
  std::int64_t samples_;
  std::function<void(std::int64_t, std::int64_t)> progress_;
  std::vector<Outputs> outputs_;  // of the network in f32, batch by batch
  EngineAccuracy before_;
};

}  // namespace narrowgauge
