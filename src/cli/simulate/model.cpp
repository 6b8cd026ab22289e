// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/text/printable.h"
#include "cli/common/exit_code.h"
#include "cli/common/interrupt.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/simulate/simulate.h"
#include "cli/training/trained.h"

namespace narrowgauge::cli {
namespace {

bool is_onnx(const SimulateFlags& flags) { return flags.model && flags.model->ends_with(".onnx"); }

// "sim:h100", "sim:h100:bf16": the math of a network under the unit.
std::string math_text(const SimulateFlags& flags) {
  require(flags.unit.has_value(), "simulate: --unit is required");
  const bool random = flags.random && !is_onnx(flags);
  const bool product = flags.output || random || flags.distribution || flags.accumulate ||
                       flags.transpose_a || flags.transpose_b || flags.op || flags.tf32_rounding;
  require(!product && flags.compare.empty() && !flags.plot,
          "simulate: a network takes --unit, --dtype, --data, --amp, --epochs, --batch, --seed");
  const std::string unit(name(unit_named("--unit", *flags.unit)));
  if (flags.unresolved) setenv("NARROWGAUGE_SIM_UNRESOLVED", "1", 1);
  return flags.dtype ? concat("sim:", unit, ':', *flags.dtype) : "sim:" + unit;
}

// One way of computing the network, with its name in tables.
struct Answer {
  std::string way;
  Evaluation evaluation;
  Tensor logits;  // of the test set's first samples
  FitResult fit;
};

constexpr std::int64_t batch_of_test = 256;

Tensor some_logits(Session& session, const Task& task) {
  BatchLoader first(task.test,
                    {.batch = batch_of_test, .shuffle = false, .keep_last = true, .epochs = 1});
  return session.model().predict(first.next()->tensors[0]).cast(DType::f32);
}

// The largest and mean difference of logits, the latter relative to their mean size, and changed
// choices. Samples with a value that is not finite are counted and not compared further.
struct Differences {
  double largest = 0, relative = 0;
  std::int64_t samples = 0, changed = 0, not_finite = 0;
};

Differences differences(const Tensor& a, const Tensor& b) {
  Differences result;
  const auto left = a.values<float>(), right = b.values<float>();
  const auto classes = static_cast<std::size_t>(a.dims().back());
  const auto is_finite = [](float value) { return std::isfinite(value); };
  const auto best = [](auto row) { return std::ranges::max_element(row) - row.begin(); };
  double sum = 0, size = 0;
  for (std::size_t i = 0; i < left.size(); i += classes) {
    const auto row = left.subspan(i, classes), other = right.subspan(i, classes);
    ++result.samples;
    if (!std::ranges::all_of(row, is_finite) || !std::ranges::all_of(other, is_finite)) {
      ++result.not_finite;
      continue;
    }
    for (std::size_t k = 0; k < classes; ++k) {
      const double difference = std::fabs(double{row[k]} - double{other[k]});
      result.largest = std::max(result.largest, difference);
      sum += difference;
      size += std::fabs(double{row[k]});
    }
    result.changed += best(row) != best(other);
  }
  result.relative = size > 0 ? sum / size : 0;
  return result;
}

bool is_trained(const Answer& answer) { return answer.fit.steps > 0; }

JsonObject answer_json(const Answer& answer) {
  JsonObject json;
  json.add("test_accuracy", answer.evaluation.accuracy).add("test_loss", answer.evaluation.loss);
  if (is_trained(answer))
    json.add("first_loss", answer.fit.first_loss).add("final_loss", answer.fit.final_loss);
  return json;
}

// A network's predictions in the fast way and on a unit.
struct Comparison {
  std::string model, data;
  const Answer &fast, &unit;
};

std::string answers_json(const Comparison& of, const Differences& difference) {
  const bool finite =
      std::isfinite(of.fast.evaluation.loss) && std::isfinite(of.unit.evaluation.loss);
  JsonObject json;
  json.add("event", finite ? "done" : "diverged").add("model", of.model).add("data", of.data);
  json.add("math", of.unit.way);
  json.add("fast", answer_json(of.fast)).add("unit", answer_json(of.unit));
  json.add("largest_logit_difference", difference.largest);
  json.add("mean_logit_difference", difference.relative);
  json.add("compared_samples", difference.samples - difference.not_finite);
  json.add("not_finite_samples", difference.not_finite);
  return json.add("changed_choices", difference.changed).line();
}

std::string answers_table(const Comparison& of) {
  const bool trained = is_trained(of.fast);
  std::vector<Column> columns{folding(of.model + " on " + of.data, 16), numbers("test accuracy"),
                              numbers("test loss", 1)};
  if (trained)
    columns.insert(columns.end(),
                   {numbers("first loss", 2), numbers("final loss", 1), numbers("samples/s", 3)});
  TextTable table(std::move(columns));
  for (const Answer* answer : {&of.fast, &of.unit}) {
    std::vector<std::string> row{answer->way, percent_text(answer->evaluation.accuracy),
                                 number_text(answer->evaluation.loss)};
    if (trained)
      row.insert(row.end(),
                 {fmt::format("{:.9g}", printable(answer->fit.first_loss)),
                  number_text(answer->fit.final_loss), rate_text(answer->fit.samples_per_second)});
    table.add(std::move(row));
  }
  return table.text(output_width());
}

void print_answers(const SimulateFlags& flags, const Comparison& of) {
  const Differences difference = differences(of.fast.logits, of.unit.logits);
  if (flags.json) {
    print(answers_json(of, difference));
    return;
  }
  print(answers_table(of));
  if (flags.unit) print_text(alias_text(*flags.unit));
  if (difference.not_finite > 0)
    print_text(fmt::format("logits of {} of {} test samples are infinite or NaN and not compared\n",
                           grouped(difference.not_finite), grouped(difference.samples)));
  if (difference.not_finite == difference.samples) return;
  print_text(fmt::format(
      "logits of {} test samples differ by {:.3g} of their size on average, by {:.3g} "
      "at most; {} of the choices differ\n",
      grouped(difference.samples - difference.not_finite), printable(difference.relative),
      printable(difference.largest), grouped(difference.changed)));
}

Answer trained(const Settings& settings, const Task& task, const std::string& way,
               ReportStyle style) {
  Session session(settings, task, {});
  Answer answer;
  answer.way = way;
  const TrainingOutcome outcome = train(session, task, style, {});
  answer.fit = outcome.fit;
  answer.evaluation = outcome.fit.test;
  if (!outcome.fit.stopped) answer.logits = some_logits(session, task);
  return answer;
}

int stopped(const Answer& answer) {
  say("interrupted", concat(answer.way, " stopped after ", answer.fit.steps,
                            " steps, there is nothing to compare"));
  return interrupted_code();
}

int train_on_unit(const SimulateFlags& flags, const std::string& math) {
  TrainFlags train_flags;
  train_flags.model = flags.model;
  train_flags.data = flags.data;
  train_flags.precision.amp = flags.precision.amp.value_or(Amp{});
  if (flags.epochs) train_flags.given["epochs"] = *flags.epochs;
  if (flags.batch) train_flags.given["batch"] = *flags.batch;
  if (flags.seed) train_flags.given["seed"] = *flags.seed;
  if (flags.threads) train_flags.given["threads"] = *flags.threads;
  Settings settings = settle(train_flags, std::nullopt);
  const Task task = prepare_task(settings);
  fit_batch(settings, task, train_flags);
  const ReportStyle style = flags.json ? ReportStyle::quiet : ReportStyle::automatic;
  const std::string format(name(settings.precision.narrow));
  Settings on_unit = settings;
  on_unit.precision.f32_math = math_of(math);
  const Answer fast = trained(settings, task, "fast " + format, style);
  if (fast.fit.stopped) return stopped(fast);
  const Answer unit = trained(on_unit, task, math + " " + format, style);
  if (unit.fit.stopped) return stopped(unit);
  print_answers(flags, {settings.model, settings.data, fast, unit});
  return ExitCode::ok;
}

// Evaluates the network; with an empty `math` as it was trained, by the plan in `options` if any.
Answer evaluated(const Run& run, const Task& task, const std::string& math,
                 const SessionOptions& options) {
  Settings settings = run.record.settings;
  const bool fast = math.empty();
  if (!fast) settings.precision.f32_math = math_of(math);
  Session session = session_of(run, settings, task, options);
  Answer answer;
  answer.way = concat(fast ? "fast" : math, ' ', settings.precision.narrow);
  answer.evaluation = session.trainer().evaluate(task.test, batch_of_test);
  answer.logits = some_logits(session, task);
  return answer;
}

int evaluate_on_unit(const SimulateFlags& flags, const std::string& math) {
  require(!flags.epochs && !flags.batch && !flags.seed,
          "simulate: a trained run is evaluated, --epochs, --batch and --seed are of --model");
  Run run = read_run(*flags.first);
  RunRecord& record = run.record;
  require_network(record.settings);
  if (flags.data) record.settings.data = *flags.data;
  const RunPrecision precision = settle_precision(flags.precision, record.settings.precision);
  const SessionOptions as_trained = plan_of(run, precision, flags.precision);
  record.settings.precision = precision;
  if (flags.threads) record.settings.threads = static_cast<int>(*flags.threads);
  const Task task = prepare_task(record.settings, record.images);
  const Answer fast = evaluated(run, task, "", as_trained);
  const Answer unit = evaluated(run, task, math, {});
  print_answers(flags, {record.settings.model, record.settings.data, fast, unit});
  require_finite(fast.evaluation);
  require_finite(unit.evaluation);
  return ExitCode::ok;
}

}  // namespace

int run_model(const SimulateFlags& flags) {
  const std::string math = math_text(flags);
  if (is_onnx(flags)) return run_onnx_model(flags, math);
  require(flags.inputs.empty(), "--input: is for a --model that is a file of ONNX");
  return flags.model ? train_on_unit(flags, math) : evaluate_on_unit(flags, math);
}

}  // namespace narrowgauge::cli
