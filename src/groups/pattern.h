// SPDX-License-Identifier: Apache-2.0
// The grammar of a fused group: which ops it takes, and how they are joined. The same pattern finds
// the members of a group in a graph and the operands of each member in the group's body.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <set>
#include <vector>

#include "ir/readers.h"
#include "narrowgauge/graph.h"
#include "narrowgauge/op_record.h"

namespace narrowgauge {

// The handle of a part of a pattern, by which a group's kernel asks for its nodes and operands.
struct Part {
  int index = -1;
  // The part's place in a container of something for each part; it must not be `outside`.
  std::size_t place() const { return static_cast<std::size_t>(index); }
  bool operator==(const Part&) const = default;
};

// The nodes that a pattern takes, by part, in the order of the graph.
using PartNodes = std::vector<std::vector<int>>;
// All of them, in the order of the graph.
std::vector<int> members_of(const PartNodes& nodes);

// Where nodes may be taken from.
struct PatternScope {
  const Graph& graph;
  const Readers& readers;
  std::function<bool(int)> is_free;
};

// A pattern is a struct whose members are its parts, in the order of computation:
//
//   struct Pattern : GroupPattern {
//     Part convolution = anchor<Conv>();
//     Part relu = one<Relu>({reads(0, {convolution})});
//   };
//
// An input that no edge names comes from outside the group. Output 0 of a part that another reads
// has no other readers, unless the edge is shared().
class GroupPattern {
 public:
  // The source outside: in a list of sources, it lets the value come from outside the group too.
  static constexpr Part outside{-2};
  // The port of a commutative op of two inputs: the one that fits.
  static constexpr int either = -1;

  enum class Count { one, maybe, several, sum };

  struct Edge {
    int port;
    std::vector<Part> sources;  // the first of these that is present, or `outside`
    bool is_shared = false;
  };

  // All ways to take nodes around this one, which is of the anchor's op; those that leave out the
  // fewest and least important parts first. Takes at least two nodes.
  void for_each_match(const PatternScope& scope, int node,
                      const std::function<bool(const PartNodes&)>& done) const;
  // The parts of a graph that consists of such a group alone, beside inputs and constants.
  std::optional<PartNodes> match_whole(const Graph& body) const;

  const OpRecord& anchor_op() const { return *part(anchor_).op; }
  std::size_t size() const { return parts_.size(); }

 protected:
  static Edge reads(int port, std::vector<Part> sources) { return {port, std::move(sources)}; }
  // An edge whose value others may read too.
  static Edge shared(int port, std::vector<Part> sources) {
    return {port, std::move(sources), true};
  }

  template <class Op>
  Part one(std::vector<Edge> edges = {}) {
    return add(record_of<Op>(), Count::one, 1, std::move(edges));
  }
  // A part that may be missing, and that is missing where an edge finds none of its sources.
  template <class Op>
  Part maybe(std::vector<Edge> edges = {}) {
    return add(record_of<Op>(), Count::maybe, 1, std::move(edges));
  }
  // The part where the search begins.
  template <class Op>
  Part anchor(std::vector<Edge> edges = {}) {
    return anchor_ = one<Op>(std::move(edges));
  }
  // Several nodes as anchor(): up to `most` that read the same value at the port of the first edge.
  template <class Op>
  Part several(std::size_t most, std::vector<Edge> edges) {
    return anchor_ = add(record_of<Op>(), Count::several, most, std::move(edges));
  }
  // Up to `most` nodes of a commutative Op that add up what its reader reads: a tree of sums.
  template <class Op>
  Part sum_of(std::size_t most) {
    return add(record_of<Op>(), Count::sum, most, {});
  }
  // Takes only nodes that fulfil a condition.
  void where(Part part, bool (*condition)(const Graph&, const Node&)) {
    parts_[part.place()].condition = condition;
  }
  // Which parts to keep longest, the most important first; else their own order.
  void prefer(std::vector<Part> parts) { preference_ = std::move(parts); }

 private:
  friend class PatternMatcher;

  struct Definition {
    const OpRecord* op;
    Count count;
    std::size_t most;
    std::vector<Edge> edges;
    bool (*condition)(const Graph&, const Node&) = nullptr;
    bool is_optional() const { return count == Count::maybe || count == Count::sum; }
  };

  Part add(const OpRecord& op, Count count, std::size_t most, std::vector<Edge> edges);
  const Definition& part(Part part) const { return parts_[part.place()]; }
  std::vector<std::vector<bool>> selections() const;
  bool is_possible(const std::vector<bool>& present) const;

  std::vector<Definition> parts_;
  Part anchor_;
  std::vector<Part> preference_;
};

}  // namespace narrowgauge
