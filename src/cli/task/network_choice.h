// SPDX-License-Identifier: Apache-2.0
// The network that a command works on, with flags for its images or texts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "cli/common/json.h"
#include "cli/flags/flags.h"
#include "narrowgauge/models.h"
#include "narrowgauge/random_batch.h"

namespace narrowgauge::cli {

struct NetworkFlags {
  std::optional<std::string> model, image, head;
  std::optional<std::int64_t> classes, sequence;
};
void add_network_flags(CLI::App& app, NetworkFlags& flags);
void add_input_flags(CLI::App& app, NetworkFlags& flags);  // all but --model

struct NetworkChoice {
  std::string model;
  InputKind input = InputKind::images;
  ImageShape image;
  TextShape text;
  Head head = Head::classification;
  std::int64_t classes = 0;

  bool has_classes() const;  // else it gives its input again
  BuildNetwork build() const;
  Loss loss() const;
  std::string what() const;    // "images 3x224x224, 1000 classes"
  std::string sample() const;  // "image", "sequence"
  void describe(JsonObject& json) const;
  // The ranges of the labels, and of what a network for text reads: tokens of the vocabulary, two
  // token types, nothing masked.
  std::map<std::string, WholeNumbers> ranges() const;
};
// Throws ModelError for an unknown network or images it cannot take, UsageError for flags of the
// other kind of input.
NetworkChoice choose_network(const NetworkFlags& flags);

// The built-in networks; those for text only if they are wanted.
std::vector<std::string> model_choices(bool with_text);
// Lines of "network: mlp, lenet, ..."; networks for text only if they are wanted.
std::string model_help(bool with_text);

}  // namespace narrowgauge::cli
