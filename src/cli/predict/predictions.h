// SPDX-License-Identifier: Apache-2.0
// What a network takes samples for, as tables, lines of JSON, CSV and arrays.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "narrowgauge/data.h"

namespace narrowgauge::cli {

// What the network takes a sample for, and how sure it is: the softmax of its outputs. Where
// targets are numbers, the outputs are the predictions, and `share` only says whether they are
// finite.
struct Guess {
  std::int64_t index = 0;   // among the outputs, targets and files
  std::int64_t sample = 0;  // of the source; larger than the index behind a damaged one
  std::int64_t predicted = 0;
  std::int64_t label = -1;  // as the data have it; -1: unknown
  double share = 0;
  bool is_right() const { return predicted == label; }
};

struct Predictions {
  Tensor outputs;                          // [N, ...] of the network
  std::vector<Guess> guesses;              // N
  Tensor targets{};                        // f32 [N, ...], where these are numbers
  bool of_numbers = false;                 // whether the outputs are, and no scores of classes
  std::vector<std::string> files{};        // of the samples, where they have files
  std::vector<std::string> class_names{};  // none: numbers

  std::string class_text(std::int64_t index) const;  // its name, or its number
  Tensor samples() const;                            // i64 [N], of the source
};

using Predict = std::function<Tensor(const Tensor& inputs)>;
// Predicts the first `count` samples that can be read of a source of inputs and labels, in batches.
Predictions predict_first(const Predict& predict, const std::shared_ptr<DataSource>& source,
                          std::int64_t count, std::int64_t batch);

std::string csv_field(const std::string& text);  // quoted where RFC 4180 asks for it

void print_predictions(const Predictions& predictions, bool json);
// A row for each sample in a table (.csv), or the outputs, predicted classes, labels and numbers of
// the samples as arrays.
// Throws DataError where the file cannot be written.
void save_predictions(const std::string& path, const Predictions& predictions);

}  // namespace narrowgauge::cli
