// SPDX-License-Identifier: Apache-2.0
#include "passes/fusion/form_groups.h"

#include <algorithm>

#include "groups/group.h"
#include "ir/readers.h"
#include "ops/quantized/quantize_linear.h"
#include "passes/fusion/fused_group.h"
#include "passes/fusion/strip_members.h"

namespace narrowgauge {

namespace {

class Former {
 public:
  Former(const Graph& graph, const Target& target)
      : graph_(graph), target_(target), readers_(graph), groups_(graph) {}

  void form(const Group& group) {
    const PatternScope scope{graph_, readers_, [&](int node) { return may_be_member(node); }};
    for (int i = 0; i < static_cast<int>(graph_.nodes().size()); ++i)
      if (graph_.node(i).op == &group.pattern->anchor_op() && scope.is_free(i))
        group.pattern->for_each_match(
            scope, i, [&](const PartNodes& nodes) { return join(members_of(nodes)); });
  }

  Groups finish() { return std::move(groups_); }

 private:
  // A group's body counts steps that are known.
  bool may_be_member(int index) const {
    const Node& node = graph_.node(index);
    return groups_.group_of(index) < 0 &&
           (!node.is<QuantizeLinear>() || quantizes_in_strips(graph_, node));
  }

  // Makes the nodes a group if that is convex and a kernel takes it.
  bool join(const std::vector<int>& members) {
    const int group = groups_.start(members[0]);
    bool fits = true;
    for (std::size_t i = 1; i < members.size() && fits; ++i) {
      fits = groups_.can_join(members[i], group);
      if (fits) groups_.join(members[i], group);
    }
    fits = fits && is_offered(graph_, build_group(graph_, members, read_outside(members)), target_);
    if (!fits) groups_.dissolve(group);
    return fits;
  }

  std::set<Value> read_outside(const std::vector<int>& members) const {
    std::set<Value> read;
    for (const int member : members)
      for (int o = 0; o < static_cast<int>(graph_.node(member).outputs.size()); ++o) {
        const std::vector<int>& all = readers_.of({member, o});
        const bool outside = std::any_of(all.begin(), all.end(), [&](int reader) {
          return !std::binary_search(members.begin(), members.end(), reader);
        });
        if (outside || readers_.leaves({member, o})) read.insert({member, o});
      }
    return read;
  }

  const Graph& graph_;
  const Target& target_;
  const Readers readers_;
  Groups groups_;
};

}  // namespace

Groups find_groups(const Graph& graph, const Target& target) {
  Former former(graph, target);
  for (const Group& group : group_table()) former.form(group);
  return former.finish();
}

Graph form_groups(const Graph& graph, const Target& target) {
  return fuse_groups(graph, find_groups(graph, target), target);
}

}  // namespace narrowgauge
