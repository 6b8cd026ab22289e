// SPDX-License-Identifier: Apache-2.0
// A form that an engine may take, and the budget of accuracy that forms are held to.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "api/conversion/validation.h"
#include "narrowgauge/engine.h"

namespace narrowgauge {

struct EngineForm {
  EnginePrecision precision = EnginePrecision::f32;
  Graph graph;
  EngineAccuracy accuracy;
  std::vector<ConvertedOp> ops;
};

ConvertedOp converted_op(const Node& node, std::string_view precision, std::string_view why);
// What a contraction of a graph computes in: "int8" where it reads bytes, else the format of its
// first operand.
std::string computes_in(const Graph& graph, int node);

class FormBudget {
 public:
  // Without samples for validation (nullptr; they must outlive it) nothing is measured, and every
  // form is within the budget. `max_drop` as in ConvertOptions.
  FormBudget(const Validation* validation, std::optional<double> max_drop)
      : validation_(validation), max_drop_(max_drop) {}

  const Validation* validation() const { return validation_; }
  bool is_limited() const { return validation_ && max_drop_; }
  EngineAccuracy accuracy(const Graph& graph) const;
  bool holds(const EngineAccuracy& accuracy) const;
  // The first of the forms, or one of the others that holds and predicts clearly sooner.
  EngineForm fastest(std::vector<EngineForm> forms) const;

 private:
  const Validation* validation_;
  std::optional<double> max_drop_;
};

}  // namespace narrowgauge
