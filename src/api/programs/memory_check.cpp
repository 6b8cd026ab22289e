// SPDX-License-Identifier: Apache-2.0
#include "api/programs/memory_check.h"

#include <algorithm>
#include <cmath>

#include "base/files/memory.h"

namespace narrowgauge {
namespace {

std::int64_t bytes_of_type(const TensorType& type) {
  return bytes_for(element_count(known_dims(type.shape)), type.dtype);
}

// Bytes for stacks, buffers and small things that are not counted; a training also evaluates.
std::int64_t reserve_beside(const Plan& plan) {
  const bool trains = std::ranges::any_of(plan.states, &PlanState::changes);
  return std::int64_t{trains ? 32 : 8} << 20;
}

// A loader holds three batches and reads one, while one is worked on.
std::int64_t batches_at_once(Batches batches) {
  constexpr std::int64_t most = 5;
  if (batches.unread == 0 || batches.size == 0) return batches.unread == 0 ? 0 : most;
  return std::min(most, (batches.unread + batches.size - 1) / batches.size);
}

std::string who(const Plan& plan, Batches batches) {
  return concat("graph '", plan.graph.name(), '\'',
                batches.size > 0 ? concat(" with batch ", batches.size) : "");
}

// The memory that running a plan takes on top of what is already in use.
MemoryNeed need_of(const Plan& plan, const StateStore& store, Batches batches) {
  std::int64_t loaded = 0, results = 0;
  for (const TensorType& input : plan.inputs)
    loaded += batches_at_once(batches) * bytes_of_type(input);
  for (const PlanOutput& output : plan.outputs) results += bytes_of_type(output.type);
  const std::size_t again = plan.recomputation.nodes.size();
  return {
      who(plan, batches) +
          (again > 0 ? concat(", ", again, again == 1 ? " result" : " results", " computed again,")
                     : ""),
      {{"activations", plan.value_bytes},
       {"workspaces and alignment", std::max<std::int64_t>(0, plan.arena_bytes - plan.value_bytes)},
       {"weights and other states", store.bytes_to_add(plan)},
       {"batches", loaded},
       {"results", results}}};
}

}  // namespace

// Follows the secant through the last two sizes tried.
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

std::optional<std::int64_t> memory_lacking(const Plan& plan, const StateStore& store,
                                           Batches batches) {
  const std::int64_t needs = need_of(plan, store, batches).total();
  if (needs < worth_asking) return {};
  const std::int64_t reserve = reserve_beside(plan);
  const auto left = too_little_for(needs + reserve);
  return left ? std::optional(needs + reserve - *left) : std::nullopt;
}

std::string recomputation_text(const Plan& plan, Batches batches) {
  const Recomputation& again = plan.recomputation;
  if (again.nodes.empty()) return "";
  return concat("memory: ", who(plan, batches), " computes ", again.nodes.size(),
                " results again in the backward pass: that saves ", bytes_text(again.saved_bytes),
                " for ", std::round(again.operations / 1e5) / 10, " Mflop a step");
}

void require_memory(const Plan& plan, const StateStore& store, Batches batches,
                    const PlanForBatch& plan_for) {
  const auto lacking = memory_lacking(plan, store, batches);
  if (!lacking) return;
  const MemoryNeed need = need_of(plan, store, batches);
  const std::int64_t room = std::max<std::int64_t>(0, need.total() - *lacking);
  if (batches.size == 0) refuse_memory(need, room);
  const auto needed = [&](std::int64_t size) {
    return need_of(plan_for(size), store, {size, batches.unread}).total();
  };
  const std::int64_t most = room - room / 32;  // a little less may be free the next time
  refuse_memory(need, room, std::min(batches.size - 1, most_that_fit(needed, most)));
}

std::int64_t bytes_of_values(const Graph& graph, const Binding& binding) {
  std::int64_t bytes = 0;
  for (const Node& node : graph.nodes())
    for (const ValueInfo& output : node.outputs) {
      const Shape shape = bind(output.type.shape, binding);
      const bool known = std::ranges::all_of(shape, [](const Dim& dim) { return dim.is_known(); });
      if (known) bytes += bytes_for(element_count(known_dims(shape)), output.type.dtype);
    }
  return bytes;
}

}  // namespace narrowgauge
