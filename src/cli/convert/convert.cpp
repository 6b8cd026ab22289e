// SPDX-License-Identifier: Apache-2.0
// Makes a network ready for inference in a narrower format, and says what that cost.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/common/exit_code.h"
#include "cli/common/interrupt.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/config/command.h"
#include "cli/convert/report.h"
#include "cli/convert/source.h"
#include "cli/flags/model_precision.h"
#include "cli/flags/output_file.h"
#include "narrowgauge/engine.h"
#include "quantize/range.h"

namespace narrowgauge::cli {
namespace {

constexpr const char* examples = R"(examples:
  narrowgauge convert runs/lenet --precision int8 --onnx lenet_int8.onnx
      ranges from the data that the run was trained on, accuracy on its test set
  narrowgauge convert resnet50.onnx --calibrate photos --max-drop 0.5 -o fast.onnx
      the fastest format that loses half a point at most
  narrowgauge convert resnet50.onnx --precision int8 --calibrate inputs.npz --sensitivity
      without labels: the error of the output, and of which convolution it comes
  narrowgauge convert bert.onnx --precision bf16 --onnx bert_bf16.onnx
  narrowgauge convert runs/lenet -p int8 --pixels nhwc --onnx lenet_pixels.onnx
      takes the pixels of pictures, and normalizes them as the run did
  narrowgauge convert runs/a --precision int8 --onnx a_int8.onnx
      without samples, where `train --output runs/a --keep-ranges` left ranges
  narrowgauge convert runs/lenet -p int8 --keep-ranges ranges.json
  narrowgauge convert runs/lenet --ranges ranges.json --compare-ranges
      what each calibrator makes of ranges that were kept)";

struct Flags {
  ConvertSourceFlags source;
  PrecisionFlags plan;  // nothing of these but --plan
  std::optional<std::string> precision, onnx, calibrator, keep_ranges, pixels;
  std::optional<std::int64_t> samples, test_samples, sensitivity_samples;
  std::optional<double> max_drop;
  std::optional<std::int64_t> weight_bits;
  bool sensitivity = false, one_scale = false, plain = false, compare_ranges = false, json = false;
  bool quiet = false, no_cache = false;
};

struct Interrupted {};  // what a signal makes of the next progress

void show_progress(const ConvertProgress& progress, bool quiet) {
  if (interrupted()) throw Interrupted{};
  if (!quiet && stderr_is_terminal())
    show_status(fmt::format("{} {} of {}", progress.stage, progress.done, progress.all));
}

ConvertOptions options_for(const Flags& flags, const ConvertSource& source) {
  ConvertOptions options;
  if (flags.precision) options.precision = parse_engine_precision(*flags.precision);
  if (flags.plan.plan) options.plan = plan_for(source.model, flags.plan);
  options.calibration = source.calibration;
  options.validation = source.validation;
  options.calibration_samples = flags.samples.value_or(options.calibration_samples);
  options.validation_samples = flags.test_samples.value_or(0);
  options.calibrator = flags.calibrator.value_or(options.calibrator);
  options.max_drop = flags.max_drop;
  options.sensitivity = flags.sensitivity || flags.sensitivity_samples;
  options.sensitivity_samples = flags.sensitivity_samples.value_or(options.sensitivity_samples);
  options.weight_bits = static_cast<int>(flags.weight_bits.value_or(options.weight_bits));
  options.channel_scales = !flags.one_scale;
  options.equalize = options.correct_bias = !flags.plain;
  options.calibration_files = source.ranges;
  options.keep_calibration = flags.keep_ranges.value_or("");
  if (flags.pixels) options.pixels = pixels_of(source, flags.source, *flags.pixels);
  options.progress = [quiet = flags.quiet](const ConvertProgress& progress) {
    show_progress(progress, quiet);
  };
  return options;
}

ConvertedNames names_of(const Flags& flags, const ConvertSource& source) {
  ConvertedNames names{std::filesystem::path(source.model.name()).stem().string(), source.data,
                       flags.onnx.value_or(""),
                       flags.calibrator.value_or(ConvertOptions{}.calibrator), source.ranges_name};
  return names;
}

int compare(const Flags& flags, const ConvertSource& source) {
  require(!flags.onnx, "--compare-ranges: makes no network that --onnx could write");
  const auto ranges = compare_ranges(source.model, options_for(flags, source));
  show_status("");
  const ConvertedNames names = names_of(flags, source);
  if (flags.json)
    print(ranges_json(ranges, names).line());
  else if (!flags.quiet)
    print(ranges_text(ranges, names));
  return ExitCode::ok;
}

// Whether to take the ranges that a training kept, which are of the usual samples, and with
// channels of equal ranges.
bool takes_kept_ranges(const Flags& flags) {
  const EnginePrecision precision = parse_engine_precision(flags.precision.value_or("auto"));
  const bool bytes = precision == EnginePrecision::int8 || precision == EnginePrecision::automatic;
  return bytes && !flags.plan.plan && !flags.plain && !flags.samples;
}

int convert_source(const Flags& flags) {
  ConvertSourceFlags from = flags.source;
  from.takes_kept_ranges = takes_kept_ranges(flags);
  require_apart("--onnx", flags.onnx, {from.source.value_or(""), from.weights.value_or("")});
  const ConvertSource source = open_convert_source(from);
  if (flags.compare_ranges) return compare(flags, source);
  const ConvertOptions options = options_for(flags, source);
  const Engine engine = convert(source.model, options);
  if (interrupted()) throw Interrupted{};
  show_status("");
  if (flags.onnx) engine.save(*flags.onnx, flags.no_cache ? CacheUse::off : CacheUse::make);
  const ConvertedNames names = names_of(flags, source);
  if (flags.json)
    print(conversion_json(engine.report(), names).line());
  else if (!flags.quiet)
    print(conversion_text(engine.report(), names));
  if (engine.report().within_budget()) return ExitCode::ok;
  throw CheckError(fmt::format("convert: {} drops {:.3g}, the budget is {:.3g}",
                               name(engine.report().precision), engine.report().drop(),
                               *engine.report().max_drop));
}

int run_convert(const Flags& flags) {
  const InterruptScope interrupts;
  try {
    return convert_source(flags);
  } catch (const Interrupted&) {
    show_status("");
    say("interrupted",
        flags.keep_ranges ? "convert: no network is written" : "convert: nothing is written");
    return interrupted_code();
  }
}

}  // namespace

NG_COMMAND(convert, 28) {
  CLI::App& app =
      add_command(program, "convert", "make a network answer faster in a narrow format", examples);
  const auto flags = std::make_shared<Flags>();
  ConvertSourceFlags& source = flags->source;
  add_text(app, {"SOURCE", "", "folder that `train --output` made, or a file of ONNX"},
           source.source);
  add_text(app, {"--precision,-p", "P", "auto (default), f32, bf16, f16 or int8"},
           flags->precision);
  add_plan(app, "formats by this precision plan, in the place of --precision", flags->plan);
  add_text(app, {"--onnx,-o", "FILE", "the file to write (none: only the bill is shown)"},
           flags->onnx);
  add_switch(app,
             {"--no-cache", "",
              "no FILE.cache, with which the engine answers sooner and processes share weights"},
             flags->no_cache);
  add_text(app,
           {"--calibrate,-d", "DATA",
            "samples for ranges and accuracy: a set, a folder, an npz of the inputs, or random"},
           source.calibrate);
  add_real(app, {"--max-drop", "X", "points of accuracy, or percent of the output, that may go"},
           flags->max_drop);
  add_text(app, {"--calibrator", "C", calibrator_help()}, flags->calibrator);
  add_whole(app, {"--samples,-n", "N", "samples for ranges (256)"}, flags->samples, 1);
  add_whole(app, {"--test-samples", "N", "samples to measure on (all)"}, flags->test_samples, 1);
  add_switch(app, {"--sensitivity", "", "what each op loses by itself"}, flags->sensitivity);
  add_whole(app, {"--sensitivity-samples", "N", "on so many samples (16)"},
            flags->sensitivity_samples, 1);
  add_whole(app,
            {"--weight-bits", "N",
             "8 (default), or 7 for CPUs without VNNI: faster, and exact in other runtimes"},
            flags->weight_bits, 7);
  add_switch(app, {"--one-scale", "", "one scale for all channels of a weight"}, flags->one_scale);
  add_texts(app, {"--ranges", "FILE", "ranges that --keep-ranges kept; several are merged"},
            source.ranges);
  add_text(app, {"--keep-ranges", "FILE", "keep what was seen of the values, for --ranges"},
           flags->keep_ranges);
  add_switch(app, {"--compare-ranges", "", "only show what each calibrator makes of each value"},
             flags->compare_ranges);
  add_word(app, {"--pixels", "LAYOUT", "take u8 pixels as input, and normalize them"},
           flags->pixels, {"nhwc", "nchw"});
  add_text(app, {"--mean", "A,B,..", "of the pixels from 0 to 1, by channel (the run's)"},
           source.mean);
  add_text(app, {"--deviation", "A,B,..", "by which pixels are divided (the run's)"},
           source.deviation);
  add_switch(app, {"--plain", "", "no equal ranges of channels, no corrected biases"},
             flags->plain);
  add_text(app, {"--model,-m", "M", model_help(true), model_choices(true)}, source.network.model);
  add_input_flags(app, source.network);
  add_text(app, {"--weights", "FILE", "of the network (safetensors)"}, source.weights);
  add_known_inputs(app, source.known);
  add_switch(app, {"--json", "", "one JSON object"}, flags->json);
  add_switch(app, {"--quiet,-q", "", "print nothing but errors"}, flags->quiet);
  when_chosen(app, [flags, &action] { action = [flags] { return run_convert(*flags); }; });
}

}  // namespace narrowgauge::cli
