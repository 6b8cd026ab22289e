// SPDX-License-Identifier: Apache-2.0
// What a network does on the test set: metrics, the confusion matrix, and sample predictions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/report/classes.h"
#include "cli/task/task.h"
#include "narrowgauge/model.h"

namespace narrowgauge::cli {

// What the network takes a sample for, and how sure it is: the softmax of its scores.
struct SampleGuess {
  std::int64_t sample = 0;  // of the test set, of which damaged ones have no guess
  std::int64_t label = 0, predicted = 0;
  double share = 0;
};

// What one evaluation measured.
struct Results {
  Evaluation evaluation;
  std::vector<SampleGuess> guesses;  // of samples with one label each and finite scores
};

// Collects the guesses of an evaluation as it goes on.
OwnMetric collect_guesses(const std::shared_ptr<std::vector<SampleGuess>>& guesses);
inline constexpr const char* guesses_name = "guesses";  // of that metric, which has no value

// Metrics as a table, the confusion matrix, and the classes with most errors.
std::string results_html(const Evaluation& evaluation, const ClassNames& names);
// The matrix as a heat map; of more than 30 classes a table of those most often confused.
std::string confusion_html(const ConfusionMatrix& matrix, const ClassNames& names);

// The most certain right predictions and the most certain wrong ones, with pictures. Throws
// DataError where samples have no labels of classes, or are no pictures.
std::string samples_html(const std::vector<SampleGuess>& guesses, const Task& task,
                         const ClassNames& names);

}  // namespace narrowgauge::cli
