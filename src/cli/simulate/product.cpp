// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/files/memory.h"
#include "base/text/printable.h"
#include "cli/common/exit_code.h"
#include "cli/common/json.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/flags/output_file.h"
#include "cli/simulate/simulate.h"
#include "cli/simulate/ulp_text.h"
#include "narrowgauge/error_bound.h"
#include "narrowgauge/matrix_unit_formats.h"

namespace narrowgauge::cli {
namespace {

Tf32Rounding tf32_rounding(const SimulateFlags& flags) {
  const bool cut = flags.tf32_rounding && *flags.tf32_rounding == "truncate";
  return cut ? Tf32Rounding::truncate : Tf32Rounding::nearest;
}

int mantissa_bits(DType dtype) {
  if (dtype == DType::f64) return 52;
  if (dtype == DType::f16) return 10;
  if (dtype == DType::bf16) return 7;
  return 23;
}

// "tf32 keeps 10 of 23 bits of each operand: 3.14 becomes 3.140625".
std::string why_text(const Matrix& given, const RoundedOperand& rounded, UnitFormat format) {
  std::string out;
  const int had = mantissa_bits(given.values.dtype()), keeps = float_format(format).mantissa_bits;
  if (had > keeps && is_floating(given.values.dtype()))
    out = fmt::format("{} keeps {} of {} bits: ", name(format), keeps, had);
  const double before = given.values.at(rounded.example),
               after = rounded.values.at(rounded.example);
  const auto text = [&](double value) {
    return given.values.dtype() == DType::f64
               ? fmt::format("{}", printable(value))
               : fmt::format("{}", static_cast<float>(printable(value)));
  };
  return out + fmt::format("{} becomes {}", text(before), text(after));
}

std::int64_t count_not_finite(const Tensor& tensor) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < tensor.size(); ++i) count += !std::isfinite(tensor.at(i));
  return count;
}

std::string operand_text(const Matrix& given, const RoundedOperand& rounded, UnitFormat format) {
  std::string out = concat(given.name, ' ', given.values.type(), ": ");
  if (const std::int64_t bad = count_not_finite(given.values); bad > 0)
    out += fmt::format("{} of {} elements are infinite or NaN; ", grouped(bad),
                       grouped(given.values.size()));
  if (rounded.changed == 0) return concat(out, "every element is one of ", name(format));
  out += fmt::format("{} of {} elements are rounded; {}", grouped(rounded.changed),
                     grouped(given.values.size()), why_text(given, rounded, format));
  if (rounded.flushed) out += fmt::format("; {} become zero", grouped(rounded.flushed));
  if (rounded.overflowed) out += fmt::format("; {} overflow", grouped(rounded.overflowed));
  return out;
}

void add_row(TextTable& table, const std::string& what, const UlpStatistics& it) {
  const auto size = [](double value) {
    return value == 0 ? "0" : fmt::format("{:.3g}", printable(value));
  };
  table.add({what, percent_text(it.share(it.equal)), size(it.mean), size(it.largest),
             percent_text(it.share(it.below)), percent_text(it.share(it.nearer_zero))});
}

// Lines of the histogram that are not empty.
std::string histogram_text(const UlpStatistics& it) {
  std::string out;
  for (std::size_t place = 0; place < ulp_places; ++place) {
    const std::int64_t count = it.histogram[place];
    if (count == 0) continue;
    const auto length = static_cast<std::size_t>(std::lround(40 * it.share(count)));
    out += fmt::format("    {:<12}  {:>12}  {}\n", ulp_place_name(place), grouped(count),
                       std::string(std::max<std::size_t>(length, 1), '#'));
  }
  return out;
}

JsonObject rounded_json(const RoundedOperand& rounded) {
  JsonObject json;
  json.add("elements", rounded.values.size()).add("changed", rounded.changed);
  json.add("flushed", rounded.flushed).add("overflowed", rounded.overflowed);
  return json;
}

void print_product_json(const Simulation& it, const UlpStatistics& as_given) {
  JsonObject json, a = rounded_json(it.a), b = rounded_json(it.b), rounded, given;
  json.add("event", "done").add("unit", name(it.model->unit));
  json.add("operand", name(it.model->operand)).add("result", name(it.model->result));
  json.add("evidence", name(it.model->evidence)).add("source", it.model->source);
  json.add("shape", concat(it.result.type())).add("a", a).add("b", b);
  add_fields(rounded, it.statistics);
  add_fields(given, as_given);
  json.add("against_rounded_operands", rounded).add("against_operands_as_given", given);
  constexpr std::int64_t most = 64;
  if (it.result.size() <= most) {
    const Tensor wide = it.result.cast(DType::f64);
    const auto values = wide.values<double>();
    json.add("values", std::vector(values.begin(), values.end()));
  }
  print(json.line());
}

void print_result(const Simulation& it, const Operands& operands, const UlpStatistics& as_given) {
  const UnitModel& model = *it.model;
  print_text(fmt::format("unit    {}: {} ({}: {})\n", unit_text(model), arithmetic_text(model),
                         name(model.evidence), model.source));
  print_text(fmt::format("A       {}\n", operand_text(operands.a, it.a, model.operand)));
  print_text(fmt::format("B       {}\n", operand_text(operands.b, it.b, model.operand)));
  if (operands.c)
    print(fmt::format("C       {} {}\n", operands.c->name, concat(operands.c->values.type())));
  print(fmt::format("result  {}\n{}", concat(it.result.type()), corner_text(it.result)));
  print(fmt::format("difference from the exact product, in ulp of {}\n", name(model.result)));
  TextTable table({words(""), numbers("equal"), numbers("mean"), numbers("largest"),
                   numbers("below"), numbers("towards 0", 1)});
  add_row(table, "  of the rounded operands", it.statistics);
  add_row(table, "  of A and B as given", as_given);
  print(table.text(output_width()));
  for (const auto* statistics : {&it.statistics, &as_given})
    if (const std::string text = not_finite_text(*statistics); !text.empty())
      print_text(fmt::format("  {}{}\n", statistics == &as_given ? "as given, " : "", text));
  if (it.statistics.differing() > 0) print(histogram_text(it.statistics));
  const auto depth = operands.a.values.dims().back();
  const auto bound = sim::error_bound(model, {depth, operands.c.has_value()});
  print_text(fmt::format("  of sum |a||b|: {:.2g} at most, {:.2g} is the bound for {} products\n",
                         it.statistics.relative, bound.relative, grouped(depth)));
}

}  // namespace

std::string arithmetic_text(const UnitModel& model) {
  const auto rounding = [&] {
    if (model.rounding == ResultRounding::f16_nearest) return "rounded to the nearest f16";
    if (model.rounding == ResultRounding::f32_cut_to_13) return "cut to 13 bits";
    return "cut to f32";
  };
  switch (model.summation) {
    case Summation::truncated:
      return fmt::format(
          "{} products and c at once, each cut {} bits below the largest, the sum {}", model.terms,
          model.fraction, rounding());
    case Summation::then_added:
      return fmt::format("{} products at once in two sums of {} bits, c added after them",
                         model.terms, model.fraction);
    case Summation::groups:
      return fmt::format("{} products at once, 16 by 16 exact, the sum {}", model.terms,
                         rounding());
    case Summation::fma_chain:
      return "one FMA after the other";
    case Summation::split_chains:
      return "four chains of FMAs, one for each quarter of k";
    case Summation::pairwise:
      return "products summed in a tree of halves";
    case Summation::even_and_odd:
      return "32 products at once in two chains of FMAs, for even and odd k; subnormals are zero";
    case Summation::odd_then_even:
      return "FMAs, of each pair of k the second first; subnormals are zero";
    default:
      return "exact, modulo 2^32";
  }
}

namespace {

// Each operand is held as given, rounded, and packed for the unit or as f64; each result together
// with two parts and a magnitude of the exact product in f64.
void require_memory_for(const Dims& a, const Dims& b, std::int64_t units) {
  const std::int64_t operands = element_count(a) + element_count(b);
  const std::int64_t results = element_count(product_dims(a, b));
  require_memory({concat("simulate: ", a, " x ", b),
                  {{"operands", operands * (4 + 8 + 4 * units)},
                   {"results", results * 4 * units},
                   {"the exact product", results * 3 * 8}}});
}

}  // namespace

Operands read_operands(const SimulateFlags& flags) {
  Operands operands;
  const std::int64_t units = std::max<std::int64_t>(1, std::ssize(flags.compare));
  if (flags.random) {
    require(!flags.first, "--random: A and B cannot be given too");
    RandomMatrices wish;
    parse_sizes(*flags.random, wish);
    wish.distribution = flags.distribution.value_or(wish.distribution);
    wish.seed = flags.seed.value_or(1);
    require_memory_for({wish.rows, wish.depth}, {wish.depth, wish.columns}, units);
    std::vector<Matrix> matrices = random_matrices(wish);
    operands.a = std::move(matrices[0]);
    operands.b = std::move(matrices[1]);
    return operands;
  }
  require(!flags.distribution, "--distribution: needs --random");
  require(flags.first && flags.second,
          "simulate: expected two matrices A and B, --random M,N,K, --probe, --list or --model");
  const UnitFormat wanted = flags.dtype ? *parse_unit_format(*flags.dtype) : UnitFormat::automatic;
  operands.a = read_matrix(*flags.first, wanted);
  operands.b = read_matrix(*flags.second, wanted);
  if (flags.third) operands.c = read_matrix(*flags.third, wanted);
  if (flags.transpose_a) operands.a.values = transposed(operands.a.values);
  if (flags.transpose_b) operands.b.values = transposed(operands.b.values);
  require_memory_for(operands.a.values.dims(), operands.b.values.dims(), units);
  return operands;
}

Simulation simulate(const UnitModel& model, const Operands& operands, const SimulateFlags& flags) {
  Simulation it;
  it.model = &model;
  it.a = round_operand(operands.a.values, model.operand, tf32_rounding(flags));
  it.b = round_operand(operands.b.values, model.operand, tf32_rounding(flags), true);
  Tensor c;
  if (operands.c) c = operands.c->values.cast(element_dtype(model.result));
  // simulate_product() rounds to blocks itself; numbers that are rounded already must not be again.
  const bool blocks = block_size(model.operand) > 0;
  it.result = simulate_product(model, blocks ? operands.a.values : it.a.values,
                               blocks ? operands.b.values : it.b.values, operands.c ? &c : nullptr);
  it.statistics =
      ulp_against(it.result, exact_product(it.a.values, it.b.values, operands.c ? &c : nullptr));
  return it;
}

int run_product(const SimulateFlags& flags) {
  require(flags.unit.has_value(), "simulate: --unit or --compare is required");
  require(!flags.plot, "--plot: needs --compare");
  if (flags.output) check_output_name(*flags.output);
  require_apart("--output", flags.output,
                {flags.first.value_or(""), flags.second.value_or(""), flags.third.value_or("")});
  const MatrixUnit unit = unit_named("--unit", *flags.unit);
  const Operands operands = read_operands(flags);
  const UnitModel& model = model_for(unit, operands.a.values.dtype(), flags);
  require(!flags.tf32_rounding || model.operand == UnitFormat::tf32,
          "--tf32-rounding: ", unit_text(model), " has no tf32 operands");
  const Simulation it = simulate(model, operands, flags);
  const UlpStatistics as_given =
      ulp_against(it.result, exact_product(operands.a.values, operands.b.values,
                                           operands.c ? &operands.c->values : nullptr));
  if (flags.output) write_matrix(*flags.output, it.result);
  if (flags.json) {
    print_product_json(it, as_given);
    return ExitCode::ok;
  }
  print_text(alias_text(*flags.unit));
  print_result(it, operands, as_given);
  return ExitCode::ok;
}

}  // namespace narrowgauge::cli
