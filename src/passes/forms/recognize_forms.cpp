// SPDX-License-Identifier: Apache-2.0
#include "passes/forms/recognize_forms.h"

#include "base/enumerate.h"
#include "passes/forms/form.h"
#include "passes/forms/joined_names.h"
#include "passes/simplify/remove_dead_code.h"

namespace narrowgauge {

namespace {

std::optional<Value> rewritten(Forms& forms, int node) {
  for (const Form form : {attention_form, widened_form, normalization_form, activation_form,
                          broadcast_form, transposition_form, reshape_form})
    if (const std::optional<Value> value = form(forms, node)) return value;
  return {};
}

}  // namespace

Graph recognize_forms(const Graph& graph) {
  Rebuild rebuild(graph);
  Forms forms(graph, rebuild);
  JoinedNames names(rebuild);
  for (const auto& [i, node] : enumerate(graph.nodes())) {
    rebuild.graph().set_scope(
        {.origin = node.full_name(), .phase = node.phase, .autocast = node.autocast});
    const int first = static_cast<int>(rebuild.graph().nodes().size());
    const std::optional<Value> value = is_source(node) ? std::nullopt : rewritten(forms, i);
    rebuild.graph().set_scope({});
    if (value) {
      names.join(i, first, *value);
      rebuild.map({i, 0}, *value);
    } else {
      rebuild.copy(i);
    }
  }
  return remove_dead_code(names.given_to(rebuild.finish()));
}

}  // namespace narrowgauge
