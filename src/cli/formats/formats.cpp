// SPDX-License-Identifier: Apache-2.0
#include "cli/formats/formats.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>

#include "cli/common/exit_code.h"
#include "cli/common/json.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/config/command.h"
#include "narrowgauge/block_format.h"
#include "narrowgauge/error.h"

namespace narrowgauge::cli {
namespace {

constexpr const char* examples = R"(examples:
  narrowgauge formats
      the formats: bits, range, epsilon, what is too large
  narrowgauge formats 3.14 65520 1e-8 0x1p-24 inf nan
      each number in each format: bits, value, error, neighbours
  narrowgauge formats f16:0x3c00 f8e4m3fn:0x7e --format f16,bf16
      numbers by their bits, in some formats
  narrowgauge formats --histogram runs/lenet --plot lenet.svg
      weights of a run, and gradients of a batch there: what each format would
      round, flush to zero or overflow
  narrowgauge formats --histogram model.safetensors --tensors --format f16
  narrowgauge formats --convert f32:f8e4m3fn < numbers.f32 > numbers.f8
      raw numbers, as they lie in memory)";

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const NumberFormat& format : number_formats()) names.emplace_back(format.name);
  return names;
}

std::string beyond_text(const NumberFormat& format) {
  if (format.beyond == Beyond::largest) return "the largest";
  return format.beyond == Beyond::nan ? "NaN" : "infinity";
}

std::string fields_text(const NumberFormat& format) {
  if (!format.is_float()) return fmt::format("{}", format.bits());
  return fmt::format("{} ({}+{}+{})", format.bits(), format.has_sign ? 1 : 0, format.exponent_bits,
                     format.fraction_bits);
}

// A power of two as "2^-14", other numbers by their digits.
std::string short_number(double value) {
  int exponent = 0;
  if (value > 0 && std::frexp(value, &exponent) == 0.5 && (value < 1e-3 || value > 1e6))
    return fmt::format("2^{} = {:.4g}", exponent - 1, value);
  return fmt::format("{:.8g}", value);
}

bool has_subnormals(const NumberFormat& format) {
  return format.is_float() && format.least < format.least_normal;
}

void require_alone(const FormatsFlags& flags) {
  const bool histogram = flags.histogram.has_value();
  require(!histogram || flags.numbers.empty(),
          "formats: numbers and --histogram do not go together");
  require(
      histogram || !(flags.plot || flags.data || flags.batch || flags.loss_scale || flags.tensors),
      "formats: --plot, --data, --batch, --loss-scale and --tensors need --histogram");
  const bool asks = histogram || !flags.numbers.empty() || !flags.formats.empty() || flags.json;
  require(!flags.convert || !asks, "formats: --convert stands alone");
  require(!flags.scale || !flags.numbers.empty(), "formats: --scale needs a number");
}

int run_formats(const FormatsFlags& flags) {
  require_alone(flags);
  if (flags.convert) return run_convert(*flags.convert);
  if (flags.histogram) return run_histogram(flags);
  if (flags.numbers.empty())
    print(flags.json ? format_tables_json(chosen_formats(flags))
                     : format_tables(chosen_formats(flags)));
  else
    print(flags.json ? number_tables_json(flags) : number_tables(flags));
  return ExitCode::ok;
}

JsonObject format_json(const NumberFormat& format) {
  JsonObject json;
  json.add("format", format.name).add("bits", format.bits()).add("sign", format.has_sign);
  json.add("exponent_bits", format.exponent_bits).add("fraction_bits", format.fraction_bits);
  json.add("largest", format.largest);
  if (format.is_float()) {
    json.add("smallest_normal", format.least_normal);
    json.add("smallest", format.least).add("epsilon", std::ldexp(1.0, -format.fraction_bits));
  }
  json.add("too_large", beyond_text(format));
  return json;
}

JsonObject block_json(const NamedBlockFormat& named) {
  const BlockFormat& format = named.format;
  JsonObject json;
  json.add("format", named.name).add("element", name(format.element)).add("block", format.block);
  if (format.block > 0) json.add("scale", name(format.scale));
  json.add("tensor_scale", format.tensor_scale);
  json.add("bits_per_element", bits_per_element(format));
  return json;
}

}  // namespace

std::string format_tables(const std::vector<const NumberFormat*>& formats) {
  TextTable table({words("format"), folding("bits (sign+exponent+fraction)", 12),
                   numbers("largest"), numbers("smallest normal"), numbers("smallest subnormal", 2),
                   numbers("epsilon", 1), folding("too large becomes", 11)});
  for (const NumberFormat* format : formats)
    table.add({std::string(format->name), fields_text(*format), short_number(format->largest),
               format->is_float() ? short_number(format->least_normal) : "-",
               has_subnormals(*format) ? short_number(format->least) : "-",
               format->is_float() ? short_number(std::ldexp(1.0, -format->fraction_bits)) : "-",
               beyond_text(*format)});
  TextTable blocks({words("block format"), words("elements"), numbers("block"),
                    words("scale of a block"), words("scale of the tensor", 1),
                    numbers("bits an element", 2)});
  for (const NamedBlockFormat& named : block_formats()) {
    const BlockFormat& format = named.format;
    blocks.add({std::string(named.name), std::string(name(format.element)),
                format.block > 0 ? fmt::format("{}", format.block) : "-",
                format.block > 0 ? std::string(name(format.scale)) : "-",
                format.tensor_scale ? "f32" : "-", fmt::format("{}", bits_per_element(format))});
  }
  return table.text(output_width()) + '\n' + blocks.text(output_width());
}

std::string format_tables_json(const std::vector<const NumberFormat*>& formats) {
  std::vector<JsonObject> rows, blocks;
  for (const NumberFormat* format : formats) rows.push_back(format_json(*format));
  for (const NamedBlockFormat& named : block_formats()) blocks.push_back(block_json(named));
  JsonObject json;
  return json.add("formats", rows).add("block_formats", blocks).line();
}

NG_COMMAND(formats, 80) {
  CLI::App& app = add_command(
      program, "formats", "number formats: numbers in each, and what they would lose", examples);
  const auto flags = std::make_shared<FormatsFlags>();
  add_arguments(app,
                {"NUMBER", "", "3.14, 0x1p-24, inf, nan, or bits: f16:0x3c00 (after -- : -inf)"},
                flags->numbers);
  add_word_list(app, {"--format,-f", "F", "only these formats: f16,bf16"}, flags->formats,
                format_names());
  add_real(app, {"--scale", "S", "of the integers of i8: a number is i8 times S (1)"},
           flags->scale);
  add_text(app, {"--histogram", "RUN|FILE", "weights of a run's folder or a .safetensors file"},
           flags->histogram);
  add_switch(app, {"--tensors", "", "a table for each tensor too"}, flags->tensors);
  add_text(app, {"--plot", "FILE.svg", "the histogram as a picture"}, flags->plot);
  add_text(app, {"--data,-d", "D", "for the gradients of a run (that of the training)"},
           flags->data);
  add_whole(app, {"--batch,-b", "N", "samples for the gradients (that of the training)"},
            flags->batch, 1);
  add_real(app, {"--loss-scale", "S", "of the gradients (that of the run, else 65536)"},
           flags->loss_scale);
  add_text(app, {"--convert", "FROM:TO", "raw numbers from stdin to stdout; i4 too"},
           flags->convert);
  add_switch(app, {"--json", "", "one JSON object"}, flags->json);
  when_chosen(app, [flags, &action] { action = [flags] { return run_formats(*flags); }; });
}

}  // namespace narrowgauge::cli
