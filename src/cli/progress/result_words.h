// SPDX-License-Identifier: Apache-2.0
// How results of a training are told: of classes the accuracy, of texts the loss of a token, of
// numbers the loss.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/common/json.h"
#include "narrowgauge/model.h"

namespace narrowgauge::cli {

struct ResultWords {
  bool is_text = false;
  std::string samples = "images";  // what the test consists of
  bool of_pixels = false;          // whether classes are of pixels, and not of samples
  // What follows is for texts alone.
  std::int64_t window = 1;          // tokens of a sample, which rates count
  std::int64_t tokens = 0;          // whose prediction the test measures
  double tokens_per_character = 0;  // of the test; 0: tokens do not keep the text

  bool have_accuracy(const Evaluation& test) const;  // and are no losses
  std::string_view loss_unit() const { return is_text ? " nats a token" : ""; }
  double rate(double samples_per_second) const;
  std::string rate_name() const;  // "samples/s"
};

double perplexity(const Evaluation& test);
double bits_per_character(const ResultWords& words, const Evaluation& test);

std::string test_text(const ResultWords& words, const Evaluation& test);  // in a line of progress
// Lines at the end of a training, with accuracy or perplexity, and metrics.
void print_test(const ResultWords& words, const Evaluation& test);
// Accuracy, null where there are no classes, and loss of the test.
void add_test(JsonObject& json, const Evaluation& test);
// What texts add to these.
void add_text_results(JsonObject& json, const ResultWords& words, const Evaluation& test);

}  // namespace narrowgauge::cli
