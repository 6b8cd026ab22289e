// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/files/atomic_file.h"
#include "base/text/printable.h"
#include "cli/common/exit_code.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/simulate/simulate.h"
#include "cli/simulate/ulp_text.h"
#include "narrowgauge/error_bound.h"

namespace narrowgauge::cli {
namespace {

std::string size_text(double ulp) { return ulp == 0 ? "0" : fmt::format("{:.3g}", printable(ulp)); }

std::string operands_text(const Operands& operands) {
  std::string out = concat(operands.a.name, ' ', operands.a.values.type(), " x ");
  if (operands.b.name != operands.a.name) out += operands.b.name + ' ';
  return concat(out, operands.b.values.type());
}

std::string units_table(const std::vector<Simulation>& all) {
  TextTable table({words("unit"), numbers("at once", 4), numbers("bits", 4), numbers("equal"),
                   numbers("mean ulp"), numbers("largest"), numbers("below", 3),
                   numbers("towards 0", 1), numbers("drift ulp", 2)});
  for (const Simulation& it : all) {
    const UnitModel& model = *it.model;
    const UlpStatistics& statistics = it.statistics;
    const bool cuts = model.fraction > 0;
    table.add({unit_text(model), cuts ? std::to_string(model.terms) : "-",
               cuts ? std::to_string(model.fraction) : "-",
               percent_text(statistics.share(statistics.equal)), size_text(statistics.mean),
               size_text(statistics.largest), percent_text(statistics.share(statistics.below)),
               percent_text(statistics.share(statistics.nearer_zero)),
               fmt::format("{:+.3g}", printable(statistics.drift))});
  }
  return table.text(output_width());
}

std::int64_t depth_of(const Operands& operands) { return operands.a.values.dims().back(); }

// A table of the errors that theory predicts beside those that occurred.
std::string errors_table(const std::vector<Simulation>& all, const Operands& operands,
                         const SimulateFlags& flags) {
  const std::string distribution = flags.distribution.value_or("normal");
  const bool known = flags.random && distribution != "lognormal";
  TextTable table({words("to sum |a||b|"), numbers("deviation"), numbers("expected", 1),
                   numbers("bias"), numbers("expected", 1), numbers("largest"), numbers("bound")});
  const auto number = [](double value) {
    return value == 0 ? "0" : fmt::format("{:.2g}", printable(value));
  };
  for (const Simulation& it : all) {
    const auto random =
        distribution == "uniform" ? sim::RandomOperands::uniform : sim::RandomOperands::normal;
    const auto expected = sim::expected_error(*it.model, depth_of(operands), random);
    const auto bound = sim::error_bound(*it.model, {depth_of(operands), operands.c.has_value()});
    table.add({unit_text(*it.model), number(it.statistics.deviation),
               known ? number(expected.deviation) : "", number(it.statistics.bias),
               known ? number(expected.bias) : "", number(it.statistics.relative),
               number(bound.relative)});
  }
  return table.text(output_width());
}

std::string histogram_table(const std::vector<Simulation>& all) {
  std::vector<Column> columns{words("ulp from exact")};
  for (std::size_t i = 0; i < all.size(); ++i)
    columns.push_back(numbers(std::string(name(all[i].model->unit)), static_cast<int>(i)));
  TextTable table(std::move(columns));
  for (std::size_t place = 0; place < ulp_places; ++place) {
    const auto has = [&](const Simulation& it) { return it.statistics.histogram[place] > 0; };
    if (std::ranges::none_of(all, has)) continue;
    std::vector<std::string> row{ulp_place_name(place)};
    for (const Simulation& it : all) {
      const std::int64_t count = it.statistics.histogram[place];
      row.push_back(count ? percent_text(it.statistics.share(count)) : "");
    }
    table.add(std::move(row));
  }
  return table.text(output_width());
}

struct Pair {
  const Simulation *first, *second;
  UlpStatistics statistics;
};

std::vector<Pair> pairs_of(const std::vector<Simulation>& all) {
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t k = i + 1; k < all.size(); ++k)
      pairs.push_back({&all[i], &all[k], ulp_between(all[i].result, all[k].result)});
  return pairs;
}

std::string pairs_table(const std::vector<Pair>& pairs) {
  TextTable table({words("between"), numbers("outputs that differ"), numbers(""),
                   numbers("mean ulp"), numbers("largest")});
  for (const Pair& pair : pairs) {
    const UlpStatistics& it = pair.statistics;
    const std::int64_t differ = it.differing();
    table.add({concat(name(pair.first->model->unit), " and ", name(pair.second->model->unit)),
               grouped(differ), percent_text(it.share(differ)), size_text(it.mean),
               size_text(it.largest)});
  }
  return table.text(output_width());
}

// Lines about values that are not finite, which the tables leave out.
std::string not_finite_lines(const std::vector<Simulation>& all, const std::vector<Pair>& pairs) {
  std::string lines;
  const auto add = [&](const std::string& what, const UlpStatistics& statistics) {
    const std::string text = not_finite_text(statistics);
    if (!text.empty()) lines += concat(what, ": ", text, '\n');
  };
  for (const Simulation& it : all) add(unit_text(*it.model) + " and exact", it.statistics);
  for (const Pair& pair : pairs)
    add(concat(name(pair.first->model->unit), " and ", name(pair.second->model->unit)),
        pair.statistics);
  return lines;
}

void print_comparison_json(const Operands& operands, const std::vector<Simulation>& all,
                           const std::vector<Pair>& pairs) {
  JsonObject json;
  json.add("event", "done").add("a", concat(operands.a.values.type()));
  json.add("b", concat(operands.b.values.type()));
  std::vector<JsonObject> units, between;
  for (const Simulation& it : all) {
    JsonObject unit;
    unit.add("unit", name(it.model->unit)).add("operand", name(it.model->operand));
    unit.add("result", name(it.model->result)).add("evidence", name(it.model->evidence));
    unit.add("changed_a", it.a.changed).add("changed_b", it.b.changed);
    add_fields(unit, it.statistics);
    units.push_back(std::move(unit));
  }
  for (const Pair& pair : pairs) {
    JsonObject object;
    object.add("first", name(pair.first->model->unit))
        .add("second", name(pair.second->model->unit));
    object.add("differ", pair.statistics.differing());
    add_fields(object, pair.statistics);
    between.push_back(std::move(object));
  }
  print(json.add("units", units).add("pairs", between).line());
}

void write_plot(const std::string& path, const Operands& operands,
                const std::vector<Simulation>& all) {
  std::vector<UlpPanel> panels;
  for (const Simulation& it : all) {
    const UlpStatistics& statistics = it.statistics;
    panels.push_back(
        {unit_text(*it.model),
         fmt::format("mean {} ulp, drift {:+.2g}", size_text(statistics.mean), statistics.drift),
         statistics});
  }
  const std::string svg = ulp_chart("Difference from the exact product, in units in the last place",
                                    operands_text(operands), panels);
  write_file_atomically(path, svg);
}

}  // namespace

int run_unit_comparison(const SimulateFlags& flags) {
  require(!flags.unit, "--compare: names the units itself, --unit cannot be added");
  require(!flags.output, "--compare: has several results, --output takes one");
  std::vector<MatrixUnit> units;
  for (const std::string& text : flags.compare) units.push_back(unit_named("--compare", text));
  for (std::size_t i = 0; i < units.size(); ++i)
    require(std::count(units.begin(), units.end(), units[i]) == 1, "--compare: ", flags.compare[i],
            " is a unit that is named twice");
  const Operands operands = read_operands(flags);
  std::vector<const UnitModel*> models;
  for (const MatrixUnit unit : units)
    models.push_back(&model_for(unit, operands.a.values.dtype(), flags));
  std::vector<Simulation> all;
  for (const UnitModel* model : models) {
    show_status(concat("simulating ", unit_text(*model)));
    all.push_back(simulate(*model, operands, flags));
  }
  show_status("");
  if (flags.plot) write_plot(*flags.plot, operands, all);
  const std::vector<Pair> pairs = pairs_of(all);
  if (flags.json) {
    print_comparison_json(operands, all, pairs);
    return ExitCode::ok;
  }
  print(concat(operands_text(operands), "\n\n", units_table(all), '\n',
               errors_table(all, operands, flags), '\n', histogram_table(all)));
  if (!pairs.empty()) print(concat('\n', pairs_table(pairs)));
  print(not_finite_lines(all, pairs));
  for (const std::string& unit : flags.compare) print_text(alias_text(unit));
  print(
      "equal, below and towards 0: shares of results beside the exact product of the\n"
      "  rounded operands, rounded once\n"
      "drift and bias: means with their sign, below 0 towards zero\n");
  return ExitCode::ok;
}

}  // namespace narrowgauge::cli
