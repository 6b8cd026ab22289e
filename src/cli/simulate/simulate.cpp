// SPDX-License-Identifier: Apache-2.0
#include "cli/simulate/simulate.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/text/nearest.h"
#include "base/threads/parallel.h"
#include "cli/common/text.h"
#include "cli/config/command.h"
#include "narrowgauge/data.h"

namespace narrowgauge::cli {
namespace {

constexpr const char* examples = R"(examples:
  narrowgauge simulate --unit a40 --dtype tf32 "[0, 3.14]" "[[1, 0], [0, 1]]"
      what a GPU makes of 3.14 times the identity, and why (pytorch#78275)
  narrowgauge simulate --unit a100 --dtype f16 A.npz B.npz --output D.npy
      files of NumPy or safetensors; of several arrays FILE.npz:NAME
  narrowgauge simulate --compare v100,h100,ieee --dtype f16 --random 64,64,1024
      how far units lie from the exact product and from each other, in ulp
  narrowgauge simulate --probe
      what each unit does to sums, found by numbers that it is given
  narrowgauge simulate --list
      units and formats, and how sure each is
  narrowgauge simulate runs/lenet --unit h100
      a trained network as that unit computes it)";

std::vector<std::string> unit_names() {
  std::vector<std::string> names;
  for (int i = 0; i < matrix_unit_count; ++i) names.emplace_back(name(static_cast<MatrixUnit>(i)));
  return names;
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (int i = 1; i < unit_format_count; ++i) names.emplace_back(name(static_cast<UnitFormat>(i)));
  std::erase(names, "s32");  // a result only
  return names;
}

UnitFormat format_of(DType dtype, MatrixUnit unit) {
  const UnitFormat own = own_format(dtype);
  if (own != UnitFormat::f32) return own;
  const bool tf32 = find_unit_model(unit, UnitFormat::tf32, UnitFormat::f32) != nullptr;
  return tf32 && unit < MatrixUnit::amx ? UnitFormat::tf32 : UnitFormat::f32;
}

// "f16 -> f32, f16 -> f16, ..." of a unit.
std::vector<std::string> models_of(MatrixUnit unit) {
  std::vector<std::string> models;
  for (const UnitModel& model : unit_models())
    if (model.unit == unit)
      models.push_back(concat(name(model.operand), " -> ", name(model.result)));
  return models;
}

void add_product_flags(CLI::App& app, SimulateFlags& flags) {
  add_text(app, {"A", "", "first matrix: FILE, FILE:NAME or [[1,2],[3,4]]; or a run folder"},
           flags.first);
  add_text(app, {"B", "", "second matrix"}, flags.second);
  add_text(app, {"C", "", "what the product is added to"}, flags.third);
  add_text(app,
           {"--unit,-u", "U", "v100, t4, a100, ada, h100, b200, ... (see --list)", unit_names()},
           flags.unit);
  add_word(app, {"--op", "OP", "matmul"}, flags.op, {"matmul"});
  add_word(app, {"--dtype", "D", "of the operands in the unit: tf32, f16, bf16, f8e4m3, ..."},
           flags.dtype, format_names());
  add_word(app, {"--accumulate", "D", "of the sums: f32 (f64, s32) or f16"}, flags.accumulate,
           {"f32", "f16", "f64", "s32"});
  add_word(app,
           {"--tf32-rounding", "R", "nearest (as libraries do) or truncate (as the unit does)"},
           flags.tf32_rounding, {"nearest", "truncate"});
  add_switch(app, {"--transpose-a", "", "A as it is stored has K rows"}, flags.transpose_a);
  add_switch(app, {"--transpose-b", "", "B as it is stored has N rows"}, flags.transpose_b);
  add_text(app, {"--output", "FILE", "write the result: .npy, .npz or .safetensors"}, flags.output);
  add_text(app, {"--random", "M,N,K", "random matrices instead of A and B"}, flags.random);
  add_word(app, {"--distribution", "D", "of --random: normal (default), uniform or lognormal"},
           flags.distribution, distribution_words);
}

void add_other_flags(CLI::App& app, SimulateFlags& flags) {
  add_list(
      app,
      {"--compare", "U,V,..", "these units by the exact product and by each other", unit_names()},
      flags.compare);
  add_text(app, {"--plot", "FILE.svg", "differences as a picture"}, flags.plot);
  add_switch(app, {"--probe", "", "what each unit does to sums"}, flags.probe);
  add_switch(app, {"--list", "", "units and formats, and how sure each is"}, flags.list);
  add_text(app, {"--model,-m", "M", "train this network, or run this file of ONNX, on the unit"},
           flags.model);
  add_texts(app, {"--input,-i", "[NAME=]FILE", "of a file of ONNX: .npz, .npy, .pb or a picture"},
            flags.inputs);
  add_text(app, {"--data,-d", "D", "of --model: " + data_help() + "; default: glyphs"}, flags.data);
  add_amp(app, "of --model: off (default), f16 or bf16", flags.precision);
  add_whole(app, {"--epochs,-e", "N", "of --model"}, flags.epochs, 1);
  add_whole(app, {"--batch,-b", "N", "of --model"}, flags.batch, 1);
  add_whole(app, {"--seed", "N", "of --random and --model (1)"}, flags.seed, 0);
  add_whole(app, {"--threads,-t", "N", "(0: all cores, or OMP_NUM_THREADS)"}, flags.threads, 0);
  add_switch(app, {"--unresolved", "", "also models that nobody has compared with hardware"},
             flags.unresolved);
  add_switch(app, {"--json", "", "one JSON object"}, flags.json);
}

// Why a GPU's name uses another unit's model.
std::string_view alias_reason(std::string_view text) {
  if (text == "a40") return "of its generation, Ampere; its own chip, GA102, is not compared";
  if (text == "l40s" || text == "l4") return "the tensor cores of Ada Lovelace";
  if (text == "h200") return "the same chip with other memory";
  if (text == "gb200") return "the same GPU beside another CPU";
  return "a chain of FMAs";
}

bool is_run(const SimulateFlags& flags) {
  std::error_code ignored;
  return flags.first && !flags.second && std::filesystem::is_directory(*flags.first, ignored);
}

int run_simulate(const SimulateFlags& flags) {
  const int tasks = flags.probe + flags.list + (flags.model ? 1 : 0);
  require(tasks <= 1, "simulate: --probe, --list and --model are different tasks");
  require(tasks == 0 || !flags.first, "simulate: ", flags.first.value_or(""),
          " is not expected with --probe, --list or --model");
  if (flags.list) return run_unit_list(flags);
  if (flags.probe) return run_probe(flags);
  require(!flags.threads || *flags.threads <= 4096, "--threads: expected 0 to 4096, got ",
          flags.threads.value_or(0));
  if (flags.model || is_run(flags)) return run_model(flags);
  const auto threads = static_cast<int>(flags.threads.value_or(0));
  const ThreadScope scope(threads > 0 ? threads : thread_count());
  return flags.compare.empty() ? run_product(flags) : run_unit_comparison(flags);
}

}  // namespace

MatrixUnit unit_named(const std::string& flag, const std::string& text) {
  if (const auto unit = parse_matrix_unit(text)) return *unit;
  std::vector<std::string> names = unit_names();
  const std::string all = choices(names);
  for (const auto& alias : matrix_unit_tables::aliases) names.emplace_back(alias.name);
  throw UsageError(
      concat(flag, ": expected ", all, ", got \"", text, '"', suggestion(text, names)));
}

std::string alias_text(const std::string& text) {
  for (const auto& alias : matrix_unit_tables::aliases)
    if (alias.name == text)
      return concat(text, "     ").substr(0, 8) +
             concat("computed as ", name(alias.unit), ": ", alias_reason(text), '\n');
  return "";
}

const UnitModel& model_for(MatrixUnit unit, DType operand, const SimulateFlags& flags) {
  const UnitFormat format =
      flags.dtype ? *parse_unit_format(*flags.dtype) : format_of(operand, unit);
  const UnitFormat result =
      flags.accumulate ? *parse_unit_format(*flags.accumulate) : usual_result(format);
  const UnitModel* const model = find_unit_model(unit, format, result);
  require(model != nullptr, name(unit), ": has no ", name(format), " -> ", name(result),
          ", it has ", choices(models_of(unit)));
  require(model->evidence != Evidence::unresolved || flags.unresolved, unit_text(*model),
          " is unresolved (", model->source, "); --unresolved computes it all the same");
  return *model;
}

std::string unit_text(const UnitModel& model) {
  return concat(name(model.unit), ' ', name(model.operand), " -> ", name(model.result));
}

NG_COMMAND(simulate, 70) {
  CLI::App& app = add_command(
      program, "simulate", "a matrix product or a network as another unit computes it", examples);
  const auto flags = std::make_shared<SimulateFlags>();
  add_product_flags(app, *flags);
  add_other_flags(app, *flags);
  when_chosen(app, [flags, &action] { action = [flags] { return run_simulate(*flags); }; });
}

}  // namespace narrowgauge::cli
