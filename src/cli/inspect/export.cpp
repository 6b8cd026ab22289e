// SPDX-License-Identifier: Apache-2.0
// Writes a network for other programs.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "cli/common/exit_code.h"
#include "cli/common/json.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/config/command.h"
#include "cli/flags/model_precision.h"
#include "cli/flags/output_file.h"
#include "cli/flags/run_precision.h"
#include "cli/flags/shape_flag.h"
#include "cli/task/network_choice.h"
#include "cli/task/run_folder.h"
#include "narrowgauge/onnx_info.h"

namespace narrowgauge::cli {
namespace {

constexpr const char* export_examples = R"(examples:
  narrowgauge export runs/lenet --onnx lenet.onnx
      a trained network in f32, for batches of any size
  narrowgauge export runs/lenet --onnx lenet.onnx --amp f16 --batch 1
      contractions and what follows them in f16, with casts that any runtime takes
  narrowgauge export --model resnet50 --weights resnet50.safetensors --onnx resnet50.onnx
  narrowgauge export old.onnx --onnx new.onnx
      brings a model file to a newer opset, with its constants computed)";

struct ExportFlags {
  std::optional<std::string> source, onnx, weights;
  NetworkFlags network;
  PrecisionFlags precision;
  KnownInputFlags known;
  std::optional<std::int64_t> batch;
  bool json = false;
};

void check_export(const ExportFlags& flags) {
  require(flags.source || flags.network.model,
          "export: what to export is missing: a run, a file of ONNX, or --model");
  require(!flags.source || !flags.network.model, "export: ", flags.source.value_or(""),
          " is a network, --model is another");
  require(flags.network.model || !flags.weights, "--weights: needs --model");
  require(!flags.known.are_given() || flags.source, "--shape and --value: need a file of ONNX");
}

Model model_of_run(const std::string& folder) {
  const Run run = read_run(folder);
  Model model = model_of(run.record.settings, run.record.images);
  model.load(folder);
  return model;
}

Model open_model(const ExportFlags& flags) {
  if (flags.source && std::filesystem::is_directory(*flags.source)) {
    require(!flags.known.are_given(), "--shape and --value: need a file of ONNX, ", *flags.source,
            " is a folder");
    return model_of_run(*flags.source);
  }
  if (flags.source) return Model::from_onnx(*flags.source, known_inputs(flags.known));
  const NetworkChoice network = choose_network(flags.network);
  Model model(network.model, network.build());
  if (flags.weights) model.load(*flags.weights, {.only_finite = true});
  return model;
}

void report_export(const ExportFlags& flags, const RunPrecision& precision) {
  const OnnxInfo info = onnx_info(*flags.onnx);
  std::int64_t nodes = 0;
  for (const OnnxOpCount& op : info.ops) nodes += op.nodes;
  const std::int64_t opset = info.opsets.at("");
  if (flags.json) {
    JsonObject json;
    json.add("file", *flags.onnx).add("amp", name(precision.amp())).add("opset", opset);
    json.add("ir_version", info.ir_version).add("nodes", nodes);
    print(json.add("parameters", info.parameters).add("initializer_bytes", info.bytes).line());
    return;
  }
  print_text(fmt::format("{}: {}, opset {}, {} nodes, {} parameters in {}\n", *flags.onnx,
                         name_of(precision), opset, grouped(nodes), grouped(info.parameters),
                         bytes_text(info.bytes)));
}

int run_export(const ExportFlags& flags) {
  check_export(flags);
  require_apart("--onnx", flags.onnx, {flags.source.value_or(""), flags.weights.value_or("")});
  const RunPrecision precision = settle_precision(flags.precision, std::nullopt);
  check_used(precision, flags.precision);
  Model model = open_model(flags);
  set_precision(model, precision, flags.precision);
  model.to_onnx(*flags.onnx, flags.batch);
  report_export(flags, precision);
  return ExitCode::ok;
}

}  // namespace

NG_COMMAND(export, 27) {
  CLI::App& app = add_command(program, "export", "a network as a file of ONNX", export_examples);
  const auto flags = std::make_shared<ExportFlags>();
  add_text(app, {"SOURCE", "", "folder that `train --output` made, or a file of ONNX"},
           flags->source);
  add_required(app, {"--onnx,-o", "FILE", "the file to write"}, flags->onnx);
  add_text(app, {"--model,-m", "M", model_help(true), model_choices(true)}, flags->network.model);
  add_input_flags(app, flags->network);
  add_text(app, {"--weights", "FILE", "of the network (safetensors)"}, flags->weights);
  add_known_inputs(app, flags->known);
  add_whole(app, {"--batch,-b", "N", "samples at once (any number)"}, flags->batch, 1);
  add_amp(app, "off (default), f16 or bf16", flags->precision);
  add_policy(app, flags->precision);
  add_plan(app, "in the formats of this precision plan", flags->precision);
  add_overrides(app, flags->precision);
  add_switch(app, {"--json", "", "one JSON object"}, flags->json);
  when_chosen(app, [flags, &action] { action = [flags] { return run_export(*flags); }; });
}

}  // namespace narrowgauge::cli
