// SPDX-License-Identifier: Apache-2.0
#include "api/training_setup.h"

#include <sstream>

#include "api/amp_choice.h"
#include "base/environment.h"
#include "base/parallel.h"
#include "precision/amp_words.h"
#include "precision/plan_reader.h"
#include "precision/policy.h"
#include "train/training_graph.h"

namespace narrowgauge {

namespace {

std::string plan_name(const TrainerOptions& options) { return options.plan_file.value_or("plan"); }

DType narrow_of(const TrainerOptions& options) {
  if (!options.plan_text) return narrow_of_plan(*options.plan_file);
  std::istringstream text(*options.plan_text);
  return narrow_of_plan(text, plan_name(options));
}

PrecisionPlan make_plan_for(const Graph& graph, const Optimizer& optimizer,
                            const TrainerOptions& options) {
  if (options.plan_text) return read_named_plan(*options.plan_text, plan_name(options), graph);
  if (options.plan_file) return load_plan(*options.plan_file, graph);
  PrecisionPlan plan = make_precision_plan(graph, optimizer.precision);
  require_effect(plan);
  return plan;
}

// A plan in f16 needs the loss scale that the optimizer brings for it.
void take_format_of_plan(Optimizer& optimizer, const TrainerOptions& options) {
  if (!options.plan_file && !options.plan_text) return;
  const DType narrow = narrow_of(options);
  const DType asked = optimizer.precision.narrow;
  require(asked == DType::f32 || asked == narrow, plan_name(options), ": is a plan in ", narrow,
          ", the optimizer asks for ", asked);
  optimizer.precision.narrow = narrow;
}

// Settles NARROWGAUGE_AMP=auto. Batches are not known yet, so kernels are timed with a usual one.
void settle_auto(const std::string& name, const BuildNetwork& build, const Loss& loss,
                 Optimizer& optimizer, TrainerOptions& options) {
  constexpr std::int64_t usual_batch = 32;
  const bool planned = options.plan_file || options.plan_text;
  if (optimizer.precision.is_mixed() || planned || environment("AMP") != "auto") return;
  const ThreadScope threads(options.threads > 0 ? options.threads : thread_count());
  const AmpChoice choice = choose_amp(name, build, loss, optimizer, usual_batch);
  optimizer.precision.narrow = format_of_amp(choice.amp).value();
  options.plan_reason = choice.reason;
}

}  // namespace

Graph loss_graph(const std::string& name, const BuildNetwork& build, const Loss& loss, Mode mode) {
  Network network(name, mode);
  const Value prediction = build(network);
  const Value value = loss(network, prediction);
  if (mode == Mode::evaluate) network.graph().output("prediction", prediction);
  network.graph().output("loss", value);
  return std::move(network.graph());
}

TrainingSetup set_up_training(const std::string& name, const BuildNetwork& build, const Loss& loss,
                              Optimizer optimizer, TrainerOptions options) {
  check(optimizer);
  if (options.obeys_environment) {
    enable_mixed_precision_from_environment(optimizer);
    settle_auto(name, build, loss, optimizer, options);
  }
  take_format_of_plan(optimizer, options);
  Graph graph = make_training_graph(loss_graph(name, build, loss, Mode::train), optimizer);
  PrecisionPlan plan = make_plan_for(graph, optimizer, options);
  if (!options.plan_reason.empty()) plan.reason = options.plan_reason;
  return {std::move(optimizer), std::move(options), std::move(graph), std::move(plan)};
}

}  // namespace narrowgauge
