// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "api/model_info.h"
#include "cli/exit_code.h"
#include "cli/flags.h"
#include "cli/image_data.h"
#include "cli/settings.h"
#include "cli/terminal.h"
#include "cli/text.h"

namespace narrowgauge::cli {
namespace {

constexpr const char* examples = R"(examples:
  narrowgauge info --model resnet20 --image 3x32x32
      layers, parameters, multiply-adds, and what training takes in each format
  narrowgauge info --model lenet --batch 512 --json)";

struct Flags {
  std::optional<std::string> model, image, optimizer;
  std::optional<std::int64_t> classes, batch;
  bool json = false;
};

struct FormatMemory {
  std::string amp;
  TrainingMemory memory;
};

struct Facts {
  ImageShape image;
  std::int64_t classes = 10, batch = 128;
  ModelInfo model;
  std::vector<FormatMemory> memory;
};

Facts gather(const Flags& flags) {
  require_model(*flags.model);
  settle_amp("off", "off");
  Facts facts;
  facts.image = flags.image ? parse_image(*flags.image) : network_image(*flags.model, ImageShape{});
  facts.classes = flags.classes.value_or(facts.classes);
  facts.batch = flags.batch.value_or(facts.batch);
  Model model(*flags.model, find_model(*flags.model, facts.image, facts.classes));
  facts.model = model_info(model.graph(Mode::evaluate));
  const Settings settings = usual_settings(*flags.model, flags.optimizer.value_or("sgd"));
  for (const std::string& amp : amp_words) {
    Optimizer optimizer = make_optimizer(settings, 100);
    set_amp(optimizer, amp, {});
    Model trained(*flags.model, find_model(*flags.model, facts.image, facts.classes));
    const Trainer trainer(trained, softmax_cross_entropy(), optimizer);
    facts.memory.push_back({amp, training_memory(trainer, facts.batch)});
  }
  return facts;
}

std::string facts_json(const Flags& flags, const Facts& facts) {
  using Json = nlohmann::ordered_json;
  Json layers = Json::array(), memory = Json::object();
  for (const LayerInfo& layer : facts.model.layers)
    layers.push_back({{"name", layer.name},
                      {"op", layer.op},
                      {"output", layer.output},
                      {"parameters", layer.parameters},
                      {"macs", layer.macs}});
  for (const FormatMemory& row : facts.memory)
    memory[row.amp] = {{"state_bytes", row.memory.states},
                       {"activation_bytes", row.memory.activations},
                       {"arena_bytes", row.memory.arena},
                       {"total_bytes", row.memory.total()}};
  const Json json{{"model", *flags.model},
                  {"image", image_text(facts.image)},
                  {"classes", facts.classes},
                  {"batch", facts.batch},
                  {"parameters", facts.model.parameters},
                  {"statistics", facts.model.statistics},
                  {"macs", facts.model.macs},
                  {"layers", std::move(layers)},
                  {"training_memory", std::move(memory)}};
  return json.dump() + '\n';
}

std::string count_or_nothing(double value) { return value > 0 ? grouped(std::llround(value)) : ""; }

void print_facts(const Flags& flags, const Facts& facts) {
  TextTable layers({"layer", "op", "output", "parameters", "multiply-adds"}, {1, 2});
  for (const LayerInfo& layer : facts.model.layers)
    layers.add({layer.name, layer.op, layer.output,
                count_or_nothing(static_cast<double>(layer.parameters)),
                count_or_nothing(layer.macs)});
  layers.add_line();
  layers.add(
      {*flags.model, "", "", grouped(facts.model.parameters), count_or_nothing(facts.model.macs)});
  print(layers.text());
  print(fmt::format("images {}, {} classes; multiply-adds are for one image\n\n",
                    image_text(facts.image), facts.classes));
  TextTable memory({"training", "activations", "with workspaces", "weights and state", "in all"});
  for (const FormatMemory& row : facts.memory)
    memory.add({row.amp == "off" ? "f32" : row.amp, bytes_text(row.memory.activations),
                bytes_text(row.memory.arena), bytes_text(row.memory.states),
                bytes_text(row.memory.total())});
  print(memory.text());
  print(fmt::format("batch {}, {}\n", facts.batch, flags.optimizer.value_or("sgd")));
}

int run_info(const Flags& flags) {
  const Facts facts = gather(flags);
  if (flags.json)
    print(facts_json(flags, facts));
  else
    print_facts(flags, facts);
  return ExitCode::ok;
}

}  // namespace

void add_info(CLI::App& program, Action& action) {
  CLI::App& app = add_command(
      program, "info", "layers, parameters, multiply-adds and memory of a network", examples);
  const auto flags = std::make_shared<Flags>();
  add_required(app, {"--model,-m", "M", "network: mlp, lenet or resnet20"}, flags->model);
  add_text(app, {"--image,--data-shape", "CxHxW", "images (1x28x28; resnet20: 1x32x32)"},
           flags->image);
  add_whole(app, {"--classes", "N", "(10)"}, flags->classes, 1);
  add_whole(app, {"--batch,-b", "N", "samples in a step (128)"}, flags->batch, 1);
  add_word(app, {"--optimizer,-o", "O", "sgd (default), adam or adamw: its state takes memory"},
           flags->optimizer, {"sgd", "adam", "adamw"});
  add_switch(app, {"--json", "", "one JSON object"}, flags->json);
  when_chosen(app, [flags, &action] { action = [flags] { return run_info(*flags); }; });
}

}  // namespace narrowgauge::cli
