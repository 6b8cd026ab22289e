// SPDX-License-Identifier: Apache-2.0
// Precision plans of one graph, and overrides.
#include "base/text/wildcard.h"
#include "fuzz/fuzz.h"
#include "fuzz/plan_graph.h"
#include "precision/apply.h"
#include "precision/plans/overrides.h"

using namespace narrowgauge;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Graph graph = fuzz::plan_graph();
  const std::string_view text = fuzz::text_of(data, size);
  fuzz::take([&] {
    const PrecisionPlan plan = read_plan(text, graph);
    fuzz::must(print(read_plan(print(plan), graph)) == print(plan));
    apply(graph, plan);
  });
  fuzz::take([&] { matches_wildcard(parse_override(text).pattern, "product"); });
  const std::string path = fuzz::write("plan", text);
  fuzz::take([&] { narrow_of_plan(path); });
  return 0;
}
