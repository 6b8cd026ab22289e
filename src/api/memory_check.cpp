// SPDX-License-Identifier: Apache-2.0
#include "api/memory_check.h"

#include <algorithm>
#include <cmath>

#include "base/memory.h"

namespace narrowgauge {
namespace {

// Bytes that running a plan takes beside what is there already.
struct Need {
  std::int64_t activations = 0, workspaces = 0, states = 0, outputs = 0;
  std::int64_t total() const { return activations + workspaces + states + outputs; }
};

Need need_of(const Plan& plan, const StateStore& store) {
  Need need;
  need.activations = plan.value_bytes;
  need.workspaces = std::max<std::int64_t>(0, plan.arena_bytes - plan.value_bytes);
  for (const PlanState& state : plan.states)
    if (!store.has(state.state.name)) need.states += state.bytes;
  for (const PlanOutput& output : plan.outputs)
    need.outputs += bytes_for(element_count(known_dims(output.type.shape)), output.type.dtype);
  return need;
}

std::string parts_text(const Need& need) {
  std::string text;
  const auto add = [&](const char* what, std::int64_t bytes) {
    if (bytes > 0) text += concat(text.empty() ? "" : ", ", what, ' ', bytes_text(bytes));
  };
  add("activations", need.activations);
  add("workspaces and alignment", need.workspaces);
  add("weights and other states", need.states);
  add("results", need.outputs);
  return text;
}

}  // namespace

// The secant through what fits best and what was tried before it.
std::int64_t most_that_fit(const std::function<std::int64_t(std::int64_t)>& needed,
                           std::int64_t bytes) {
  std::int64_t fits = 1, too_large = 0, before = 1, before_bytes = needed(1), tried = 8;
  if (before_bytes > bytes) return 0;
  constexpr int most_compilations = 8;
  for (int i = 0; i < most_compilations; ++i) {
    const std::int64_t needs = needed(tried);
    (needs <= bytes ? fits : too_large) = tried;
    const double slope =
        static_cast<double>(needs - before_bytes) / static_cast<double>(tried - before);
    before = tried, before_bytes = needs;
    const double step = static_cast<double>(bytes - needs) / std::max(slope, 1.0);
    tried = std::max(fits + 1, before + static_cast<std::int64_t>(std::floor(step)));
    if (too_large > 0) tried = std::min(tried, too_large - 1);
    if (tried <= fits || (i > 0 && tried - fits < fits / 100)) break;
  }
  return fits;
}

void require_memory(const Plan& plan, const StateStore& store, std::int64_t batch,
                    const PlanForBatch& plan_for) {
  const Need need = need_of(plan, store);
  constexpr std::int64_t worth_asking = std::int64_t{64} << 20;
  if (need.total() < worth_asking) return;
  const std::int64_t room = obtainable_memory();
  if (need.total() <= room) return;
  std::string advice;
  if (batch > 1) {
    const std::int64_t fits = std::min(
        batch - 1,
        most_that_fit([&](std::int64_t b) { return need_of(plan_for(b), store).total(); }, room));
    advice = fits > 0 ? concat("; batch ", fits, " fits") : "; not even batch 1 fits";
  }
  throw DeviceError(concat("memory: graph '", plan.graph.name(), "'",
                           batch > 0 ? concat(" with batch ", batch) : "", " needs ",
                           bytes_text(need.total()), ": ", parts_text(need), "; ", bytes_text(room),
                           " can be had", advice));
}

}  // namespace narrowgauge
