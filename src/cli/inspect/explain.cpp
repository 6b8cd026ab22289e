// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "api/training/amp_choice.h"
#include "api/training/training_setup.h"
#include "base/text/nearest.h"
#include "cli/common/exit_code.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/config/command.h"
#include "cli/flags/model_precision.h"
#include "cli/flags/output_file.h"
#include "cli/flags/shape_flag.h"
#include "cli/task/network_choice.h"
#include "cli/task/run_folder.h"
#include "cli/task/settings.h"
#include "cli/training/training.h"
#include "precision/colouring/policy.h"
#include "precision/plans/fingerprint.h"
#include "study/explain_compiled.h"

namespace narrowgauge::cli {
namespace {

constexpr const char* explain_examples = R"(examples:
  narrowgauge explain --model resnet20 --amp f16
      what each node of the training graph computes in, and by which rule
  narrowgauge explain --model resnet20 --amp f16 --all
      weights and bookkeeping too
  narrowgauge explain --model lenet --amp bf16 --node conv1
      one node, with the chain of reasons
  narrowgauge explain --model resnet50 --amp bf16 --kernels --target amx
      the kernels on a CPU with AMX, whatever this one has
  narrowgauge explain model.onnx --amp f16
      the predictions of a model file
  narrowgauge explain runs/lenet
      what a run was trained in
  narrowgauge explain --model lenet --amp f16 --save-plan plan.txt
      the same as a plan that can be edited, and then given to --plan)";

struct ExplainFlags {
  NetworkFlags network;
  PrecisionFlags precision;
  std::optional<std::string> file, save_plan, node, optimizer, target;
  KnownInputFlags known;
  std::optional<std::int64_t> batch;
  bool json = false, kernels = false, all = false;
};

void require_node(const Explanation& explanation, const std::string& node) {
  std::vector<std::string> names;
  for (const NodeExplanation& entry : explanation.nodes) names.push_back(entry.entry.name);
  require(std::find(names.begin(), names.end(), node) != names.end(),
          "--node: ", explanation.model_name, " has no node ", node, suggestion(node, names));
}

// The explanation, and, if --kernels asks for them, the contractions and what is computed once.
struct Answer {
  Explanation explanation;
  std::optional<CompiledExplanation> compiled{};
};

KernelQuestion question_of(const ExplainFlags& flags, std::int64_t batch) {
  KernelQuestion question{.binding = {{"N", batch}}};
  if (flags.target) {
    question.target = Target::machine();
    question.target->isa = parse_isa(*flags.target);
  }
  return question;
}

// Sizes that the file leaves open count as --batch.
Answer answer_to_file(const ExplainFlags& flags, const RunPrecision& precision) {
  require(!precision.automatic && !flags.optimizer,
          "explain: a file of ONNX takes --amp off, f16 or bf16, and no --optimizer");
  Model model = Model::from_onnx(*flags.file, known_inputs(flags.known));
  set_precision(model, precision, flags.precision);
  KernelQuestion question = question_of(flags, flags.batch.value_or(1));
  for (const ModelPort& input : model.inputs())
    for (const Dim& dim : input.type ? input.type->shape : Shape{})
      if (!dim.is_known()) question.binding[dim.text()] = flags.batch.value_or(1);
  Answer answer{explain(model, question.binding)};
  if (flags.kernels) answer.compiled = explain_compiled(model, question);
  if (flags.save_plan) {
    const Graph graph = model.graph(Mode::evaluate);
    PrecisionPlan plan = flags.precision.plan ? plan_for(model, flags.precision)
                                              : make_precision_plan(graph, precision);
    plan.network = network_fingerprint(graph);
    save_plan(plan, *flags.save_plan);
  }
  return answer;
}

// A network that is trained, and how.
struct Training {
  std::string model;
  BuildNetwork build;
  Loss loss;
  Optimizer optimizer;
  std::int64_t batch = 1;
};

Answer answer_to_training(const ExplainFlags& flags, const Training& training,
                          const TrainerOptions& options) {
  const TrainingSetup setup =
      set_up_training(training.model, training.build, training.loss, training.optimizer, options);
  if (flags.save_plan) save_plan(setup.plan, *flags.save_plan);
  const KernelQuestion question = question_of(flags, training.batch);
  Answer answer{explain(setup.graph, setup.plan, question.binding)};
  if (flags.kernels) answer.compiled = explain_compiled(setup.graph, setup.plan, question);
  return answer;
}

constexpr std::int64_t some_steps = 100;  // their number decides nothing that is explained

// Explains by the run's plan, unless the flags ask for another format.
Answer answer_to_run(const ExplainFlags& flags) {
  const NetworkFlags& network = flags.network;
  require(!network.image && !network.classes && !network.sequence && !network.head &&
              !flags.optimizer && !flags.known.are_given(),
          "explain: ", *flags.file, " is a run, which has its network, sizes and optimizer");
  const Run run = read_run(*flags.file);
  const Settings& settings = run.record.settings;
  require_network(settings);
  const RunPrecision precision = settle_precision(flags.precision, settings.precision);
  check_used(precision, flags.precision);
  require(!precision.automatic, "explain: of a run, name a format in the place of --amp auto");
  const Task task = network_task(settings, run.record.images);
  Training training{settings.model, task.build, task.loss, make_optimizer(settings, some_steps),
                    flags.batch.value_or(settings.batch)};
  training.optimizer.precision = precision;
  TrainerOptions options{.plan_file = flags.precision.plan};
  if (!options.plan_file) {
    const SessionOptions of_run = plan_of(run, precision, flags.precision);
    options.plan_file = of_run.plan_file;
    options.plan_text = of_run.plan_text;
  }
  options.obeys_environment = false;
  return answer_to_training(flags, training, options);
}

Answer answer_to(const ExplainFlags& flags) {
  require(flags.file.has_value() != flags.network.model.has_value(),
          "explain: expected --model, a run or a file of ONNX, got ",
          flags.file ? "both" : "neither");
  require(!flags.known.are_given() || flags.file, "--shape and --value: are for a file of ONNX");
  require(!flags.target || flags.kernels, "--target: needs --kernels, the formats are the same");
  if (flags.file && std::filesystem::is_directory(*flags.file)) return answer_to_run(flags);
  RunPrecision precision = settle_precision(flags.precision, std::nullopt, {DType::f16});
  check_used(precision, flags.precision);
  if (flags.file) return answer_to_file(flags, precision);
  const NetworkChoice network = choose_network(flags.network);
  check_plan_alone(flags.precision);
  require(!flags.target || !precision.automatic,
          "--target: --amp auto is measured here, name a format");
  const Settings settings = usual_settings(network.model, flags.optimizer.value_or("sgd"));
  Training training{network.model, network.build(), network.loss(),
                    make_optimizer(settings, some_steps), flags.batch.value_or(settings.batch)};
  training.optimizer.precision = precision;
  TrainerOptions trained;
  trained.plan_file = flags.precision.plan;
  trained.plan_reason = settle_automatic(precision, [&] {
    // One that fits no node is refused below, and not taken for a format that changes nothing.
    training.optimizer.precision.overrides.clear();
    return choose_amp(training.model, training.build, training.loss, training.optimizer,
                      training.batch);
  });
  training.optimizer.precision = precision;
  trained.obeys_environment = false;
  return answer_to_training(flags, training, trained);
}

// Prints contractions with the kernel of each, and why that one if several would do.
void print_kernels(const std::vector<KernelReason>& kernels, bool json) {
  TextTable table(
      {folding("contraction", 24), words("math", 1), folding("kernel", 16), folding("why", 20, 2)});
  for (const KernelReason& each : kernels) {
    if (!json) {
      const std::string_view math = each.math == Math::none ? "-" : name(each.math);
      table.add({each.node, std::string(math), each.kernel, each.why});
      continue;
    }
    JsonObject line;
    line.add("node", each.node).add("math", name(each.math));
    print(line.add("kernel", each.kernel).add("why", each.why).line());
  }
  if (!json) print(table.text(output_width()));
}

// Prints what depends on weights and constants alone, and is computed when these change.
void print_hoisted(const std::vector<HoistedValue>& values, bool json) {
  TextTable table(
      {folding("computed once", 24), words("type"), numbers("nodes"), folding("from", 16, 1)});
  for (const HoistedValue& each : values) {
    const std::string from = each.from.empty() ? "constants" : listed(each.from);
    table.add({each.node, concat(each.type), grouped(std::ssize(each.nodes)), from});
    if (!json) continue;
    JsonObject line;
    line.add("computed_once", each.node).add("type", concat(each.type));
    print(line.add("nodes", each.nodes).add("from", each.from).line());
  }
  if (!json && !values.empty()) print('\n' + table.text(output_width()));
}

// Prints the nodes that compute; --all adds weights and bookkeeping, which have no choice.
void print_explanation(const Explanation& explanation, bool all) {
  TextTable table({folding("node", 22), folding("op", 16, 3), words("class", 4), words("in", 5),
                   words("out"), words("rule"), words("casts", 6)});
  std::int64_t hidden = 0;
  for (const NodeExplanation& node : explanation.nodes) {
    if (!all && !node.entry.dtype) {
      ++hidden;
      continue;
    }
    const ExplanationRow row = row_of(node);
    table.add({row.node, row.op, row.precision, row.in, row.out, row.rule, row.casts});
  }
  print(table.text(output_width()));
  print_text(summary_text(explanation));
  if (hidden > 0)
    print_text(
        fmt::format("{} nodes of weights and bookkeeping are not shown: --all\n", grouped(hidden)));
}

int run_explain(const ExplainFlags& flags) {
  require_apart("--save-plan", flags.save_plan, {flags.file.value_or("")});
  const Answer answer = answer_to(flags);
  const Explanation& explanation = answer.explanation;
  if (answer.compiled) {
    print_kernels(answer.compiled->kernels, flags.json);
    print_hoisted(answer.compiled->hoisted, flags.json);
  } else if (flags.node) {
    require_node(explanation, *flags.node);
    const NodeExplanation& node = explanation.node(*flags.node);
    if (flags.json)
      print(explanation_json(node) + '\n');
    else
      print_text(explanation_text(node));
  } else if (flags.json) {
    print(explanation_json(explanation) + '\n');
  } else {
    print_explanation(explanation, flags.all);
  }
  return ExitCode::ok;
}

}  // namespace

NG_COMMAND(explain, 40) {
  CLI::App& app =
      add_command(program, "explain", "why each node computes in its format", explain_examples);
  const auto flags = std::make_shared<ExplainFlags>();
  add_text(app, {"FILE", "", "a model file of ONNX, or the folder of a run"}, flags->file);
  add_known_inputs(app, flags->known);
  add_text(app, {"--model,-m", "M", model_help(true), model_choices(true)}, flags->network.model);
  add_input_flags(app, flags->network);
  add_amp_or_auto(app, "off, f16 (default), bf16 or auto", flags->precision);
  add_policy(app, flags->precision);
  add_masters(app, flags->precision);
  add_math(app, flags->precision);
  add_switch(app, {"--all", "", "weights and bookkeeping too, not only what computes"}, flags->all);
  add_text(app, {"--node", "NAME", "this node alone, with its chain of reasons"}, flags->node);
  add_switch(app,
             {"--kernels", "",
              "which kernel each contraction takes, why that one, and what is computed once"},
             flags->kernels);
  add_word(app, {"--target", "T", "kernels for avx2, avx512, vnni, bf16 (AMD's) or amx"},
           flags->target, {"avx2", "avx512", "vnni", "bf16", "amx"});
  add_plan(app, "explain this plan", flags->precision);
  add_text(app, {"--save-plan", "FILE", "write the plan"}, flags->save_plan);
  add_overrides(app, flags->precision);
  add_whole(app, {"--batch,-b", "N", "for the bytes of casts (128)"}, flags->batch, 1);
  add_word(app,
           {"--optimizer,-o", "O", "of the training graph: " + choices(optimizer_names(), "sgd")},
           flags->optimizer, optimizer_names());
  add_switch(app, {"--json", "", "one JSON object"}, flags->json);
  when_chosen(app, [flags, &action] { action = [flags] { return run_explain(*flags); }; });
}

}  // namespace narrowgauge::cli
