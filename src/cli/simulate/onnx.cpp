// SPDX-License-Identifier: Apache-2.0
// A model file of ONNX as a unit would compute it, beside what this machine computes.
#include <algorithm>
#include <cmath>

#include "base/threads/parallel.h"
#include "cli/common/exit_code.h"
#include "cli/common/json.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/run/inputs.h"
#include "cli/simulate/simulate.h"

namespace narrowgauge::cli {
namespace {

// How an output of the unit differs; the largest difference is relative to the output's largest
// number. Numbers that are not finite on either side are counted and not compared further.
struct OutputDifference {
  std::string name;
  TensorType type;
  double largest = 0, mean = 0;  // mean: of differences, relative to that of sizes
  std::int64_t not_finite = 0;
};

OutputDifference difference_of(const NamedTensor& fast, const NamedTensor& unit) {
  OutputDifference result{fast.name, fast.tensor.type()};
  double most = 0, sum = 0, size = 0;
  for (std::int64_t i = 0; i < fast.tensor.size(); ++i) {
    const double a = fast.tensor.at(i), b = unit.tensor.at(i);
    if (!std::isfinite(a) || !std::isfinite(b)) {
      ++result.not_finite;
      continue;
    }
    result.largest = std::max(result.largest, std::abs(a - b));
    most = std::max(most, std::abs(a));
    sum += std::abs(a - b);
    size += std::abs(a);
  }
  if (most > 0) result.largest /= most;
  result.mean = size > 0 ? sum / size : 0;
  return result;
}

void print_differences(const std::vector<OutputDifference>& differences, const std::string& math,
                       bool json) {
  TextTable table({folding("output", 12), words("type", 1), numbers("largest difference"),
                   numbers("mean difference"), numbers("not finite", 2)});
  for (const OutputDifference& each : differences) {
    if (json) {
      JsonObject line;
      line.add("output", each.name).add("type", concat(each.type)).add("math", math);
      line.add("largest_difference", each.largest).add("mean_difference", each.mean);
      print(line.add("not_finite", each.not_finite).line());
    }
    table.add({each.name, concat(each.type), number_text(each.largest), number_text(each.mean),
               grouped(each.not_finite)});
  }
  if (json) return;
  print(table.text(output_width()));
  print_text(concat(math, " against what this machine computes, relative to the output\n"));
}

}  // namespace

int run_onnx_model(const SimulateFlags& flags, const std::string& math) {
  require(!flags.data && !flags.epochs && !flags.batch && !flags.seed,
          "simulate: a file of ONNX takes --unit, --dtype, --input, --random and --amp");
  const auto threads = static_cast<int>(flags.threads.value_or(0));
  const ThreadScope scope(threads > 0 ? threads : thread_count());
  Model model = Model::from_onnx(*flags.model);
  InputFlags given;
  given.files = flags.inputs;
  if (flags.random) given.shapes = {*flags.random};
  const std::vector<NamedTensor> inputs = read_inputs(given, model.inputs());
  RunPrecision precision = settle_precision(flags.precision, std::nullopt);
  model.set_precision(precision);
  const std::vector<NamedTensor> fast = model.run(inputs);
  precision.f32_math = math_of(math);
  model.set_precision(precision);
  const std::vector<NamedTensor> unit = model.run(inputs);
  std::vector<OutputDifference> differences;
  for (std::size_t i = 0; i < fast.size(); ++i)
    differences.push_back(difference_of(fast[i], unit.at(i)));
  print_differences(differences, math, flags.json);
  return ExitCode::ok;
}

}  // namespace narrowgauge::cli
