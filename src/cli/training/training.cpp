// SPDX-License-Identifier: Apache-2.0
#include "cli/training/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "api/model/model_implementation.h"
#include "api/runs/checkpoint_files.h"
#include "api/training/metric_watch.h"
#include "base/threads/parallel.h"
#include "cli/common/interrupt.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/flags/interval.h"
#include "cli/progress/metrics.h"
#include "cli/task/run_network.h"

namespace narrowgauge::cli {
TrainerOptions trainer_options(const Settings& settings, const SessionOptions& options) {
  TrainerOptions result;
  result.obeys_environment = false;
  result.seed = static_cast<std::uint64_t>(settings.seed);
  result.deterministic = settings.deterministic;
  result.threads = settings.threads;
  result.accumulation = settings.accumulation;
  result.plan_file = options.plan_file;
  result.plan_text = options.plan_text;
  result.plan_reason = options.plan_reason;
  result.metrics = options.metrics;
  result.own_metrics = options.own_metrics;
  const std::string& watched = settings.watch.metric;
  const std::vector<std::string> measured = measured_with(result.metrics);
  if (std::ranges::find(measured, watched) == measured.end()) result.metrics.push_back(watched);
  result.recompute = options.recompute;
  if (options.trace)
    result.trace = [](const std::string& text) { fmt::print(stderr, "{}\n", text); };
  return result;
}

namespace {

std::string samples_word(const Task& task) { return words_of(task).samples; }

}  // namespace

void fit_batch(Settings& settings, const Task& task, const TrainFlags& flags) {
  const std::int64_t usual = settings.batch;
  fit_batch(settings, task.training_size, flags);
  if (settings.batch != usual)
    say("--batch", concat(settings.batch, ", as there are ", task.training_size, ' ',
                          samples_word(task), " to train on"));
}

void check_batch(const Settings& settings, const Task& task) {
  require(settings.batch <= task.training_size, "--batch: ", settings.batch, " is larger than the ",
          task.training_size, ' ', samples_word(task), " of ", task.data);
}

Session::Session(const Settings& settings, const Task& task, const SessionOptions& options)
    : settings_(settings) {
  check_batch(settings, task);
  model_ = std::make_unique<Model>(settings.model, task.build,
                                   static_cast<std::uint64_t>(settings.seed));
  trainer_ = std::make_unique<Trainer>(
      *model_, task.loss, make_optimizer(settings, task.training_size / settings.batch),
      trainer_options(settings, options));
}

Recompute recompute_of(const TrainFlags& flags) {
  return flags.recompute == "auto" ? Recompute::automatic : Recompute::off;
}

SessionOptions plan_of(const Run& run, const RunPrecision& now, const PrecisionFlags& flags) {
  if (!is_as_trained(now, run.record.settings.precision, flags)) return {};
  const auto text = run.text(plan_file);
  require<DataError>(text.has_value(), run.file(plan_file), ": there is no such file");
  return {.plan_file = run.file(plan_file), .plan_text = text};
}

void load_weights(Model& model, const Run& run) {
  Model::Implementation& inside = ModelAccess::of(model);
  const std::lock_guard alone(inside.in_use);
  narrowgauge::take_weights(
      inside, fitting_weights(inside, run.checkpoint.model, run.file(model_file), {}));
}

std::string settle_auto(Settings& settings, const Task& task) {
  return settle_automatic(settings.precision, [&] {
    check_batch(settings, task);
    const ThreadScope threads(settings.threads > 0 ? settings.threads : thread_count());
    show_status("measuring which format is fastest");
    AmpChoice choice =
        choose_amp(settings.model, task.build, task.loss,
                   make_optimizer(settings, task.training_size / settings.batch), settings.batch);
    show_status("");
    say("--amp auto", choice.reason);
    return choice;
  });
}

ReportStyle style_of(const TrainFlags& flags) {
  if (flags.quiet) return ReportStyle::quiet;
  return flags.json ? ReportStyle::json : ReportStyle::automatic;
}

CheckpointOptions checkpoints_in(const std::optional<std::string>& folder, const TrainFlags& flags,
                                 const Settings& settings) {
  CheckpointOptions options;
  if (!folder) return options;
  options.folder = *folder;
  if (flags.checkpoint_every) {
    const Interval every = parse_interval("--checkpoint-every", *flags.checkpoint_every);
    options.every_steps = every.steps;
    options.every_seconds = every.seconds;
    options.every_epochs = every.epochs;
  }
  options.keep = flags.keep.value_or(options.keep);
  options.best = settings.watch.keeps_best;
  options.locked = open_run_folder(*folder, settings);
  return options;
}

namespace {

// "fc.bias, fc.weight (f32[10,512], the file has f32[1000,512]) and 3 more"
std::string some_of(const std::vector<std::string>& all) {
  constexpr std::size_t most = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(all.size(), most); ++i)
    text += (i == 0 ? "" : ", ") + all[i];
  return all.size() > most ? fmt::format("{} and {} more", text, all.size() - most) : text;
}

void tell_weights(const LoadReport& report, const std::string& path, bool as_json) {
  std::vector<std::string> others, names;
  for (const LoadReport::Mismatch& each : report.mismatched) {
    others.push_back(concat(each.name, " (", each.model, ", the file has ", each.file, ')'));
    names.push_back(each.name);
  }
  if (as_json) {
    JsonObject json;
    json.add("event", "weights").add("file", path).add("taken", report.taken);
    json.add("missing", report.missing).add("extra", report.extra);
    return print(json.add("other_shape", names).line());
  }
  const auto tell = [](const char* what, const std::vector<std::string>& all) {
    if (!all.empty()) say("--weights", fmt::format("{} {}: {}", all.size(), what, some_of(all)));
  };
  say("--weights", fmt::format("{} tensors taken from {}", report.taken, path));
  tell("begin anew, of another shape", others);
  tell("begin anew, not in the file", report.missing);
  tell("of the file not used", report.extra);
}

}  // namespace

void take_weights(Model& model, const TrainFlags& flags) {
  if (!flags.weights) return;
  const LoadMatch match = parse_load_match(flags.weights_match.value_or("exact"));
  const LoadReport report = model.load(*flags.weights, {.match = match, .only_finite = true});
  if (match == LoadMatch::shape) tell_weights(report, *flags.weights, flags.json);
}

void require_finite(const Evaluation& evaluation) {
  require<DivergedError>(std::isfinite(evaluation.loss), "the test loss is ", evaluation.loss,
                         ": the network's outputs are infinite or NaN for ",
                         grouped(evaluation.not_finite), " of ", grouped(evaluation.samples),
                         " samples");
}

namespace {

RunRecord record_of(const Settings& settings, const Task& task) {
  RunRecord record{settings, task.images, task.facts};
  record.settings.samples.table = task.table;
  std::error_code ignored;
  if (task.data != "glyphs" && std::filesystem::exists(task.data, ignored))
    record.settings.data = std::filesystem::absolute(task.data).string();
  return record;
}

}  // namespace

void keep_record(CheckpointOptions& checkpoints, Settings settings, const Task& task) {
  if (checkpoints.folder.empty()) return;
  OnnxSettings& network = settings.onnx;
  if (!network.file.empty()) network.kept = keep_network(checkpoints.folder, network.file);
  checkpoints.files[run_file] = run_text(record_of(settings, task));
  if (task.text) checkpoints.files[tokenizer_file] = task.text->tokenizer->json();
}

FitOptions fit_options(const Settings& settings, CheckpointOptions checkpoints) {
  const WatchSettings& watch = settings.watch;
  return {.epochs = settings.epochs,
          .batch = settings.batch,
          .checkpoints = std::move(checkpoints),
          .watch = {watch.metric, watch.patience, watch.least_change},
          .most_skips = watch.most_skips};
}

TrainingOutcome train(Session& session, const Task& task, ReportStyle style,
                      CheckpointOptions checkpoints,
                      const std::function<void(const Progress&)>& also) {
  const Settings& settings = session.settings();
  const FitTask fit{name_of(settings.precision), task.training, task.test,
                    fit_options(settings, std::move(checkpoints))};
  const auto reporter = make_reporter(style, fit.precision, settings.batch, words_of(task));
  const InterruptScope interrupts;
  TrainingOutcome outcome =
      fit_and_note(session.model(), session.trainer(), fit, [&](const Progress& progress) {
        reporter->update(progress);
        if (also) also(progress);
        return !interrupted();
      });
  outcome.scaled = settings.loss_scale != "off";
  outcome.ema_decay = settings.ema_decay;
  return outcome;
}

Amp amp_of(const TrainingOutcome& outcome) { return {outcome.narrow.value_or(DType::f32)}; }

std::string flush_text(const TrainingOutcome& outcome) {
  const FlushReport& flushed = outcome.flushed;
  if (outcome.narrow != DType::f16 || outcome.scaled) return "";
  const auto share = [](std::int64_t part, std::int64_t all) {
    return percent_text(static_cast<double>(part) /
                        static_cast<double>(std::max<std::int64_t>(all, 1)));
  };
  if (flushed.flushed == 0) return "no gradient was flushed to zero by f16";
  return fmt::format(
      "{} of {} gradient values ({}) were flushed to zero by f16, first in {} ({} of {}, {}); "
      "--loss-scale dynamic keeps them",
      grouped(flushed.flushed), grouped(flushed.elements), share(flushed.flushed, flushed.elements),
      flushed.first, grouped(flushed.first_flushed), grouped(flushed.first_elements),
      share(flushed.first_flushed, flushed.first_elements));
}

JsonObject outcome_json(const TrainingOutcome& outcome, const ResultWords& words) {
  const FitResult& fit = outcome.fit;
  JsonObject json;
  json.add("amp", name(amp_of(outcome))).add("precision", outcome.precision);
  add_test(json, fit.test);
  json.add("test_samples", fit.test.samples).add("samples_per_second", fit.samples_per_second);
  json.add("first_loss", fit.first_loss).add("final_loss", fit.final_loss);
  json.add("input_share", fit.input_share);
  json.add("steps", fit.steps).add("skipped_steps", fit.skipped_steps);
  if (outcome.ema_decay > 0) json.add("ema_decay", outcome.ema_decay);
  if (!fit.ended_early.empty()) json.add("ended_early", fit.ended_early);
  json.add("loss_scale", outcome.loss_scale).add("activation_bytes", outcome.activation_bytes);
  json.add("state_bytes", outcome.state_bytes);
  json.add("weights_sha256", outcome.sha256);
  if (words.is_text) json.add("tokens_per_second", words.rate(fit.samples_per_second));
  add_text_results(json, words, fit.test);
  add_metrics(json, fit.test);
  if (fit.steps == 0) json.add_null("first_loss").add_null("final_loss");
  const RecomputeReport& again = outcome.recomputed;
  if (!again.nodes.empty()) {
    JsonObject recomputed;
    recomputed.add("nodes", again.nodes).add("saved_bytes", again.saved_bytes);
    json.add("recomputed", recomputed.add("flops", again.flops));
  }
  if (outcome.narrow != DType::f16) return json;
  const FlushReport& report = outcome.flushed;
  JsonObject flushed;
  flushed.add("values", report.flushed).add("of", report.elements).add("first", report.first);
  flushed.add("first_values", report.first_flushed).add("first_of", report.first_elements);
  json.add("flushed", flushed);
  return json;
}

}  // namespace narrowgauge::cli
