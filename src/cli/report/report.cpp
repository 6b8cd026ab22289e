// SPDX-License-Identifier: Apache-2.0
#include "cli/report/report.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>

#include "api/runs/checkpoint_folder.h"
#include "base/files/atomic_file.h"
#include "cli/common/exit_code.h"
#include "cli/common/json.h"
#include "cli/common/svg.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/config/command.h"
#include "cli/flags/output_file.h"
#include "cli/report/curves.h"
#include "cli/report/measured.h"
#include "cli/report/page.h"
#include "cli/report/precision_map.h"
#include "cli/report/ranges.h"
#include "cli/report/summary.h"
#include "cli/report/times.h"
#include "narrowgauge/error.h"
#include "narrowgauge/version.h"

namespace narrowgauge::cli {
namespace {

constexpr const char* examples = R"(examples:
  narrowgauge report runs/lenet
      writes runs/lenet/report.html, which any browser opens without a network
  narrowgauge report runs/lenet/best -o best.html
      of the best checkpoint, into another file
  narrowgauge report runs/lenet --no-measure
      at once, from what the run wrote: curves, formats and settings
  narrowgauge report runs/fashion --class-names classes.txt
      with a name for each class, one a line)";

struct LeftOut {
  std::string part, reason;
};

// Whether something else than what the run says is to be measured: then failing is an error.
bool asks_how_to_measure(const TrainedFlags& flags) {
  return flags.data || flags.precision.amp || flags.precision.math || flags.precision.in_f64;
}

// Puts the page together. What cannot be had is left out, with a sentence that says why.
class ReportWriter {
 public:
  explicit ReportWriter(const ReportFlags& flags)
      : flags_(flags), run_(read_run(*flags.trained.run)) {
    require_network(run_.record.settings);
    folder_ = run_folder_of(*flags.trained.run);
  }

  std::string default_path() const {
    return (std::filesystem::path(folder_) / "report.html").string();
  }
  const std::vector<LeftOut>& left_out() const { return left_out_; }

  std::string text() {
    // Class names that cannot be read are a mistake of whoever named the file.
    const ClassNames names(flags_.class_names, run_.record.images);
    read_what_is_there();
    open_what_is_measured();
    add("summary", "The run", [&] {
      return summary_html({run_, *flags_.trained.run, curves_.get(), step_ && step_->edited});
    });
    add("curves", "Curves", [&] { return curves_part(); });
    add("results", "Results on the test set", [&] { return results_part(names); });
    add("samples", "Sample predictions",
        [&] { return samples_html(results().guesses, measured().trained().task, names); });
    add("precision", "Precision map", [&] { return precision_part(); });
    add("ranges", "Ranges of numbers by layer", [&] { return ranges_part(); });
    add("time", "Time by op", [&] { return times_part(); });
    return html_page(title(), head() + body_ + foot());
  }

 private:
  // A part whose contents may throw why there are none.
  void add(const std::string& id, const std::string& title,
           const std::function<std::string()>& contents) {
    std::string html;
    try {
      html = contents();
    } catch (const InternalError&) {
      throw;
    } catch (const std::exception& error) {
      show_status("");
      left_out_.push_back({id, error.what()});
      html = html_paragraph(fmt::format("Left out: {}.", error.what()));
    }
    body_ += html_section(id, title, html);
    links_ += fmt::format("<a href=\"#{}\">{}</a>\n", id, svg_escaped(title));
  }

  void read_what_is_there() {
    const std::string path = (std::filesystem::path(folder_) / "metrics.csv").string();
    std::error_code ignored;
    try {
      if (!std::filesystem::exists(path, ignored)) {
        no_curves_ = "this run has no metrics.csv, which training writes since it keeps one";
      } else {
        curves_ = std::make_unique<Curves>(read_csv_table(path));
        if (curves_->is_empty()) no_curves_ = "metrics.csv has no rows yet";
      }
    } catch (const UsageError& error) {
      no_curves_ = error.what();
    }
    if (!no_curves_.empty()) curves_.reset();
    try {
      step_ = std::make_unique<StepPlan>(plan_of_step(run_));
    } catch (const UsageError& error) {
      no_plan_ = error.what();
    }
  }

  void open_what_is_measured() {
    if (flags_.no_measure) {
      not_measured_ = "--no-measure asks for what the run wrote alone";
      return;
    }
    std::vector<std::string> also;
    for (const std::string& column : curves_ ? curves_->names() : std::vector<std::string>())
      if (const std::string metric = metric_of_column(column);
          metric != "loss" && metric != "accuracy" && metric_is_share(metric))
        also.push_back(metric);
    try {
      measured_ = std::make_unique<Measured>(flags_.trained, also);
    } catch (const UsageError& error) {
      if (asks_how_to_measure(flags_.trained)) throw;
      show_status("");
      not_measured_ = error.what();
    }
  }

  Measured& measured() {
    require<DataError>(measured_ != nullptr, not_measured_);
    return *measured_;
  }

  const Results& results() {
    if (!results_) results_ = std::make_unique<Results>(measured().results());
    return *results_;
  }

  std::string curves_part() const {
    require<DataError>(curves_ != nullptr, no_curves_);
    return curves_html(*curves_);
  }

  std::string results_part(const ClassNames& names) {
    const Results& found = results();
    const Trained& trained = measured().trained();
    return html_paragraph(
               fmt::format("{} samples of {}, in {}, as narrowgauge evaluate measures them.",
                           grouped(found.evaluation.samples), brief(trained.settings.data),
                           name_of(trained.settings.precision))) +
           results_html(found.evaluation, names);
  }

  std::string precision_part() const {
    require<DataError>(step_ != nullptr, no_plan_);
    const RunPrecision& precision = run_.record.settings.precision;
    if (precision.in_f64) return html_paragraph("All is computed in f64.");
    const std::string words = precision.is_mixed() || step_->explanation.narrow != DType::f32
                                  ? ""
                                  : "No narrow format was asked for: all nodes compute in f32.";
    return html_paragraph(words) + precision_html(step_->explanation, step_->graph);
  }

  std::string ranges_part() const {
    require<DataError>(!flags_.no_measure, not_measured_);
    const Task* task = measured_ ? &measured_->trained().task : nullptr;
    const MeasuredRanges found = ranges_of(run_, task);
    require<DataError>(!found.layers.empty(), "no node of the network reads parameters in f32");
    const std::string of =
        found.samples > 0
            ? fmt::format(
                  "Activations and gradients are those of {} training "
                  "samples, computed in f32.",
                  grouped(found.samples))
            : fmt::format("Activations and gradients are left out: {}.", not_measured_);
    return html_paragraph(of) + ranges_html(found.layers, found.gradient_scale);
  }

  std::string times_part() {
    std::int64_t steps = 0;
    const std::vector<ProfileRow> rows = measured().profile(steps);
    return html_paragraph(
               fmt::format("Training steps of {} samples in {}, timed just now on this machine.",
                           grouped(measured().trained().settings.batch),
                           name_of(measured().trained().settings.precision))) +
           times_html(rows, steps);
  }

  // Whole paths are in the part about the run.
  static std::string brief(const std::string& path) {
    const std::string last = std::filesystem::path(path).filename().string();
    return last.empty() ? path : last;
  }

  std::string title() const {
    const Settings& settings = run_.record.settings;
    return fmt::format("{} on {}", brief(settings.model), brief(settings.data));
  }

  std::string head() const {
    return fmt::format("<header>\n<h1>{}</h1>\n</header>\n<nav>\n{}</nav>\n", svg_escaped(title()),
                       links_);
  }

  static std::string foot() {
    return fmt::format(
        "<footer>\n<p class=\"soft\">Written by narrowgauge {} on {:%Y-%m-%d %H:%M} "
        "UTC.</p>\n</footer>\n",
        NARROWGAUGE_VERSION, fmt::gmtime(std::time(nullptr)));
  }

  const ReportFlags& flags_;
  Run run_;
  std::string folder_, body_, links_;
  std::string no_curves_, no_plan_, not_measured_;  // why there are none
  std::unique_ptr<Curves> curves_;
  std::unique_ptr<StepPlan> step_;
  std::unique_ptr<Measured> measured_;
  std::unique_ptr<Results> results_;
  std::vector<LeftOut> left_out_;
};

}  // namespace

int run_report(const ReportFlags& flags) {
  require_device(flags.trained.device);
  require(!flags.no_measure || !asks_how_to_measure(flags.trained),
          "--no-measure: nothing is computed, --data, --amp and --math cannot be added");
  ReportWriter writer(flags);
  const std::string path = flags.output.value_or(writer.default_path());
  require_apart("--output", path, {flags.class_names.value_or("")});
  { const AtomicFile probe(path); }  // better to fail before measuring than after it
  const std::string page = writer.text();
  write_file_atomically(path, page);
  if (flags.json) {
    std::vector<JsonObject> left_out;
    for (const LeftOut& each : writer.left_out()) {
      JsonObject part;
      left_out.push_back(std::move(part.add("part", each.part).add("reason", each.reason)));
    }
    JsonObject json;
    json.add("event", "done").add("report", path).add("bytes", std::ssize(page));
    print(json.add("left_out", left_out).line());
    return ExitCode::ok;
  }
  print(fmt::format("report          {} ({})\n", path, bytes_text(std::ssize(page))));
  std::map<std::string, std::vector<std::string>> parts;  // by the reason
  for (const LeftOut& each : writer.left_out()) parts[each.reason].push_back(each.part);
  for (const auto& [reason, names] : parts)
    print_text(fmt::format("left out        {}: {}\n", listed(names), reason));
  return ExitCode::ok;
}

NG_COMMAND(report, 26) {
  CLI::App& app =
      add_command(program, "report", "one page about a training, for any browser", examples);
  const auto flags = std::make_shared<ReportFlags>();
  add_trained(app, flags->trained);
  add_text(app, {"--output,-o", "FILE", "the page (RUN/report.html)"}, flags->output);
  add_text(app, {"--class-names", "FILE", "what classes are called, one a line"},
           flags->class_names);
  add_switch(app, {"--no-measure", "", "only what the run wrote: nothing is computed"},
             flags->no_measure);
  add_switch(app, {"--json", "", "one JSON object"}, flags->json);
  add_dump_config(app);
  when_chosen(app, [flags, &action] {
    action = {[flags] { return run_report(*flags); },
              [flags] { return settled_flags(flags->trained); }};
  });
}

}  // namespace narrowgauge::cli
