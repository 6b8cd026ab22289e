// SPDX-License-Identifier: Apache-2.0
#include "api/training/training_setup.h"

#include <algorithm>

#include "api/model/built_network.h"
#include "api/model/model_implementation.h"
#include "api/training/amp_choice.h"
#include "base/files/open_file.h"
#include "base/threads/parallel.h"
#include "passes/core/in_f64.h"
#include "precision/amp.h"
#include "precision/apply.h"
#include "precision/colouring/follow.h"
#include "precision/colouring/policy.h"
#include "precision/plan_reader.h"
#include "precision/plans/fingerprint.h"
#include "train/training_graph.h"

namespace narrowgauge {

namespace {

// A plan to train by, as a text.
struct GivenPlan {
  std::string text, name;  // called so in messages
};

std::optional<GivenPlan> given_plan(const TrainerOptions& options) {
  const std::string name = options.plan_file.value_or("plan");
  if (options.plan_text) return GivenPlan{*options.plan_text, name};
  if (options.plan_file) return GivenPlan{read_text_file(name), name};
  return std::nullopt;
}

// `network` has the names of the graph that predicts.
PrecisionPlan make_plan_for(const Graph& graph, const std::vector<std::string>& network,
                            const Optimizer& optimizer, const std::optional<GivenPlan>& given) {
  if (given) return read_named_plan(given->text, given->name, graph, network);
  PrecisionPlan plan = make_precision_plan(graph, optimizer.precision);
  require_effect(plan);
  return plan;
}

// A plan in f16 needs the loss scale that the optimizer brings for it.
void take_format_of_plan(Optimizer& optimizer, const GivenPlan& given) {
  const DType narrow = narrow_of_plan(given.text, given.name);
  const DType asked = optimizer.precision.narrow;
  require(asked == DType::f32 || asked == narrow, given.name, ": is a plan in ", narrow,
          ", the optimizer asks for ", asked);
  optimizer.precision.narrow = narrow;
}

// Settles NARROWGAUGE_AMP=auto. Batches are not known yet, so kernels are timed with a usual one.
void settle_auto(const std::string& name, const BuildNetwork& build, const Loss& loss,
                 Optimizer& optimizer, TrainerOptions& options) {
  constexpr std::int64_t usual_batch = 32;
  const bool planned = options.plan_file || options.plan_text;
  if (optimizer.precision.is_mixed() || planned || !amp_of_environment().automatic) return;
  const ThreadScope threads(options.threads > 0 ? options.threads : thread_count());
  const AmpChoice choice = choose_amp(name, build, loss, optimizer, usual_batch);
  optimizer.precision.narrow = choice.format;
  if (choice.format == DType::f32) optimizer.precision.master_weights = true;
  options.plan_reason = choice.reason;
}

// Parts of a step follow the plan of the whole.
void set_up_graphs(TrainingSetup& setup, const Graph& forward) {
  const Optimizer& optimizer = setup.optimizer;
  const bool wide = optimizer.precision.in_f64;
  const Graph network = wide ? in_f64(forward, InputsInF64::kept) : forward;
  const auto computed = [&](const Graph& graph) {
    return wide ? graph : apply(graph, follow(setup.plan, graph));
  };
  if (setup.options.accumulation == 1) {
    setup.computed =
        wide ? make_training_graph(network, optimizer) : apply(setup.graph, setup.plan);
    return;
  }
  setup.computed = computed(make_gradient_graph(network, optimizer, trainer_owner));
  setup.update = computed(make_update_graph(network, optimizer, trainer_owner));
}

}  // namespace

Graph loss_graph(const std::string& name, const BuildNetwork& build, const Loss& loss, Mode mode) {
  Network network(name, mode);
  const Value prediction = built_prediction(network, build);
  const Value value = built_loss(network, loss, prediction);
  if (mode == Mode::evaluate) network.graph().output("prediction", prediction);
  network.graph().output("loss", value);
  return std::move(network.graph());
}

void settle_loss_scale(Optimizer& optimizer, const Graph& forward) {
  if (optimizer.loss_scale.kind != LossScale::Kind::automatic) return;
  const bool f16 = optimizer.precision.narrow == DType::f16 ||
                   std::ranges::any_of(forward.nodes(), [](const Node& node) {
                     return node.autocast == DType::f16;
                   });
  optimizer.loss_scale.kind = f16 ? LossScale::Kind::dynamic : LossScale::Kind::off;
}

TrainingSetup set_up_training(const std::string& name, const BuildNetwork& build, const Loss& loss,
                              Optimizer optimizer, TrainerOptions options) {
  check(optimizer);
  require(options.accumulation >= 1, "trainer: expected an accumulation of at least 1, got ",
          options.accumulation);
  const bool wide = optimizer.precision.in_f64;
  if (options.obeys_environment && !wide) {
    enable_mixed_precision_from_environment(optimizer);
    settle_auto(name, build, loss, optimizer, options);
  }
  const std::optional<GivenPlan> given = given_plan(options);
  require(!given || !wide, "trainer: a plan decides on every format, in_f64 cannot be added");
  if (given) take_format_of_plan(optimizer, *given);
  const Graph forward = loss_graph(name, build, loss, Mode::train);
  settle_loss_scale(optimizer, forward);
  Graph graph = make_training_graph(forward, optimizer);
  const auto network = names_of_network(network_graph(name, build, Mode::evaluate));
  PrecisionPlan plan = make_plan_for(graph, network, optimizer, given);
  plan.network = network.front();
  if (!options.plan_reason.empty()) plan.reason = options.plan_reason;
  TrainingSetup setup{std::move(optimizer), std::move(options), std::move(graph), std::move(plan),
                      Graph(name)};
  set_up_graphs(setup, forward);
  return setup;
}

}  // namespace narrowgauge
