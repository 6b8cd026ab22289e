// SPDX-License-Identifier: Apache-2.0
// "x=1x3x224x224", "sr=16000": what flags say of the inputs of a model.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/flags/flags.h"
#include "narrowgauge/model.h"

namespace narrowgauge::cli {

struct Assignment {
  std::string name, value;  // name: "" where none is given
};
// "x=image.npy"; a path may hold '=' behind a '/'.
Assignment parse_assignment(const std::string& text);

// The sizes of a text such as "1x3x224x224"; none for "", and nothing where one is no whole number
// of up to nine digits.
std::optional<Dims> dims_of(const std::string& text);
// Gives what dims_of() does, or throws UsageError naming the flag.
Dims parse_dims(const std::string& flag, const std::string& text);
// The numbers of a text such as "0.5,1,2"; throws UsageError naming the flag.
std::vector<double> parse_numbers(const std::string& flag, const std::string& text);
// These numbers in f32.
std::vector<float> parse_floats(const std::string& flag, const std::string& text);

struct KnownInputFlags {
  std::vector<std::string> shapes{}, values{};  // "x=1x3x224x224"; "sr=16000"

  bool are_given() const { return !shapes.empty() || !values.empty(); }
};
void add_value_flag(CLI::App& app, KnownInputFlags& flags);
void add_known_inputs(CLI::App& app, KnownInputFlags& flags);  // --shape and --value
// Throws UsageError for texts of another form.
KnownInputs known_inputs(const KnownInputFlags& flags);

}  // namespace narrowgauge::cli
