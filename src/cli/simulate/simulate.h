// SPDX-License-Identifier: Apache-2.0
// `narrowgauge simulate`: its flags and its commands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/flags/run_precision.h"
#include "cli/simulate/operands.h"
#include "narrowgauge/simulate.h"
#include "narrowgauge/ulp.h"

namespace narrowgauge::cli {

struct SimulateFlags {
  std::optional<std::string> first, second, third;  // A B [C], or RUN
  std::optional<std::string> unit, op, dtype, accumulate, tf32_rounding, output, plot;
  std::optional<std::string> random, distribution, model, data;
  PrecisionFlags precision;  // --amp
  std::optional<std::int64_t> seed, threads, epochs, batch;
  std::vector<std::string> compare, inputs;
  bool transpose_a = false, transpose_b = false, unresolved = false;
  bool probe = false, list = false, json = false;
};

// Throws UsageError naming the units there are, and the one that was probably meant.
MatrixUnit unit_named(const std::string& flag, const std::string& text);
// "a40     computed as a100: ..." for a name without a model of its own; else "".
std::string alias_text(const std::string& text);
// The model for --dtype, or else for the operands' dtype. Throws UsageError for formats that the
// unit lacks and, without --unresolved, for models that are unresolved.
const UnitModel& model_for(MatrixUnit unit, DType operand, const SimulateFlags& flags);
std::string unit_text(const UnitModel& model);  // "a100 f16 -> f32"
std::string arithmetic_text(const UnitModel& model);
std::vector<UnitModel> models_by_unit();

// The matrices to multiply, as given.
struct Operands {
  Matrix a, b;
  std::optional<Matrix> c;
};
Operands read_operands(const SimulateFlags& flags);

// One unit's answer.
struct Simulation {
  const UnitModel* model = nullptr;
  RoundedOperand a, b;
  Tensor result;
  UlpStatistics statistics;  // against the exact product of the rounded operands
};
Simulation simulate(const UnitModel& model, const Operands& operands, const SimulateFlags& flags);

int run_product(const SimulateFlags& flags);
int run_unit_comparison(const SimulateFlags& flags);
int run_probe(const SimulateFlags& flags);
int run_unit_list(const SimulateFlags& flags);
int run_model(const SimulateFlags& flags);
// `math` is that of the unit, "sim:h100".
int run_onnx_model(const SimulateFlags& flags, const std::string& math);

// Shares of differences by their size, one panel for each unit; self-contained SVG.
struct UlpPanel {
  std::string name, note;
  UlpStatistics statistics;
};
std::string ulp_chart(const std::string& title, const std::string& subtitle,
                      const std::vector<UlpPanel>& panels);

}  // namespace narrowgauge::cli
