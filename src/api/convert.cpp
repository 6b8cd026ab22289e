// SPDX-License-Identifier: Apache-2.0
// Chooses what an engine computes in, and makes it.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "api/engine_implementation.h"
#include "api/frozen.h"
#include "api/int8_conversion.h"
#include "api/pixel_input.h"
#include "api/validation.h"
#include "io/onnx/export.h"
#include "io/onnx/write.h"
#include "precision/apply.h"
#include "precision/policy.h"
#include "quantize/freeze.h"
#include "quantize/range.h"

namespace narrowgauge {

namespace {

constexpr double usual_drop = 0.5;

// Of the constants of a network: as they are stored, or as they would be in f32.
std::int64_t weight_bytes(const Graph& graph, bool in_f32) {
  std::int64_t bytes = 0;
  for (const Node& node : graph.nodes()) {
    if (!node.is<Constant>()) continue;
    const Tensor& value = node.as<Constant>().value;
    const bool widened = in_f32 && value.dtype() == DType::i8;
    bytes += widened ? bytes_for(value.size(), DType::f32) : value.bytes();
  }
  return bytes;
}

ConvertedOp op_of(const Node& node, std::string_view precision, std::string why) {
  return {node.full_name(), node.op->full_name(), std::string(precision), std::move(why), {}};
}

// To two digits.
double rounded(double milliseconds) {
  if (milliseconds <= 0) return 0;
  const double unit = std::pow(10, 1 - std::floor(std::log10(milliseconds)));
  return std::round(milliseconds * unit) / unit;
}

// A form of the network that the budget allows, or that was asked for.
struct Form {
  EnginePrecision precision = EnginePrecision::f32;
  Graph graph;
  EngineAccuracy accuracy;
  std::vector<ConvertedOp> ops;
};

struct Converted {
  Graph graph;
  ConversionReport report;
};

class Converter {
 public:
  Converter(const Model& model, const ConvertOptions& options)
      : name_(model.name()),
        options_(options),
        given_(frozen_graph(model)),
        f32_(is_quantized(given_) ? without_rounding(given_) : given_) {}

  Converted run() {
    check();
    report_.max_drop = options_.max_drop;
    if (is_automatic() && !report_.max_drop) report_.max_drop = usual_drop;
    report_.bytes_before = weight_bytes(f32_, true);
    measure_before();
    Form form = is_automatic() ? fastest() : in_format(options_.precision);
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
  bool is_automatic() const { return options_.precision == EnginePrecision::automatic; }

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
    const bool asked = options_.precision == EnginePrecision::int8;
    require(!chooses || asked || is_automatic(), "convert: ranges are for int8, ",
            name(options_.precision), " has none");
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

  EngineAccuracy measured(const Graph& graph) const {
    return validation_ ? validation_->of(graph) : EngineAccuracy{};
  }

  bool holds(const EngineAccuracy& accuracy) const {
    ConversionReport report = report_;
    report.after = accuracy;
    return report.within_budget();
  }

  // The bytes that the network was trained with, or that another tool chose.
  Form as_given() {
    Form form{EnginePrecision::int8, given_, measured(given_), {}};
    for (int i = 0; i < static_cast<int>(given_.nodes().size()); ++i)
      if (reads_bytes(given_, i))
        form.ops.push_back(op_of(given_.node(i), "int8", "the network is quantized"));
    return form;
  }

  Form in_format(EnginePrecision precision) {
    if (precision == EnginePrecision::int8) return is_quantized(given_) ? as_given() : on_bytes();
    Form form{precision, f32_, report_.before, {}};
    for (const int node : quantizable(f32_))
      form.ops.push_back(op_of(f32_.node(node), name(precision), "as asked for"));
    if (precision == EnginePrecision::f32) return form;
    PrecisionRequest request;
    request.narrow = precision == EnginePrecision::f16 ? DType::f16 : DType::bf16;
    form.graph = with_narrow_constants(apply(f32_, make_precision_plan(f32_, request)));
    form.accuracy = measured(form.graph);
    return form;
  }

  Form on_bytes() {
    const Int8Conversion conversion(f32_, options_);
    report_.calibration_samples = conversion.samples();
    Form form{EnginePrecision::int8, conversion.with_all(), {}, {}};
    form.accuracy = measured(form.graph);
    const bool held = holds(form.accuracy);
    std::map<int, double> sensitivity;
    if (validation_ && (options_.sensitivity || !held))
      sensitivity = conversion.sensitivity(*validation_);
    const std::set<int> wide = held ? std::set<int>{} : give_back(conversion, sensitivity, form);
    list_ops(conversion, sensitivity, wide, form);
    if (is_automatic() && validation_) give_back_slow(conversion, form);
    return form;
  }

  // Makes contractions wide that bytes do not make faster, if the whole is clearly faster then.
  void give_back_slow(const Int8Conversion& conversion, Form& form) const {
    const std::vector<std::size_t> slow = compare_times(form);
    Form mixed{form.precision, Graph(), {}, form.ops};
    for (const std::size_t i : slow) mixed.ops[i].precision = "f32";
    std::set<int> narrow;
    for (std::size_t i = 0; i < mixed.ops.size(); ++i)
      if (mixed.ops[i].precision == "int8") narrow.insert(conversion.candidates()[i]);
    if (slow.empty() || narrow.empty()) return;
    mixed.graph = conversion.with_bytes_in(narrow);
    mixed.accuracy = measured(mixed.graph);
    constexpr double clearly = 0.98;  // two measurements of the same differ by as much
    const std::vector<double> times = validation_->milliseconds({&mixed.graph, &form.graph});
    if (holds(mixed.accuracy) && times[0] < clearly * times[1]) {
      form = std::move(mixed);
      return;
    }
    for (const std::size_t i : slow) form.ops[i].why += ", but then the whole is not better";
  }

  // Says of each op on bytes how long it takes there and in f32. Returns those that are not faster.
  std::vector<std::size_t> compare_times(Form& form) const {
    std::set<std::string> names;
    for (const ConvertedOp& op : form.ops) names.insert(op.name);
    const ContractionTimes in_f32 = validation_->contraction_milliseconds(f32_, names);
    const ContractionTimes on_bytes = validation_->contraction_milliseconds(form.graph, names);
    std::vector<std::size_t> slow;
    for (std::size_t i = 0; i < form.ops.size(); ++i) {
      ConvertedOp& op = form.ops[i];
      const auto wide = in_f32.find(op.name), narrow = on_bytes.find(op.name);
      if (op.precision != "int8" || wide == in_f32.end() || narrow == on_bytes.end()) continue;
      op.why = concat("int8 ", rounded(narrow->second), " ms, f32 ", rounded(wide->second), " ms");
      if (narrow->second >= wide->second) slow.push_back(i);
    }
    return slow;
  }

  // Makes the fewest contractions wide that the budget needs, the most sensitive first, assuming
  // that more of them lose less. None where even one that is left on bytes loses too much.
  std::set<int> give_back(const Int8Conversion& conversion,
                          const std::map<int, double>& sensitivity, Form& form) const {
    std::vector<int> order = conversion.candidates();
    std::ranges::stable_sort(order, std::greater{}, [&](int node) { return sensitivity.at(node); });
    std::set<int> best;
    auto low = std::size_t{1}, high = order.size();  // so many, from low to before high
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      Graph graph =
          conversion.with_bytes_in({order.begin() + static_cast<long>(middle), order.end()});
      const EngineAccuracy accuracy = measured(graph);
      if (holds(accuracy)) {
        best = {order.begin(), order.begin() + static_cast<long>(middle)};
        form.graph = std::move(graph);
        form.accuracy = accuracy;
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return best;
  }

  void list_ops(const Int8Conversion& conversion, const std::map<int, double>& sensitivity,
                const std::set<int>& wide, Form& form) const {
    for (const int index : conversion.candidates()) {
      const Node& node = conversion.prepared().node(index);
      ConvertedOp op = wide.contains(index)
                           ? op_of(node, "f32", "on bytes the drop would be above the budget")
                           : op_of(node, "int8", "the budget holds");
      if (const auto found = sensitivity.find(index); found != sensitivity.end())
        op.sensitivity = found->second;
      form.ops.push_back(std::move(op));
    }
  }

  // The form that answers a single sample first, of those that the budget allows.
  Form fastest() {
    std::vector<EnginePrecision> precisions{EnginePrecision::f32};
    if (validation_ && Target::machine().isa >= Isa::bf16)
      precisions.push_back(EnginePrecision::bf16);
    if (is_quantized(given_) || (has_ranges(options_) && !quantizable(f32_).empty()))
      precisions.push_back(EnginePrecision::int8);
    std::vector<Form> forms;
    for (const EnginePrecision precision : precisions) forms.push_back(in_format(precision));
    if (forms.size() == 1 || !validation_) return std::move(forms[0]);
    std::vector<const Graph*> graphs;
    for (const Form& form : forms) graphs.push_back(&form.graph);
    const std::vector<double> times = validation_->milliseconds(graphs);
    std::size_t best = 0;  // f32, which every budget allows
    for (std::size_t i = 0; i < forms.size(); ++i) {
      const bool held = holds(forms[i].accuracy);
      report_.candidates.push_back({forms[i].precision, times[i], held});
      if (held && times[i] < times[best]) best = i;
    }
    return std::move(forms[best]);
  }

  const std::string name_;
  const ConvertOptions& options_;
  const Graph given_, f32_;  // the latter without rounding, where it is quantized already
  std::optional<Validation> validation_;
  ConversionReport report_;
};

}  // namespace

Engine convert(const Model& model, const ConvertOptions& options) {
  Converted converted = Converter(model, options).run();
  return Engine(std::make_unique<Engine::Implementation>(
      Model(model.name(), network_of(std::move(converted.graph))), std::move(converted.report)));
}

void prepare_quantized_training(const Model& model, const ConvertOptions& options,
                                const std::string& path) {
  const Graph graph = frozen_graph(model);
  require(!is_quantized(graph), "convert: ", model.name(), " is quantized already");
  require(!options.pixels, "convert: training takes normalized images, pixels are for engines");
  require_quantizable(model.name(), graph, options);
  const Int8Conversion conversion(graph, options);
  onnx::write_model(path, onnx::export_graph(conversion.trainable()));
}

}  // namespace narrowgauge
