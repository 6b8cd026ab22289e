// SPDX-License-Identifier: Apache-2.0
#include "precision/colouring/colouring.h"

#include <algorithm>
#include <functional>

#include "base/indexed_vector.h"

namespace narrowgauge {

namespace {

using Vertices = std::vector<int>;

enum class Direction { forward, backward, both };

// What a walk found: for each vertex that it entered, the neighbour it came from (itself for a
// root) and the root. -1: not entered.
struct Walk {
  IndexedVector<int, int> from, root;
  bool entered(int vertex) const { return from[vertex] >= 0; }
};

class Colouring {
 public:
  Colouring(std::span<const PrecisionVertex> vertices, std::span<const Candidate> candidates)
      : vertices_(vertices),
        candidates_(candidates),
        colours_(vertices.size()),
        denied_(vertices.size(), false) {}

  std::vector<Colour> run() {
    seed_allow();
    propagate_deny();
    fill_between_allows();
    extend_infer();
    spread_to_clear();
    take_casts();
    for (int v = 0; v < count(); ++v)
      if (!at(v).narrow) explain_f32(v);
    return std::move(colours_).release();
  }

 private:
  int count() const { return colours_.size(); }
  Colour& at(int v) { return colours_[v]; }
  const PrecisionVertex& vertex(int v) const { return vertices_[static_cast<std::size_t>(v)]; }
  const Candidate& candidate(int v) const { return candidates_[static_cast<std::size_t>(v)]; }
  PrecisionClass class_of(int v) const {
    return candidate(v).forced ? PrecisionClass::allow : candidate(v).precision;
  }
  bool is_denied(int v) const { return denied_[v]; }
  bool is_clear(int v) const { return class_of(v) == PrecisionClass::clear; }
  bool is_infer(int v) const { return class_of(v) == PrecisionClass::infer; }
  bool is_seed(int v) const {
    return class_of(v) == PrecisionClass::allow && !candidate(v).refusal;
  }
  // An infer or clear op that the colours may still make narrow.
  bool is_open(int v) {
    return (is_clear(v) || is_infer(v)) && !candidate(v).refusal && !is_denied(v) && !at(v).narrow;
  }

  Vertices all(const std::function<bool(int)>& chosen) const {
    Vertices result;
    for (int v = 0; v < count(); ++v)
      if (chosen(v)) result.push_back(v);
    return result;
  }

  void sort_by_name(Vertices& list) const {
    std::sort(list.begin(), list.end(),
              [&](int a, int b) { return vertex(a).name < vertex(b).name; });
  }

  void paint(int v, PrecisionRule rule, int cause, std::string note = "") {
    at(v) = {true, rule, cause, std::move(note)};
  }

  Vertices neighbours(int v, Direction direction) const {
    Vertices result;
    if (direction != Direction::backward) result = vertex(v).consumers;
    if (direction != Direction::forward)
      result.insert(result.end(), vertex(v).producers.begin(), vertex(v).producers.end());
    return result;
  }

  // Walks breadth first, each level in the order of names: which neighbour a vertex is reached from
  // does not depend on the order of nodes.
  Walk walk(Vertices level, Direction direction, const std::function<bool(int)>& enter) const {
    Walk result{IndexedVector<int, int>(count(), -1), IndexedVector<int, int>(count(), -1)};
    const auto visit = [&](int v, int from, int root) {
      result.from[v] = from;
      result.root[v] = root;
    };
    for (const int root : level) visit(root, root, root);
    while (!level.empty()) {
      sort_by_name(level);
      Vertices next;
      for (const int v : level)
        for (const int to : neighbours(v, direction)) {
          if (result.entered(to) || !enter(to)) continue;
          visit(to, v, result.root[v]);
          next.push_back(to);
        }
      level = std::move(next);
    }
    return result;
  }

  // Step 1: allow ops become narrow.
  void seed_allow() {
    for (int v = 0; v < count(); ++v) {
      if (!is_seed(v)) continue;
      const bool forced = candidate(v).forced;
      paint(v, forced ? PrecisionRule::override_by_name : PrecisionRule::seed_allow, -1,
            candidate(v).note);
    }
  }

  // Step 2: deny spreads forward from deny ops through vertices that reach a deny or infer op by
  // clear ops alone. A clear op before an allow op is left: nothing there needs f32's range.
  void propagate_deny() {
    const Vertices ends =
        all([&](int v) { return class_of(v) == PrecisionClass::deny || is_infer(v); });
    const Walk upstream = walk(ends, Direction::backward, [&](int v) { return is_clear(v); });
    const Vertices deny_ops = all([&](int v) { return class_of(v) == PrecisionClass::deny; });
    deny_walk_ = walk(deny_ops, Direction::forward, [&](int v) { return upstream.entered(v); });
    for (int v = 0; v < count(); ++v) denied_[v] = deny_walk_.entered(v);
  }

  // Step 3: allow fills the paths between allow ops.
  void fill_between_allows() {
    const Vertices seeds = all([&](int v) { return is_seed(v); });
    const Walk downstream = walk(seeds, Direction::forward, [&](int v) { return is_open(v); });
    const Walk upstream = walk(seeds, Direction::backward,
                               [&](int v) { return is_open(v) && downstream.entered(v); });
    for (int v = 0; v < count(); ++v) {
      if (at(v).narrow || !upstream.entered(v)) continue;
      paint(v, PrecisionRule::between_allows, downstream.from[v],
            concat("between ", vertex(downstream.root[v]).name, " and ",
                   vertex(upstream.root[v]).name));
    }
  }

  int least_name(const Vertices& list, const std::function<bool(int)>& chosen) const {
    int best = -1;
    for (const int v : list)
      if (chosen(v) && (best < 0 || vertex(v).name < vertex(best).name)) best = v;
    return best;
  }

  // Step 4 runs in rounds to the fixpoint, so that chains of infer ops do not depend on node order.
  void extend_infer() {
    for (bool changed = true; changed;) {
      std::vector<std::pair<int, int>> found;  // vertex, its narrow producer
      for (int v = 0; v < count(); ++v) {
        if (!is_infer(v) || !is_open(v)) continue;
        const Vertices& producers = vertex(v).producers;
        if (std::any_of(producers.begin(), producers.end(), [&](int p) { return is_denied(p); }))
          continue;
        const int cause = least_name(producers, [&](int p) { return at(p).narrow; });
        if (cause >= 0) found.emplace_back(v, cause);
      }
      for (const auto& [v, cause] : found) paint(v, PrecisionRule::infer_extension, cause);
      changed = !found.empty();
    }
  }

  // Step 5: narrow spreads to clear ops beside narrow ones.
  void spread_to_clear() {
    const Vertices narrow = all([&](int v) { return colours_[v].narrow; });
    const Walk reached =
        walk(narrow, Direction::both, [&](int v) { return is_clear(v) && is_open(v); });
    for (int v = 0; v < count(); ++v)
      if (!at(v).narrow && reached.entered(v))
        paint(v, PrecisionRule::clear_neighbour, reached.from[v]);
  }

  // Casts to f32 that only narrow vertices read produce the narrow format instead.
  void take_casts() {
    for (int v = 0; v < count(); ++v) {
      const PrecisionVertex& cast = vertex(v);
      if (cast.kind != PrecisionVertex::Kind::cast || candidate(v).refusal) continue;
      const bool all_narrow = !cast.consumers.empty() && !cast.used_otherwise &&
                              std::all_of(cast.consumers.begin(), cast.consumers.end(),
                                          [&](int c) { return at(c).narrow; });
      if (all_narrow && !at(v).narrow)
        paint(v, PrecisionRule::cast_consumers,
              least_name(cast.consumers, [](int) { return true; }));
    }
  }

  void explain_f32(int v) {
    using enum PrecisionRule;
    const auto set = [&](PrecisionRule rule, int cause = -1, std::string note = "") {
      at(v) = {false, rule, cause, std::move(note)};
    };
    const auto refusal = candidate(v).refusal;
    const bool no_choice = refusal == source || refusal == region || refusal == pinned_type ||
                           refusal == not_f32 || refusal == override_by_name || refusal == autocast;
    if (no_choice) return set(*refusal, -1, candidate(v).note);
    if (vertex(v).kind == PrecisionVertex::Kind::cast) return set(pinned_type);
    if (class_of(v) == PrecisionClass::deny) return set(deny_list);
    if (is_denied(v)) return set(deny_propagated, deny_walk_.from[v]);
    if (class_of(v) == PrecisionClass::unlisted) return set(unlisted);
    if (refusal) return set(*refusal, -1, candidate(v).note);
    set(is_infer(v) ? infer_without_allow_producer : clear_not_reached);
  }

  std::span<const PrecisionVertex> vertices_;
  std::span<const Candidate> candidates_;
  IndexedVector<int, Colour> colours_;
  IndexedVector<int, bool> denied_;
  Walk deny_walk_;
};

}  // namespace

std::vector<Colour> colour(std::span<const PrecisionVertex> vertices,
                           std::span<const Candidate> candidates) {
  NG_INVARIANT(vertices.size() == candidates.size());
  return Colouring(vertices, candidates).run();
}

}  // namespace narrowgauge
