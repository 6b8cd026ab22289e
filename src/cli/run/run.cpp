// SPDX-License-Identifier: Apache-2.0
// Runs a model file on tensors from files.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>

#include "api/model/engine_cache.h"
#include "base/files/atomic_file.h"
#include "base/threads/parallel.h"
#include "cli/common/exit_code.h"
#include "cli/common/json.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/config/command.h"
#include "cli/flags/model_precision.h"
#include "cli/flags/output_file.h"
#include "cli/flags/relative_difference.h"
#include "cli/flags/run_precision.h"
#include "cli/flags/shape_flag.h"
#include "cli/progress/profile_text.h"
#include "cli/run/inputs.h"
#include "narrowgauge/answer_profile.h"
#include "narrowgauge/npz.h"
#include "narrowgauge/trace.h"

namespace narrowgauge::cli {
namespace {

constexpr const char* examples = R"(examples:
  narrowgauge run resnet50.onnx --random 1x3x224x224
      a first try: the outputs for random numbers
  narrowgauge run resnet50.onnx --input cat.jpg --resize crop \
      --mean 123.7,116.3,103.5 --scale 0.0171,0.0175,0.0174 --output scores.npz
      a JPEG, PNG, WebP, BMP or PNM, in the layout and size that the input wants
  narrowgauge run resnet50.onnx --input cats.npy --layout nhwc --scale 0.0039
  narrowgauge run bert.onnx --input texts.npz --amp bf16 --check expected.npz --tolerance 0.02
      exit code 7 unless every output is within the tolerance
  narrowgauge run model.onnx --input x=test_data_set_0/input_0.pb --repeat 50
      the time of a call, without the first one
  narrowgauge run resnet50_int8.onnx --random 1x3x224x224 --profile trace.json
      where that time goes: a table of kernels, and each run of a kernel in the trace)";

constexpr double usual_tolerance = 1e-3;
constexpr std::int64_t usual_profile_answers = 10;

struct Flags {
  std::optional<std::string> model, output, check, profile;
  std::optional<double> tolerance;
  std::optional<std::int64_t> threads, repeat;
  InputFlags inputs;
  KnownInputFlags known;
  PrecisionFlags precision;
  bool json = false, quiet = false;
};

// What an output holds; not_finite counts infinities and NaN, which the others leave out.
struct Summary {
  double least = 0, mean = 0, most = 0;
  std::int64_t not_finite = 0;
};

Summary summary_of(const Tensor& tensor) {
  Summary summary;
  std::int64_t finite = 0;
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const double value = tensor.at(i);
    if (!std::isfinite(value)) {
      ++summary.not_finite;
      continue;
    }
    summary.least = finite == 0 ? value : std::min(summary.least, value);
    summary.most = finite == 0 ? value : std::max(summary.most, value);
    summary.mean += value;
    ++finite;
  }
  if (finite > 0) summary.mean /= static_cast<double>(finite);
  return summary;
}

struct Checked {
  std::string name;
  double difference = 0;
};

// Outputs in the file, by name; one without a name stands for the only output.
std::vector<Checked> check(const std::vector<NamedTensor>& outputs, const std::string& path) {
  std::vector<Checked> checked;
  for (const NamedTensor& expected : read_tensors(path)) {
    const bool only = expected.name.empty() && outputs.size() == 1;
    const auto found =
        only ? outputs.begin() : std::ranges::find(outputs, expected.name, &NamedTensor::name);
    require<DataError>(found != outputs.end(), path, ": the model has no output '", expected.name,
                       "'");
    require<CheckError>(found->tensor.dims() == expected.tensor.dims(), "output '", found->name,
                        "': expected ", expected.tensor.type(), ", got ", found->tensor.type());
    checked.push_back({found->name, relative_difference(found->tensor, expected.tensor)});
  }
  return checked;
}

struct Timing {
  double first = 0;              // seconds, compilation included
  std::optional<double> median;  // of the calls after it
};

double seconds_of(const std::function<void()>& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The paths that are read; an input may have its name before it.
std::vector<std::string> files_of(const Flags& flags) {
  std::vector<std::string> files = flags.inputs.files;
  for (const std::string& file : flags.inputs.files)
    files.push_back(file.substr(file.find('=') + 1));
  files.push_back(flags.model.value_or(""));
  return files;
}

// What does not fit the model came from files and flags that describe data.
std::vector<NamedTensor> outputs_of(Model& model, const std::vector<NamedTensor>& inputs) {
  try {
    return model.run(inputs);
  } catch (const ModelError&) {
    throw;
  } catch (const DataError&) {
    throw;
  } catch (const UsageError& error) {
    throw DataError(error.what());
  }
}

Timing run_and_time(Model& model, const std::vector<NamedTensor>& inputs, std::int64_t repeat,
                    std::vector<NamedTensor>& outputs) {
  const auto call = [&] { outputs = outputs_of(model, inputs); };
  Timing timing{seconds_of(call), std::nullopt};
  std::vector<double> times;
  for (std::int64_t i = 0; i < repeat; ++i) times.push_back(seconds_of(call));
  if (times.empty()) return timing;
  std::ranges::nth_element(times, times.begin() + repeat / 2);
  timing.median = times[static_cast<std::size_t>(repeat / 2)];
  return timing;
}

void print_outputs(const std::vector<NamedTensor>& outputs, bool json) {
  TextTable table({folding("output", 12), words("type"), numbers("least"), numbers("mean"),
                   numbers("most"), numbers("not finite", 1)});
  for (const auto& [name, tensor] : outputs) {
    const Summary summary = summary_of(tensor);
    if (json) {
      JsonObject line;
      line.add("output", name).add("type", concat(tensor.type())).add("least", summary.least);
      line.add("mean", summary.mean).add("most", summary.most);
      print(line.add("not_finite", summary.not_finite).line());
    }
    table.add({name, concat(tensor.type()), number_text(summary.least), number_text(summary.mean),
               number_text(summary.most), grouped(summary.not_finite)});
  }
  if (!json) print(table.text(output_width()));
}

void print_timing(const Timing& timing, bool json) {
  if (json) {
    JsonObject line;
    line.add("first_seconds", timing.first);
    if (timing.median) line.add("median_seconds", *timing.median);
    print(line.line());
    return;
  }
  std::string text = fmt::format("first call {:.1f} ms", timing.first * 1e3);
  if (timing.median) text += fmt::format(", median of the others {:.3f} ms", *timing.median * 1e3);
  print_text(text + '\n');
}

void report_check(const std::vector<Checked>& checked, double tolerance, bool json) {
  for (const auto& [name, difference] : checked) {
    if (json) {
      JsonObject line;
      print(line.add("checked", name).add("relative_difference", difference).line());
    } else {
      print_text(fmt::format("{}: differs by {:.3g} of its largest number\n", name, difference));
    }
  }
  for (const auto& [name, difference] : checked)
    require<CheckError>(difference <= tolerance, "output '", name, "' differs by ", difference,
                        " of its largest number, --tolerance is ", tolerance);
}

void profile(Model& model, const std::vector<NamedTensor>& inputs, const Flags& flags) {
  const std::int64_t answers = flags.repeat.value_or(usual_profile_answers);
  const AnswerProfile profile = profile_answers(model, inputs, answers);
  write_file_atomically(*flags.profile, chrome_trace(profile.kernels, profile.runs, "answer"));
  if (!flags.quiet)
    print_profile(profile_rows(profile.kernels, profile.answers),
                  {profile.answers, "an answer", "answers"}, *flags.profile, flags.json);
}

int run_model(const Flags& flags) {
  const ThreadScope threads(static_cast<int>(flags.threads.value_or(thread_count())));
  require_apart("--output", flags.output, files_of(flags));
  Model model = open_engine(*flags.model, known_inputs(flags.known), CacheUse::read);
  const RunPrecision precision = settle_precision(flags.precision, std::nullopt);
  check_used(precision, flags.precision);
  InputFlags given = flags.inputs;
  given.quiet = flags.quiet;
  const std::vector<NamedTensor> inputs = read_inputs(given, model.inputs());
  set_precision(model, precision, flags.precision, inputs);
  // Better to fail before the model runs than after it.
  if (flags.profile) write_file_atomically(*flags.profile, "");
  std::vector<NamedTensor> outputs;
  const Timing timing = run_and_time(model, inputs, flags.repeat.value_or(0), outputs);
  if (flags.output) write_npz(*flags.output, outputs);
  if (!flags.quiet) print_outputs(outputs, flags.json);
  if (!flags.quiet || flags.repeat) print_timing(timing, flags.json);
  if (flags.profile) profile(model, inputs, flags);
  if (flags.check)
    report_check(check(outputs, *flags.check), flags.tolerance.value_or(usual_tolerance),
                 flags.json);
  return ExitCode::ok;
}

SettledFlags settled_flags(const Flags& flags) {
  const RunPrecision precision = settle_precision(flags.precision, std::nullopt);
  check_used(precision, flags.precision);
  return {{"tolerance", {number_text(flags.tolerance.value_or(usual_tolerance))}},
          {"amp", {std::string(name(precision.amp()))}},
          {"math", {precision.in_f64 ? "f64" : std::string(name(precision.f32_math))}},
          {"threads", {std::to_string(thread_count())}}};
}

}  // namespace

NG_COMMAND(run, 22) {
  CLI::App& app = add_command(program, "run", "the outputs of a model file of ONNX", examples);
  const auto flags = std::make_shared<Flags>();
  add_required(app, {"MODEL", "", "a file of ONNX"}, flags->model);
  add_run_inputs(app, flags->inputs);
  add_value_flag(app, flags->known);
  add_text(app, {"--output,-o", "FILE", "write all outputs, by name (.npz)"}, flags->output);
  add_text(app, {"--check", "FILE", "compare with these outputs (.npz, .npy or .pb)"},
           flags->check);
  add_real(app, {"--tolerance", "T", "largest difference, relative to an output's largest (0.001)"},
           flags->tolerance);
  add_amp(app, "off (default), f16 or bf16", flags->precision);
  add_policy(app, flags->precision);
  add_math_or_f64(app, flags->precision);
  add_plan(app, "compute by this precision plan", flags->precision);
  add_overrides(app, flags->precision);
  add_whole(app, {"--threads", "N", "threads (all cores)"}, flags->threads, 1);
  add_whole(app, {"--repeat", "N", "N more calls, and their median time"}, flags->repeat, 1);
  add_text(
      app,
      {"--profile", "FILE", "trace of so many calls (10) for Perfetto, and a table of kernels"},
      flags->profile);
  add_switch(app, {"--quiet,-q", "", "no tables, no notes"}, flags->quiet);
  add_switch(app, {"--json", "", "one JSON object per output"}, flags->json);
  add_dump_config(app);
  when_chosen(app, [flags, &action] {
    action = {[flags] { return run_model(*flags); }, [flags] { return settled_flags(*flags); }};
  });
}

}  // namespace narrowgauge::cli
