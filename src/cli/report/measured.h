// SPDX-License-Identifier: Apache-2.0
// What a report computes anew with the network of a run.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/report/results.h"
#include "cli/training/trained.h"
#include "narrowgauge/explain.h"
#include "narrowgauge/trace.h"
#include "study/ranges.h"

namespace narrowgauge::cli {

// A training step of the run by its plan, and why each node has its format. Needs no data.
struct StepPlan {
  Graph graph;
  Explanation explanation;
  bool edited = false;  // whether somebody changed the plan by hand
};
StepPlan plan_of_step(const Run& run);

// A trained network on its data, which collects what it takes samples for as it is evaluated.
class Measured {
 public:
  // `also`: metrics beside the usual ones. Throws DataError where the data are gone or do not fit.
  Measured(const TrainedFlags& flags, const std::vector<std::string>& also);

  const Trained& trained() const { return trained_; }
  // Measures each metric that can be measured on the test set.
  Results results();
  // Kernels of some training steps, which change the weights: to be asked for last.
  std::vector<ProfileRow> profile(std::int64_t& steps);

 private:
  std::shared_ptr<std::vector<SampleGuess>> guesses_;
  Trained trained_;
};

// Ranges of each layer: of the weights, and where there are data of activations and gradients too.
struct MeasuredRanges {
  std::vector<LayerRanges> layers;
  double gradient_scale = 1;
  std::int64_t samples = 0;  // in the batch; 0: there was none
};
MeasuredRanges ranges_of(const Run& run, const Task* task);

}  // namespace narrowgauge::cli
