// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/files/atomic_file.h"
#include "cli/common/exit_code.h"
#include "cli/common/json.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/formats/plot.h"
#include "cli/formats/values.h"
#include "narrowgauge/error.h"
#include "narrowgauge/format_census.h"

namespace narrowgauge::cli {
namespace {

// The formats a weight may be kept in; wide ones only if they are asked for.
std::vector<const NumberFormat*> histogram_formats(const FormatsFlags& flags) {
  std::vector<const NumberFormat*> formats = chosen_formats(flags);
  std::erase_if(formats, [&](const NumberFormat* format) {
    const bool asked = !flags.formats.empty();
    require(!asked || format->has_sign,
            "formats: --histogram: f8e8m0 has no sign, it is for scales");
    return !format->has_sign || (!asked && format->bits() > 31);
  });
  return formats;
}

struct SetResult {
  std::string name;
  FormatCensus census;
};

SetResult result_of(const FormatsFlags& flags, std::string name,
                    std::span<const NamedTensor> tensors, double scale) {
  FormatCensus census(histogram_formats(flags), flags.formats.empty()
                                                    ? block_formats()
                                                    : std::span<const NamedBlockFormat>());
  for (const NamedTensor& tensor : tensors) census.add(tensor.tensor, scale);
  return {std::move(name), std::move(census)};
}

std::string share_text(std::int64_t count, std::int64_t all) {
  if (count == 0) return "0";
  const double share = static_cast<double>(count) / static_cast<double>(all);
  return share < 5e-5 ? "<0.01 %" : percent_text(share);
}

std::string rows_text(const SetResult& result) {
  TextTable table({words("format"), numbers("exact"), numbers("rounded"), numbers("fewer bits"),
                   numbers("to zero"), numbers("too large")});
  bool blocks = false;
  for (const FormatFates& row : result.census.rows()) {
    if (row.blocks && !blocks) table.add_line();
    blocks = row.blocks;
    const auto share = [&](std::int64_t count) {
      return share_text(count, result.census.values());
    };
    table.add({std::string(row.format), share(row.of(Fate::exact)), share(row.of(Fate::rounded)),
               row.blocks || row.format == "i8" ? "-" : share(row.of(Fate::subnormal)),
               share(row.of(Fate::flushed)), row.blocks ? "-" : share(row.too_large())});
  }
  return table.text(output_width());
}

std::string heading(const SetResult& result) {
  const ExponentHistogram& h = result.census.histogram();
  std::string text = fmt::format("{}: {} values", result.name, grouped(result.census.values()));
  if (h.zeros > 0) text += fmt::format(", {} zeros", grouped(h.zeros));
  if (h.nans + h.infinities > 0)
    text += fmt::format(", {} NaN and {} infinite, which are not counted below", grouped(h.nans),
                        grouped(h.infinities));
  return text + '\n';
}

std::vector<JsonObject> rows_json(const SetResult& result) {
  std::vector<JsonObject> rows;
  for (const FormatFates& row : result.census.rows()) {
    JsonObject json;
    json.add("format", row.format).add("exact", row.of(Fate::exact));
    json.add("rounded", row.of(Fate::rounded));
    if (!row.blocks) json.add("subnormal", row.of(Fate::subnormal));
    json.add("flushed", row.of(Fate::flushed));
    if (!row.blocks) json.add("too_large", row.too_large());
    rows.push_back(std::move(json));
  }
  return rows;
}

JsonObject set_json(const SetResult& result) {
  const ExponentHistogram& h = result.census.histogram();
  JsonObject exponents, json;
  for (int e = ExponentHistogram::least; e <= ExponentHistogram::most; ++e)
    if (h.at(e) > 0) exponents.add(fmt::format("{}", e), h.at(e));
  json.add("name", result.name).add("values", result.census.values()).add("zeros", h.zeros);
  json.add("nans", h.nans).add("infinities", h.infinities).add("exponents", exponents);
  json.add("formats", rows_json(result));
  return json;
}

// Results of each tensor, if --tensors asks for them.
std::vector<SetResult> tensor_results(const FormatsFlags& flags, const ValueSet& set) {
  std::vector<SetResult> results;
  if (!flags.tensors) return results;
  for (const NamedTensor& tensor : set.tensors)
    results.push_back(result_of(flags, tensor.name, {&tensor, 1}, set.scale));
  return results;
}

struct Report {
  const FormatsFlags& flags;
  Values values;
  std::vector<SetResult> sets;
  std::vector<std::vector<SetResult>> tensors;  // of each set
};

std::string report_text(const Report& report) {
  const auto formats = histogram_formats(report.flags);
  std::vector<const NumberFormat*> marked;
  std::ranges::copy_if(formats, std::back_inserter(marked),
                       [](const NumberFormat* format) { return format->is_float(); });
  std::string out = report.values.source + '\n';
  for (std::size_t i = 0; i < report.sets.size(); ++i) {
    const SetResult& set = report.sets[i];
    out += '\n' + heading(set) + rows_text(set) + '\n';
    out += histogram_text(set.census.histogram(), marked, static_cast<int>(output_width()));
    for (const SetResult& tensor : report.tensors[i])
      out += fmt::format("\n{}, {}", set.name, heading(tensor)) + rows_text(tensor);
  }
  return out +
         "  =: all its bits   -: fewer bits   0: becomes zero   ^: too large\n"
         "  i8: each tensor's largest becomes 127\n"
         "  block formats: rows of all but the first axis\n";
}

std::string report_json(const Report& report) {
  std::vector<JsonObject> sets;
  for (std::size_t i = 0; i < report.sets.size(); ++i) {
    JsonObject set = set_json(report.sets[i]);
    std::vector<JsonObject> tensors;
    for (const SetResult& tensor : report.tensors[i]) tensors.push_back(set_json(tensor));
    if (report.flags.tensors) set.add("tensors", tensors);
    sets.push_back(std::move(set));
  }
  JsonObject json;
  return json.add("source", report.values.source).add("sets", sets).line();
}

void write_picture(const Report& report) {
  std::vector<HistogramPanel> panels;
  for (const SetResult& set : report.sets)
    panels.push_back({heading(set).substr(0, heading(set).size() - 1), &set.census.histogram()});
  std::vector<const NumberFormat*> formats = histogram_formats(report.flags);
  std::erase_if(formats, [](const NumberFormat* format) { return !format->is_float(); });
  write_file_atomically(*report.flags.plot,
                        histogram_picture("Exponents of numbers, and the ranges of formats",
                                          report.values.source, panels, formats));
}

}  // namespace

int run_histogram(const FormatsFlags& flags) {
  histogram_formats(flags);  // refuses wrong formats before anything is read
  Report report{flags, read_values(flags), {}, {}};
  for (const ValueSet& set : report.values.sets) {
    report.sets.push_back(result_of(flags, set.name, set.tensors, set.scale));
    report.tensors.push_back(tensor_results(flags, set));
  }
  if (flags.plot) write_picture(report);
  if (flags.json)
    print(report_json(report));
  else
    print_text(report_text(report));
  return ExitCode::ok;
}

}  // namespace narrowgauge::cli
