// SPDX-License-Identifier: Apache-2.0
#include "api/conversion/int8_form.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "api/conversion/narrow_form.h"

namespace narrowgauge {

namespace {

// The time to two digits.
double rounded_time(double milliseconds) {
  if (milliseconds <= 0) return 0;
  const double unit = std::pow(10, 1 - std::floor(std::log10(milliseconds)));
  return std::round(milliseconds * unit) / unit;
}

// The fastest of these, each also with bf16 beside the bytes where that may pay.
EngineForm fastest_with_bf16(std::vector<EngineForm> forms, const FormBudget& budget) {
  const std::size_t count = forms.size();
  if (budget.is_limited() && has_bf16_unit())
    for (std::size_t i = 0; i < count; ++i)
      forms.push_back(with_bf16_beside_bytes(forms[i], budget));
  return budget.fastest(std::move(forms));
}

class Int8Search {
 public:
  Int8Search(const Graph& f32, const Int8Conversion& conversion, const ConvertOptions& options,
             const FormBudget& budget)
      : f32_(f32), conversion_(conversion), options_(options), budget_(budget) {}

  EngineForm run() const {
    std::vector<EngineForm> forms{within_budget()};
    const bool compares = options_.precision == EnginePrecision::automatic && budget_.validation();
    const std::vector<std::size_t> slow =
        compares ? compare_times(forms[0]) : std::vector<std::size_t>{};
    if (auto without_slow = given_back(forms[0], slow)) {
      for (const std::size_t i : slow) forms[0].ops[i].why += ", but then the whole is not better";
      forms.push_back(std::move(*without_slow));
    }
    return fastest_with_bf16(std::move(forms), budget_);
  }

 private:
  EngineForm on_bytes_in(const std::set<int>& contractions) const {
    EngineForm form{EnginePrecision::int8, conversion_.with_bytes_in(contractions), {}, {}};
    form.accuracy = budget_.accuracy(form.graph);
    return form;
  }

  EngineForm within_budget() const {
    const std::vector<int>& all = conversion_.candidates();
    EngineForm form = on_bytes_in({all.begin(), all.end()});
    const bool held = budget_.holds(form.accuracy);
    std::map<int, double> sensitivity;
    if (budget_.validation() && (options_.sensitivity || !held))
      sensitivity = conversion_.sensitivity(*budget_.validation());
    const std::set<int> wide = held ? std::set<int>{} : give_back(sensitivity, form);
    list_ops(sensitivity, wide, form);
    return form;
  }

  // Makes the fewest contractions wide that the budget needs, the most sensitive first, assuming
  // that more of them lose less. None where even one that is left on bytes loses too much.
  std::set<int> give_back(const std::map<int, double>& sensitivity, EngineForm& form) const {
    std::vector<int> order = conversion_.candidates();
    std::ranges::stable_sort(order, std::greater{}, [&](int node) { return sensitivity.at(node); });
    std::set<int> best;
    auto low = std::size_t{1}, high = order.size();  // so many, from low to before high
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      const auto first_narrow = order.begin() + static_cast<std::ptrdiff_t>(middle);
      EngineForm tried = on_bytes_in({first_narrow, order.end()});
      if (budget_.holds(tried.accuracy)) {
        best = {order.begin(), first_narrow};
        form = std::move(tried);
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return best;
  }

  // All contractions of the network, in its order.
  void list_ops(const std::map<int, double>& sensitivity, const std::set<int>& wide,
                EngineForm& form) const {
    const std::vector<int>& candidates = conversion_.candidates();
    for (int i = 0; i < std::ssize(conversion_.prepared().nodes()); ++i) {
      const Node& node = conversion_.prepared().node(i);
      if (wide.contains(i))
        form.ops.push_back(
            converted_op(node, "f32", "on bytes the drop would be above the budget"));
      else if (std::ranges::find(candidates, i) != candidates.end())
        form.ops.push_back(converted_op(node, "int8", "the budget holds"));
      else if (node.op->info.fusion == Fusion::contraction)
        form.ops.push_back(converted_op(node, "f32", "it has no fixed weights"));
      else
        continue;
      if (const auto found = sensitivity.find(i); found != sensitivity.end())
        form.ops.back().sensitivity = found->second;
    }
  }

  // Says of each op on bytes how long it takes there and in wider formats. Returns those for which
  // one of these is as fast.
  std::vector<std::size_t> compare_times(EngineForm& form) const {
    std::set<std::string> names;
    for (const ConvertedOp& op : form.ops)
      if (op.precision == "int8") names.insert(op.name);
    const ContractionTimes on_bytes = times_of(form.graph, names), in_f32 = times_of(f32_, names),
                           in_bf16 = has_bf16_unit() ? times_of(in_narrow(f32_, DType::bf16), names)
                                                     : ContractionTimes{};
    std::vector<std::size_t> slow;
    for (std::size_t i = 0; i < form.ops.size(); ++i) {
      ConvertedOp& op = form.ops[i];
      const auto narrow = on_bytes.find(op.name);
      if (op.precision != "int8" || narrow == on_bytes.end()) continue;
      op.why = concat("int8 ", rounded_time(narrow->second), " ms");
      double least = std::numeric_limits<double>::infinity();
      for (const auto& [format, times] : {std::pair("f32", &in_f32), std::pair("bf16", &in_bf16)}) {
        const auto wide = times->find(op.name);
        if (wide == times->end()) continue;
        op.why += concat(", ", format, " ", rounded_time(wide->second), " ms");
        least = std::min(least, wide->second);
      }
      if (narrow->second >= least) slow.push_back(i);
    }
    return slow;
  }

  ContractionTimes times_of(const Graph& graph, const std::set<std::string>& names) const {
    return budget_.validation()->contraction_milliseconds(graph, names);
  }

  // The form with these of its ops in f32; nothing where none would change, or none be left.
  std::optional<EngineForm> given_back(const EngineForm& form,
                                       const std::vector<std::size_t>& slow) const {
    std::vector<ConvertedOp> ops = form.ops;
    for (const std::size_t i : slow) ops[i].precision = "f32";
    std::set<int> narrow;
    for (const ConvertedOp& op : ops)
      if (op.precision == "int8") narrow.insert(conversion_.prepared().find_node(op.name));
    if (slow.empty() || narrow.empty()) return {};
    EngineForm mixed = on_bytes_in(narrow);
    mixed.ops = std::move(ops);
    return mixed;
  }

  const Graph& f32_;
  const Int8Conversion& conversion_;
  const ConvertOptions& options_;
  const FormBudget& budget_;
};

}  // namespace

EngineForm int8_form(const Graph& f32, const Int8Conversion& conversion,
                     const ConvertOptions& options, const FormBudget& budget) {
  return Int8Search(f32, conversion, options, budget).run();
}

EngineForm int8_form_as_given(const Graph& quantized, const FormBudget& budget) {
  EngineForm form{EnginePrecision::int8, quantized, budget.accuracy(quantized), {}};
  for (int i = 0; i < std::ssize(quantized.nodes()); ++i) {
    if (quantized.node(i).op->info.fusion != Fusion::contraction) continue;
    const char* const why =
        reads_bytes(quantized, i) ? "the network is quantized" : "the network has it so";
    form.ops.push_back(converted_op(quantized.node(i), computes_in(quantized, i), why));
  }
  return fastest_with_bf16({std::move(form)}, budget);
}

EngineForm with_bf16_beside_bytes(const EngineForm& form, const FormBudget& budget) {
  EngineForm mixed{form.precision, bf16_beside_bytes(form.graph), {}, form.ops};
  mixed.accuracy = budget.accuracy(mixed.graph);
  for (ConvertedOp& op : mixed.ops) {
    const int node = mixed.graph.find_node(op.name);
    if (node < 0 || mixed.graph.type(mixed.graph.node(node).input(0)).dtype != DType::bf16)
      continue;
    op.precision = "bf16";
    op.why += ", and bf16 keeps the budget";
  }
  return mixed;
}

}  // namespace narrowgauge
