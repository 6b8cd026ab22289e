// SPDX-License-Identifier: Apache-2.0
// Precision plans of one graph, and override lists.
#include "fuzz/fuzz.h"
#include "fuzz/plan_graph.h"
#include "precision/apply.h"
#include "precision/overrides.h"

using namespace narrowgauge;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Graph graph = fuzz::plan_graph();
  const std::string_view text = fuzz::text_of(data, size);
  fuzz::take([&] {
    const PrecisionPlan plan = read_plan(text, graph);
    fuzz::must(print(read_plan(print(plan), graph)) == print(plan));
    apply(graph, plan);
  });
  const std::string path = fuzz::write("list", text);
  fuzz::take([&] {
    for (const std::string& rule : read_override_list(path)) matches_pattern(rule, "product");
  });
  fuzz::take([&] { narrow_of_plan(path); });
  return 0;
}
