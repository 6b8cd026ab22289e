// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/torch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cli/bench/report.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "narrowgauge/error.h"

namespace narrowgauge::cli {
namespace {

// The relative difference allowed in the losses of the first step and of the third, which two
// updates led to. The ways of keeping f32 are a little coarser than torch's f32, dfp16 about as
// coarse as TF32: first losses of resnet50 from five seeds differ from ieee's by 1e-4 in the root
// mean square, a quarter of the allowance. In bf16 the two programs round in different places.
struct Tolerance {
  double first, third;
};
Tolerance tolerance_of(const BenchRow& row) {
  if (row.precision == "ieee") return {1e-4, 1e-3};
  if (!is_f32(row.precision)) return {1e-2, 5e-2};
  const bool dfp16 = std::any_of(
      row.profile.kernels.begin(), row.profile.kernels.end(),
      [](const Trainer::KernelChoice& kernel) { return kernel.facts.way == Math::dfp16; });
  return dfp16 ? Tolerance{4e-4, 1e-2} : Tolerance{1.5e-4, 2e-3};
}

double difference(const BenchRow& row, const BenchRow& torch, std::size_t step) {
  if (row.losses.size() <= step || torch.losses.size() <= step)
    return std::numeric_limits<double>::quiet_NaN();
  return row.losses[step] / torch.losses[step] - 1;
}

std::string layout_text(const BenchRow& torch) {
  return torch.layout == "channels_last" ? "NHWC" : "NCHW";
}

std::string torch_ratio_text(double ratio) {
  if (!std::isfinite(ratio)) return "-";
  return ratio < 100 ? fmt::format("{:.2f}", ratio) : rate_text(ratio);
}

// "1.13 to 1.22".
std::string range_text(const Quartiles& ratio) {
  if (!std::isfinite(ratio.median)) return "";
  return concat(torch_ratio_text(ratio.lower), " to ", torch_ratio_text(ratio.upper));
}

std::string difference_text(double difference) {
  return std::isfinite(difference) ? fmt::format("{:+.0e}", difference) : "-";
}

// Torch's precisions that belong beside our rows; all of them if one of our precisions has no equal
// in torch.
std::vector<std::string> precisions_of_torch(std::span<const BenchRow> own) {
  std::vector<std::string> needed;
  for (const std::string& precision : torch_precisions) {
    const auto beside = [&](const BenchRow& row) {
      const std::string same = in_torch(row.precision);
      return same == precision ||
             std::ranges::find(torch_precisions, same) == torch_precisions.end();
    };
    if (std::ranges::any_of(own, beside)) needed.push_back(precision);
  }
  return needed;
}

}  // namespace

std::string in_torch(const std::string& precision) { return is_f32(precision) ? "f32" : precision; }

// The rows in torch's precisions and, for images, its layouts.
std::vector<BenchRow> TorchRival::rows_beside(std::span<const BenchRow> own) const {
  const std::string& model = own.front().model;
  const bool images = model_facts(model).input == InputKind::images;
  const std::span layouts = std::span(torch_layouts).first(images ? torch_layouts.size() : 1);
  std::vector<BenchRow> rows;
  for (const std::string& precision : precisions_of_torch(own))
    for (const std::string& layout : layouts)
      rows.push_back({.model = model, .precision = precision, .rival = "torch", .layout = layout});
  return rows;
}

Rival::Steps TorchRival::train(const BenchRow& row, std::int64_t steps) {
  TorchSteps done = process_.step(row.precision, row.layout, steps);
  return {done.seconds, std::move(done.losses)};
}

const BenchRow* torch_for(const BenchOutcome& outcome, const BenchRow& row) {
  const BenchRow* best = nullptr;
  for (const BenchRow& torch : outcome.rivals) {
    if (torch.model != row.model) continue;
    const bool fits = torch.precision == in_torch(row.precision);
    const bool best_fits = best && best->precision == in_torch(row.precision);
    if (!best || fits > best_fits || (fits == best_fits && torch.rate() > best->rate()))
      best = &torch;
  }
  return best;
}

std::string torch_table(const BenchOutcome& outcome) {
  TextTable table({words("model"), words("precision"), numbers("ratio"), numbers("quartiles", 2),
                   words("torch"), numbers("its samples/s", 1), numbers("losses", 3)});
  std::string before;
  for (const BenchRow& row : outcome.rows) {
    const BenchRow* torch = torch_for(outcome, row);
    if (!torch) continue;
    const Quartiles ratio = rate_ratio(row, *torch);
    table.add({row.model == before ? "" : row.model, row.precision, torch_ratio_text(ratio.median),
               range_text(ratio), fmt::format("{} {}", torch->precision, layout_text(*torch)),
               spread_text(*torch), difference_text(difference(row, *torch, 0))});
    before = row.model;
  }
  return table.text(output_width());
}

std::vector<JsonObject> torch_json(const BenchOutcome& outcome) {
  std::vector<JsonObject> rows;
  for (const BenchRow& row : outcome.rivals) {
    JsonObject json;
    json.add("model", row.model).add("precision", row.precision).add("layout", row.layout);
    json.add("samples_per_second", row.rate());
    json.add("quartiles", std::vector{row.spread().lower, row.spread().upper});
    json.add("iterations", row.rates).add("losses", row.losses);
    rows.push_back(std::move(json));
  }
  return rows;
}

namespace {

// Where training moves fast, even two of torch's own layouts differ after two updates by some
// percent of the distance moved; a wrong gradient is off by the whole distance.
constexpr double share_of_the_way = 0.05;

bool third_agrees(const BenchRow& row, const BenchRow& torch, double tolerance) {
  if (row.losses.size() < 3 || torch.losses.size() < 3) return false;
  const double way = std::abs(torch.losses[2] - torch.losses[0]);
  const double most = tolerance * std::abs(torch.losses[2]) + share_of_the_way * way;
  return std::abs(row.losses[2] - torch.losses[2]) <= most;
}

void check_pair(const BenchRow& row, const BenchRow& torch) {
  const Tolerance most = tolerance_of(row);
  const double first = difference(row, torch, 0), third = difference(row, torch, 2);
  // Written so that NaN fails.
  require<CheckError>(
      std::abs(first) <= most.first && third_agrees(row, torch, most.third),
      fmt::format("--against torch: {} {}: losses of the first and the third step "
                  "differ by {} and {}: the networks are not the same",
                  row.model, row.precision, difference_text(first), difference_text(third)));
}

}  // namespace

void check_losses(const BenchOutcome& outcome) {
  for (const BenchRow& row : outcome.rows)
    for (const BenchRow& torch : outcome.rivals)
      if (torch.model == row.model && torch.precision == in_torch(row.precision) && !row.random)
        check_pair(row, torch);
}

}  // namespace narrowgauge::cli
