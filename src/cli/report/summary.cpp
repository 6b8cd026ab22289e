// SPDX-License-Identifier: Apache-2.0
#include "cli/report/summary.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "api/runs/checkpoint_files.h"
#include "base/text/printable.h"
#include "cli/common/svg.h"
#include "cli/common/text.h"
#include "cli/report/page.h"
#include "cli/report/repeat_command.h"

namespace narrowgauge::cli {
namespace {

// "2026-11-24 15:46 UTC"; "" of what is not there.
std::string date_of(const std::string& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) return "";
  return fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(facts.st_mtim.tv_sec));
}

std::string network_text(const Run& run) {
  std::int64_t numbers = 0;
  for (const NamedTensor& tensor : run.checkpoint.model.tensors) numbers += tensor.tensor.size();
  return fmt::format("{}, {} numbers in {} tensors", run.record.settings.model, grouped(numbers),
                     grouped(std::ssize(run.checkpoint.model.tensors)));
}

std::string data_text(const RunRecord& record) {
  std::string text = record.settings.data;
  if (record.images)
    text += fmt::format(", images of {} in {} {}", image_text(record.images->drawn),
                        grouped(record.images->outputs()),
                        record.images->numbers.empty() ? "classes" : "numbers");
  if (record.facts)
    text += fmt::format(", {} to train on and {} to test", grouped(record.facts->training.samples),
                        grouped(record.facts->test.samples));
  return text;
}

std::string format_text(const RunRecord& record, bool planned) {
  const Settings& settings = record.settings;
  const RunPrecision& precision = settings.precision;
  std::string text = name_of(precision);
  if (precision.is_mixed())
    text +=
        concat(planned ? ", by an edited plan" : ", by policy " + precision.policy,
               precision.master_weights
                   ? ", weights in f32"
                   : concat(", weights kept narrow (rounding: ", name(precision.rounding), ')'));
  if (precision.is_mixed() || !settings.loss_scale.empty()) {
    const std::string usual = precision.narrow == DType::f16 ? "dynamic" : "off";
    text += ", loss scale " + (settings.loss_scale.empty() ? usual : settings.loss_scale);
  }
  return text;
}

std::string optimizer_text(const Settings& settings) {
  std::string text = fmt::format("{}, learning rate {}, schedule {}", settings.optimizer,
                                 number_text(settings.learning_rate), settings.schedule);
  for (const Hyperparameter& each : settings.rule.hyperparameters()) {
    std::string name(each.name);
    std::ranges::replace(name, '_', ' ');
    if (const bool* on = std::get_if<bool>(&each.value)) {
      if (*on) text += ", " + name;
    } else {
      text += fmt::format(", {} {}", name, number_text(std::get<double>(each.value)));
    }
  }
  if (settings.clip > 0) text += ", gradients clipped to a norm of " + number_text(settings.clip);
  if (settings.ema_decay > 0)
    text += ", averages with a decay of " + number_text(settings.ema_decay);
  return text;
}

// How far the checkpoint came: epochs that are whole, and steps of the next.
std::string progress_text(const Run& run) {
  const auto number = [&](const char* key) {
    const auto& metadata = run.checkpoint.state.metadata;
    const auto found = metadata.find(key);
    return found == metadata.end() ? std::string() : printable(found->second);
  };
  const std::string epochs = number("epoch"), batch = number("batch");
  std::string text = epochs.empty()
                         ? "of " + grouped(run.record.settings.epochs)
                         : fmt::format("{} of {}", epochs, grouped(run.record.settings.epochs));
  if (!batch.empty() && batch != "0") text += fmt::format(" and {} steps of the next", batch);
  return text + fmt::format(", batches of {}", grouped(run.record.settings.batch));
}

std::string checkpoint_text(const Run& run) {
  const TakenCheckpoint taken = taken_of(run);
  const std::string name = std::filesystem::path(run.checkpoint.path).filename().string();
  std::string text = name;
  if (taken.step >= 0) text += ", after step " + grouped(taken.step);
  for (const char* file : {manifest_file, model_file})
    if (const std::string date = date_of(run.file(file)); !date.empty()) {
      text += ", written " + date;
      break;
    }
  if (taken.best) return text + ", the best";
  return taken.has_best ? text + "; RUN/best is another" : text;
}

std::string value_text(const std::string& column, double value) {
  const bool share = metric_is_share(metric_of_column(column)).value_or(false);
  return share ? percent_text(value) : number_text(value);
}

// The last and the best value of each metric of the test.
std::string tests_html(const Curves& curves) {
  HtmlTable table({"<test", "last", "at step", "best", "at step"});
  for (const std::string& column : curves.names()) {
    const std::string metric = metric_of_column(column);
    const std::optional<Point> last = curves.last(column), best = curves.best(column);
    if (metric.empty() || !last) continue;
    table.add({metric, value_text(column, last->y), grouped(std::llround(last->x)),
               best ? value_text(column, best->y) : "-",
               best ? grouped(std::llround(best->x)) : "-"});
  }
  return table.is_empty() ? html_paragraph("No evaluation is in metrics.csv yet.") : table.text();
}

}  // namespace

std::string summary_html(const RunFacts& facts) {
  const Run& run = facts.run;
  std::vector<HtmlFact> list;
  const auto add = [&](const char* name, const std::string& text) {
    list.push_back({name, svg_escaped(text)});
  };
  add("Run", facts.folder);
  add("Network", network_text(run));
  add("Data", data_text(run.record));
  add("Format", format_text(run.record, facts.planned));
  add("Optimizer", optimizer_text(run.record.settings));
  add("Epochs", progress_text(run));
  if (facts.curves)
    if (const auto rate = facts.curves->last("samples_per_second"))
      add("Samples/s", rate_text(rate->y) + ", as training told last");
  add("Checkpoint", checkpoint_text(run));
  list.push_back({"Again", html_code(repeat_command(run, facts.planned))});
  return html_facts(list) + (facts.curves ? tests_html(*facts.curves) : "");
}

}  // namespace narrowgauge::cli
