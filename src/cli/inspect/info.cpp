// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "api/training/training_setup.h"
#include "cli/common/exit_code.h"
#include "cli/common/json.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/config/command.h"
#include "cli/flags/shape_flag.h"
#include "cli/task/network_choice.h"
#include "cli/task/onnx_facts.h"
#include "cli/task/settings.h"
#include "narrowgauge/explain.h"
#include "narrowgauge/model_info.h"

namespace narrowgauge::cli {
namespace {

constexpr const char* info_examples = R"(examples:
  narrowgauge info --model resnet20 --image 3x32x32
      layers, parameters, multiply-adds, and what training takes in each format
  narrowgauge info --model bert-base --sequence 384 --batch 8
      a network for text
  narrowgauge info --model lenet --batch 512 --json
  narrowgauge info model.onnx --shape x=1x3x224x224
      inputs, outputs, ops and costs of a model file
  narrowgauge info --ops
      the ops that graphs are made of, and their classes in mixed precision)";

struct InfoFlags {
  NetworkFlags network;
  std::optional<std::string> file, optimizer;
  KnownInputFlags known;
  std::optional<std::int64_t> batch;
  bool json = false, ops = false;
};

struct FormatMemory {
  DType format;
  TrainingMemory memory;
};

struct NetworkFacts {
  NetworkChoice network;
  std::int64_t batch = 128;
  ModelInfo model;
  std::vector<FormatMemory> memory;
};

NetworkFacts gather(const InfoFlags& flags) {
  NetworkFacts facts;
  facts.network = choose_network(flags.network);
  facts.batch = flags.batch.value_or(facts.batch);
  const std::string& name = facts.network.model;
  Network forward(name, Mode::evaluate);
  forward.graph().output("prediction", facts.network.build()(forward));
  facts.model = model_info(forward.graph());
  const Settings settings = usual_settings(name, flags.optimizer.value_or("sgd"));
  for (const DType format : amp_formats) {
    Optimizer optimizer = make_optimizer(settings, 100);
    optimizer.precision.narrow = format;
    const TrainingSetup setup = set_up_training(name, facts.network.build(), facts.network.loss(),
                                                optimizer, {.obeys_environment = false});
    facts.memory.push_back({format, training_memory(setup.graph, setup.plan, facts.batch)});
  }
  return facts;
}

JsonObject layer_json(const LayerInfo& layer) {
  JsonObject json;
  json.add("name", layer.name).add("op", layer.op).add("output", layer.output);
  json.add("parameters", layer.parameters).add("macs", layer.macs);
  return json;
}

JsonObject memory_json(const TrainingMemory& memory) {
  JsonObject json;
  json.add("state_bytes", memory.states).add("activation_bytes", memory.activations);
  json.add("arena_bytes", memory.arena).add("total_bytes", memory.total());
  return json;
}

std::string network_facts_json(const NetworkFacts& facts) {
  std::vector<JsonObject> layers;
  for (const LayerInfo& layer : facts.model.layers) layers.push_back(layer_json(layer));
  JsonObject memory;
  for (const FormatMemory& row : facts.memory)
    memory.add(name(Amp{row.format}), memory_json(row.memory));
  JsonObject json;
  facts.network.describe(json);
  json.add("batch", facts.batch);
  json.add("parameters", facts.model.parameters).add("statistics", facts.model.statistics);
  json.add("macs", facts.model.macs).add("layers", layers);
  return json.add("training_memory", memory).line();
}

std::string count_or_nothing(double value) { return value > 0 ? grouped(std::llround(value)) : ""; }

void print_network_facts(const InfoFlags& flags, const NetworkFacts& facts) {
  TextTable layers({folding("layer", 16), words("op", 1), words("output"), numbers("parameters"),
                    numbers("multiply-adds")});
  for (const LayerInfo& layer : facts.model.layers)
    layers.add({layer.name, layer.op, layer.output,
                count_or_nothing(static_cast<double>(layer.parameters)),
                count_or_nothing(layer.macs)});
  layers.add_line();
  layers.add({facts.network.model, "", "", grouped(facts.model.parameters),
              count_or_nothing(facts.model.macs)});
  print(layers.text(output_width()));
  print_text(fmt::format("{}; multiply-adds are for one {}\n\n", facts.network.what(),
                         facts.network.sample()));
  TextTable memory({words("training"), numbers("activations"), numbers("with workspaces", 1),
                    numbers("weights and state"), numbers("in all")});
  for (const FormatMemory& row : facts.memory)
    memory.add({std::string(name(row.format)), bytes_text(row.memory.activations),
                bytes_text(row.memory.arena), bytes_text(row.memory.states),
                bytes_text(row.memory.total())});
  print(memory.text(output_width()));
  print(fmt::format("batch {}, {}\n", facts.batch, flags.optimizer.value_or("sgd")));
}

// Prints the ops of graphs and of --override, with their places on the lists of mixed precision.
void print_ops(bool json) {
  TextTable table({words("op"), words("in f16"), words("in bf16"), folding("inputs", 16, 1),
                   folding("outputs", 16, 2)});
  for (const OpClasses& op : op_classes()) {
    const std::string f16(name(op.f16)), bf16(name(op.bf16));
    table.add({op.op, f16, bf16, op.inputs, op.outputs});
    JsonObject line;
    line.add("op", op.op).add("f16", f16).add("bf16", bf16);
    if (json) print(line.add("inputs", op.inputs).add("outputs", op.outputs).line());
  }
  if (!json) print(table.text(output_width()));
}

int run_info(const InfoFlags& flags) {
  const int tasks = flags.ops + flags.network.model.has_value() + flags.file.has_value();
  require(tasks == 1, "info: expected one of --model, --ops and a file, got ",
          tasks == 0 ? "none" : "several");
  require(!flags.known.are_given() || flags.file, "--shape and --value: are for a file of ONNX");
  if (flags.file) {
    print_onnx_info(*flags.file, known_inputs(flags.known), flags.json);
    return ExitCode::ok;
  }
  if (flags.ops) {
    print_ops(flags.json);
    return ExitCode::ok;
  }
  const NetworkFacts facts = gather(flags);
  if (flags.json)
    print(network_facts_json(facts));
  else
    print_network_facts(flags, facts);
  return ExitCode::ok;
}

}  // namespace

NG_COMMAND(info, 30) {
  CLI::App& app = add_command(
      program, "info", "layers, parameters, multiply-adds and memory of a network", info_examples);
  const auto flags = std::make_shared<InfoFlags>();
  add_text(app, {"FILE", "", "a model file of ONNX"}, flags->file);
  add_known_inputs(app, flags->known);
  add_text(app, {"--model,-m", "M", model_help(true), model_choices(true)}, flags->network.model);
  add_input_flags(app, flags->network);
  add_switch(app, {"--ops", "", "the ops, and their classes in mixed precision"}, flags->ops);
  add_whole(app, {"--batch,-b", "N", "samples in a step (128)"}, flags->batch, 1);
  add_word(app, {"--optimizer,-o", "O", "as of train (sgd): its state takes memory"},
           flags->optimizer, optimizer_names());
  add_switch(app, {"--json", "", "one JSON object"}, flags->json);
  when_chosen(app, [flags, &action] { action = [flags] { return run_info(*flags); }; });
}

}  // namespace narrowgauge::cli
