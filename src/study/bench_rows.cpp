// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "narrowgauge/bench.h"
#include "narrowgauge/error.h"

namespace narrowgauge {
namespace {

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

std::string instructions_text(Isa isa) {
  return isa == Isa::bf16 ? "avx512_bf16" : std::string(name(isa));
}

struct Family {
  std::string vendor, instructions;
};

Family family_of(const Trainer::KernelChoice& kernel) {
  const KernelFacts& facts = kernel.facts;
  if (kernel.flops <= 0) return {"own", ""};
  std::string instructions = facts.isa ? instructions_text(*facts.isa) : "";
  if (facts.way != Math::none) instructions += concat(' ', name(facts.way));
  if (facts.widened) instructions += " widened";
  return {facts.vendor == Vendor::onednn ? "oneDNN" : "own", instructions};
}

}  // namespace

Quartiles quartiles_of(std::vector<double> values) {
  if (values.empty()) return {nothing, nothing, nothing};
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    const double place = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return std::lerp(values[below], values[above], place - std::floor(place));
  };
  return {at(0.25), at(0.5), at(0.75)};
}

Quartiles ratio_quartiles(std::span<const double> rates, std::span<const double> others) {
  std::vector<double> ratios;
  for (std::size_t round = 0; round < std::min(rates.size(), others.size()); ++round)
    ratios.push_back(rates[round] / others[round]);
  return quartiles_of(std::move(ratios));
}

Quartiles rate_ratio(const BenchRow& row, const BenchRow& other) {
  return ratio_quartiles(row.rates, other.rates);
}

double BenchRow::first_loss() const { return losses.empty() ? nothing : losses.front(); }

std::string label_of(const BenchRow& row) {
  return row.is_rival() ? concat(row.rival, ' ', row.precision) : row.precision;
}

bool is_f32(const std::string& precision) {
  return precision == "ieee" || precision == "f32" || precision == "dfp16";
}

const BenchRow* base_of(const std::vector<BenchRow>& rows, const BenchRow& row) {
  for (const char* precision : {"ieee", "f32"}) {
    const auto base = std::find_if(rows.begin(), rows.end(), [&](const BenchRow& other) {
      return other.model == row.model && other.precision == precision;
    });
    if (base != rows.end()) return &*base;
  }
  return nullptr;
}

double speed_up(const std::vector<BenchRow>& rows, const BenchRow& row) {
  const BenchRow* base = base_of(rows, row);
  return base ? rate_ratio(row, *base).median : nothing;
}

double loss_difference(const std::vector<BenchRow>& rows, const BenchRow& row) {
  const BenchRow* base = base_of(rows, row);
  return base ? row.first_loss() / base->first_loss() - 1 : nothing;
}

std::vector<std::string> kernel_families(const std::vector<Trainer::KernelChoice>& kernels) {
  std::map<std::string, double> work;
  for (const Trainer::KernelChoice& kernel : kernels) {
    if (kernel.bytes == 0) continue;
    const Family family = family_of(kernel);
    const bool named = !family.instructions.empty();
    work[family.vendor + (named ? ' ' + family.instructions : "")] += kernel.flops;
  }
  std::vector<std::string> families;
  for (const auto& [family, flops] : work) families.push_back(family);
  std::stable_sort(families.begin(), families.end(),
                   [&](const auto& a, const auto& b) { return work[a] > work[b]; });
  return families;
}

}  // namespace narrowgauge
