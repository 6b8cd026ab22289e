// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/trace.h"

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "base/text/json_writing.h"

namespace narrowgauge {
namespace {

using Json = nlohmann::json;
constexpr double microseconds = 1000;  // in a millisecond
constexpr int track = 1;

double rate_of(double amount, double milliseconds) {
  return milliseconds > 0 ? 1e-6 * amount / milliseconds : 0;  // in 1e9 a second
}

std::string_view phase_name(Phase phase) {
  if (phase == Phase::forward) return "forward";
  return phase == Phase::backward ? "backward" : "update";
}

std::string trace_text(std::string_view text) {
  return json_text<Json>(text, Json::error_handler_t::replace);
}

// An event that lasts; `facts` is an object.
std::string slice(std::string_view name, std::string_view category, double begin,
                  double milliseconds, std::string facts = "") {
  return json_object({{"name", trace_text(name)},
                      {"cat", trace_text(category)},
                      {"ph", trace_text("X")},
                      {"ts", json_number<Json>(begin * microseconds)},
                      {"dur", json_number<Json>(milliseconds * microseconds)},
                      {"pid", concat(track)},
                      {"tid", concat(track)},
                      {"args", std::move(facts)}});
}

std::string kernel_slice(const Trainer::KernelChoice& kernel, const Trainer::KernelRun& run,
                         double begin) {
  const auto rate = [&](double amount) {
    return json_number<Json>(rate_of(amount, run.milliseconds));
  };
  const bool multiplies = kernel.flops > 0;
  const std::optional<bool> unit = on_matrix_unit(kernel);
  std::string facts =
      json_object({{"op", trace_text(kernel.op)},
                   {"phase", trace_text(phase_name(kernel.phase))},
                   {"kernel", trace_text(kernel.implementation)},
                   {"why", kernel.why.empty() ? "" : trace_text(kernel.why)},
                   {"bytes", concat(kernel.bytes)},
                   {"GB/s", rate(static_cast<double>(kernel.bytes))},
                   {"math", multiplies ? trace_text(name(kernel.math)) : ""},
                   {"flop", multiplies ? json_number<Json>(kernel.flops) : ""},
                   {"Gflop/s", multiplies ? rate(kernel.flops) : ""},
                   {"isa", kernel.facts.isa ? trace_text(name(*kernel.facts.isa)) : ""},
                   {"matrix unit", unit ? trace_text(*unit ? "yes" : "no") : ""}});
  return slice(kernel.node, phase_name(kernel.phase), begin, run.milliseconds, std::move(facts));
}

// Where each round begins among the runs: kernels run in the order of the plan.
std::vector<std::size_t> first_runs(const std::vector<Trainer::KernelRun>& runs) {
  std::vector<std::size_t> first;
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (i == 0 || runs[i].kernel <= runs[i - 1].kernel) first.push_back(i);
  return first;
}

std::string track_name(std::string_view what, std::string_view name) {
  return json_object({{"name", trace_text(what)},
                      {"ph", trace_text("M")},
                      {"pid", concat(track)},
                      {"tid", concat(track)},
                      {"args", json_object({{"name", trace_text(name)}})}});
}

}  // namespace

std::optional<bool> on_matrix_unit(const Trainer::KernelChoice& kernel) {
  if (kernel.flops <= 0 || !kernel.facts.isa) return std::nullopt;
  return *kernel.facts.isa == Isa::amx && !kernel.facts.widened;
}

std::string chrome_trace(const std::vector<Trainer::KernelChoice>& kernels,
                         const std::vector<Trainer::KernelRun>& runs, std::string_view round) {
  const std::string called(round);
  std::vector<std::string> events{track_name("process_name", "narrowgauge"),
                                  track_name("thread_name", called + 's')};
  const double start = runs.empty() ? 0 : runs.front().begin;
  std::vector<std::size_t> first = first_runs(runs);
  first.push_back(runs.size());
  for (std::size_t s = 0; s + 1 < first.size(); ++s) {
    const Trainer::KernelRun &begin = runs[first[s]], &last = runs[first[s + 1] - 1];
    events.push_back(slice(called + ' ' + std::to_string(s + 1), called, begin.begin - start,
                           last.begin + last.milliseconds - begin.begin));
    for (std::size_t i = first[s]; i < first[s + 1]; ++i)
      events.push_back(kernel_slice(kernels.at(runs[i].kernel), runs[i], runs[i].begin - start));
  }
  return json_object({{"displayTimeUnit", trace_text("ms")},
                      {"traceEvents", json_list(events, std::identity())}}) +
         '\n';
}

std::vector<ProfileRow> profile_rows(const std::vector<Trainer::KernelChoice>& kernels,
                                     std::int64_t rounds) {
  const auto count = static_cast<double>(std::max<std::int64_t>(rounds, 1));
  std::map<std::tuple<std::string, std::string, Math>, ProfileRow> kinds;
  double total = 0;
  for (const Trainer::KernelChoice& kernel : kernels) {
    if (kernel.bytes == 0) continue;  // nothing is run for it
    ProfileRow& row = kinds[{kernel.op, kernel.implementation, kernel.math}];
    row.op = kernel.op;
    row.kernel = kernel.implementation;
    row.math = kernel.math;
    row.matrix_unit = on_matrix_unit(kernel);
    ++row.nodes;
    row.milliseconds += kernel.milliseconds / count;
    row.gigabytes_per_second += static_cast<double>(kernel.bytes);  // becomes a rate below
    row.gigaflops_per_second += kernel.flops;
    total += kernel.milliseconds / count;
  }
  std::vector<ProfileRow> rows;
  for (auto& [kind, row] : kinds) {
    row.share = total > 0 ? row.milliseconds / total : 0;
    row.gigabytes_per_second = rate_of(row.gigabytes_per_second, row.milliseconds);
    row.gigaflops_per_second = rate_of(row.gigaflops_per_second, row.milliseconds);
    rows.push_back(std::move(row));
  }
  std::ranges::stable_sort(rows, std::greater{}, &ProfileRow::milliseconds);
  return rows;
}

}  // namespace narrowgauge
