// SPDX-License-Identifier: Apache-2.0
// Chooses what an engine computes in, and makes it.
#include <algorithm>

#include "api/conversion/engine_implementation.h"
#include "api/conversion/frozen.h"
#include "api/conversion/int8_form.h"
#include "api/conversion/narrow_form.h"
#include "api/conversion/pixel_input.h"
#include "base/machine/floating_environment.h"
#include "io/onnx/export/export.h"
#include "io/onnx/write.h"
#include "precision/colouring/follow.h"
#include "precision/plan_reader.h"
#include "quantize/freeze.h"
#include "quantize/range.h"

namespace narrowgauge {

namespace {

constexpr double usual_drop = 0.5;

// The bytes of a network's constants: as they are stored, or as they would be in f32.
std::int64_t weight_bytes(const Graph& graph, bool in_f32) {
  std::int64_t bytes = 0;
  for (const Node& node : graph.nodes()) {
    if (!node.is<Constant>()) continue;
    const Tensor& value = node.as<Constant>().value;
    const bool widened = in_f32 && value.dtype() != DType::boolean && bits(value.dtype()) < 32;
    bytes += widened ? bytes_for(value.size(), DType::f32) : value.bytes();
  }
  return bytes;
}

struct Converted {
  Graph graph;
  ConversionReport report;
};

class Converter {
 public:
  Converter(const Model& model, const ConvertOptions& options)
      : name_(model.name()),
        options_(options),
        precision_(precision_of(options)),
        given_(frozen_graph(model)),
        f32_(is_quantized(given_) ? without_rounding(given_) : given_) {}

  Converted run() {
    check();
    report_.max_drop = options_.max_drop;
    if (is_automatic() && !report_.max_drop) report_.max_drop = usual_drop;
    report_.bytes_before = weight_bytes(f32_, true);
    measure_before();
    EngineForm form = is_automatic() ? fastest() : in_format(precision_);
    report_.precision = form.precision;
    report_.after = form.accuracy;
    report_.ops = std::move(form.ops);
    report_.bytes_after = weight_bytes(form.graph, false);
    if (validation_) {
      const std::vector<double> times = validation_->milliseconds({&f32_, &form.graph});
      report_.milliseconds_before = times[0];
      report_.milliseconds_after = times[1];
    }
    if (options_.pixels) form.graph = with_pixels(form.graph, *options_.pixels);
    return {std::move(form.graph), std::move(report_)};
  }

 private:
  bool is_automatic() const { return precision_ == EnginePrecision::automatic; }

  static EnginePrecision precision_of(const ConvertOptions& options) {
    if (!options.plan) return options.precision;
    const EnginePrecision of_plan = parse_engine_precision(name(options.plan->narrow));
    require(options.precision == EnginePrecision::automatic || options.precision == of_plan,
            "convert: the plan is in ", name(of_plan), ", and ", name(options.precision),
            " was asked for");
    return of_plan;
  }

  void check() const {
    check_ranges();
    require(options_.calibration_samples > 0, "convert: expected samples for calibration, got ",
            options_.calibration_samples);
    require(options_.sensitivity_samples > 0, "convert: expected samples for sensitivity, got ",
            options_.sensitivity_samples);
    require(options_.max_drop.value_or(0) >= 0, "convert: a drop is 0 or more, got ",
            options_.max_drop.value_or(0));
    require(options_.weight_bits == 7 || options_.weight_bits == 8,
            "convert: weights of bytes have 7 or 8 bits, got ", options_.weight_bits);
    check_calibrator(options_.calibrator);
    if (options_.pixels) with_pixels(f32_, *options_.pixels);  // throws before any work is done
  }

  void check_ranges() const {
    const bool has_files =
        !options_.calibration_files.empty() || !options_.keep_calibration.empty();
    const bool chooses = has_files || options_.calibrator != ConvertOptions{}.calibrator;
    const bool asked = precision_ == EnginePrecision::int8;
    require(!chooses || asked || is_automatic(), "convert: ranges are for int8, ", name(precision_),
            " has none");
    require(!chooses || !is_quantized(given_), "convert: ", name_,
            " is quantized already, its own ranges stay");
    if (!is_quantized(given_) && (asked || has_files)) require_quantizable(name_, f32_, options_);
  }

  void measure_before() {
    const auto source = options_.validation ? options_.validation : options_.calibration;
    if (!source) return;
    const std::int64_t count =
        options_.validation ? options_.validation_samples : options_.calibration_samples;
    validation_.emplace(f32_, source, count, [this](std::int64_t done, std::int64_t all) {
      if (options_.progress) options_.progress({"measuring", done, all});
    });
    report_.validation_samples = validation_->samples();
    report_.before = validation_->before();
  }

  FormBudget budget() const { return {validation_ ? &*validation_ : nullptr, report_.max_drop}; }

  EngineForm on_bytes() {
    if (is_quantized(given_)) return int8_form_as_given(given_, budget());
    const Int8Conversion conversion(f32_, options_);
    report_.calibration_samples = conversion.samples();
    return int8_form(f32_, conversion, options_, budget());
  }

  EngineForm in_format(EnginePrecision precision) {
    if (precision == EnginePrecision::int8) return on_bytes();
    EngineForm form{precision, f32_, report_.before, {}};
    if (precision != EnginePrecision::f32) {
      const DType narrow = precision == EnginePrecision::f16 ? DType::f16 : DType::bf16;
      form.graph =
          options_.plan ? in_narrow(f32_, follow(*options_.plan, f32_)) : in_narrow(f32_, narrow);
      form.accuracy = budget().accuracy(form.graph);
    }
    list_ops(form);
    return form;
  }

  // All contractions, in what the form has them in.
  void list_ops(EngineForm& form) const {
    for (int i = 0; i < std::ssize(form.graph.nodes()); ++i) {
      const Node& node = form.graph.node(i);
      if (node.op->info.fusion != Fusion::contraction) continue;
      const std::string format = computes_in(form.graph, i);
      const bool as_asked = options_.plan || format == name(form.precision);
      form.ops.push_back(
          converted_op(node, format, as_asked ? why() : "the precision lists have it so"));
    }
  }

  // Why all ops have the format of the engine.
  const char* why() const {
    if (options_.plan) return "by the plan";
    if (!is_automatic()) return "as asked for";
    return validation_ ? "the fastest within the budget" : "there are no samples to measure others";
  }

  // The form that predicts for a single sample first, of those that the budget allows.
  EngineForm fastest() {
    std::vector<EnginePrecision> precisions{EnginePrecision::f32};
    if (validation_ && has_bf16_unit()) precisions.push_back(EnginePrecision::bf16);
    if (is_quantized(given_) || (has_ranges(options_) && !quantizable(f32_).empty()))
      precisions.push_back(EnginePrecision::int8);
    std::vector<EngineForm> forms;
    for (const EnginePrecision precision : precisions) forms.push_back(in_format(precision));
    if (forms.size() == 1 || !validation_) return std::move(forms[0]);
    std::vector<const Graph*> graphs;
    for (const EngineForm& form : forms) graphs.push_back(&form.graph);
    const std::vector<double> times = validation_->milliseconds(graphs);
    std::size_t best = 0;  // f32, which every budget allows
    for (std::size_t i = 0; i < forms.size(); ++i) {
      const bool held = budget().holds(forms[i].accuracy);
      report_.candidates.push_back({forms[i].precision, times[i], held});
      if (held && times[i] < times[best]) best = i;
    }
    return std::move(forms[best]);
  }

  const std::string name_;
  const ConvertOptions& options_;
  const EnginePrecision precision_;
  const Graph given_, f32_;  // the latter without rounding, where it is quantized already
  std::optional<Validation> validation_;
  ConversionReport report_;
};

}  // namespace

Engine convert(const Model& model, const ConvertOptions& options) {
  const FloatingEnvironment environment(Subnormals::keep);
  if (options.plan) require_same_network(*options.plan, model.graph(Mode::evaluate));
  Converted converted = Converter(model, options).run();
  return Engine(std::shared_ptr<Engine::Implementation>(new Engine::Implementation{
      Model(model.name(), network_of(std::move(converted.graph))), std::move(converted.report)}));
}

void prepare_quantized_training(const Model& model, const ConvertOptions& options,
                                const std::string& path) {
  const FloatingEnvironment environment(Subnormals::keep);
  const Graph graph = frozen_graph(model);
  require(!is_quantized(graph), "convert: ", model.name(), " is quantized already");
  require(!options.pixels, "convert: training takes normalized images, pixels are for engines");
  require_quantizable(model.name(), graph, options);
  const Int8Conversion conversion(graph, options);
  onnx::write_model(path, onnx::export_graph(conversion.trainable()));
}

}  // namespace narrowgauge
