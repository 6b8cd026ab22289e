// SPDX-License-Identifier: Apache-2.0
// A fused group: a pattern, and a kernel for the groups that it describes. NG_GROUP enters it into
// the table, by which groups are formed in graphs and kernels are offered for ng.Fused nodes.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/unloading.h"
#include "groups/fused.h"
#include "groups/pattern.h"
#include "narrowgauge/kernel.h"

namespace narrowgauge {

// Which inputs and outputs of a group belong to the parts of its pattern; -1: none.
class GroupMatch {
 public:
  GroupMatch(Region body, PartNodes nodes);

  bool has(Part part) const { return count(part) > 0; }
  std::size_t count(Part part) const { return nodes_[part.place()].size(); }
  const Node& node(Part part, std::size_t k = 0) const {
    return body_->node(nodes_[part.place()][k]);
  }
  template <class Op>
  const Op& as(Part part, std::size_t k = 0) const {
    return node(part, k).as<Op>();
  }
  // The constant that a node of the body reads; null if it is none.
  const Tensor* constant(Part part, std::size_t port) const;

  int input(Part part, std::size_t port, std::size_t k = 0) const;
  // The input of a commutative op that is not a part's result; its second where none is.
  int other(Part part) const;
  int output(Part part, int port = 0, std::size_t k = 0) const;
  // All inputs that a tree of sums adds up; those at port `port` of `reader` where it is missing.
  std::vector<int> terms(Part sums, Part reader, std::size_t port) const;

 private:
  int input_of(Value value) const;

  Region body_;
  PartNodes nodes_;
};

// A request for the kernel of a group, with its operands by part.
struct GroupRequest {
  const Request& request;
  const GroupMatch& match;

  const Target& target() const { return request.target; }
  // The operand of an index that GroupMatch gives.
  const Operand& input(int index) const { return request.input(index); }
  const Operand& output(int index) const { return request.output(index); }
};

// The memory of an input or output of a call; null for index -1.
inline void* data_at(std::span<const View> views, int index) {
  return index < 0 ? nullptr : views[static_cast<std::size_t>(index)].data;
}

// Where an output of a call counts its flushed values; null where nobody asks.
inline std::int64_t* flushed_at(const KernelCall& call, int index) {
  return call.flushed_at(static_cast<std::size_t>(index));
}

struct Group {
  std::string_view name;
  const GroupPattern* pattern;
  Offer (*offer)(const Request&);
};

// All groups, those of more parts first, so that a group is not formed inside a larger one.
const std::vector<Group>& group_table();

// What the build collects: see NG_GROUP.
std::vector<Group> collected_groups();

// The pattern of a group, made once.
template <class T>
const typename T::Pattern& pattern_of() {
  static const auto& pattern = immortal<typename T::Pattern>();
  return pattern;
}

template <class T>
Offer offer_group(const Request& request) {
  const Region& body = request.as<Fused>().body;
  std::optional<PartNodes> nodes = pattern_of<T>().match_whole(*body);
  if (!nodes) return Offer::decline(concat("the group is not of the form \"", T::name, '"'));
  const GroupMatch match(body, std::move(*nodes));
  return T::offer({request, match}, pattern_of<T>());
}

}  // namespace narrowgauge

// NG_GROUP(stem, Group, ...) must stand once per file, at its end, at the start of a line. A group
// has a name, a Pattern (see GroupPattern), and Offer offer(GroupRequest, const Pattern&).
#define NG_GROUP(stem, ...)                                                      \
  namespace narrowgauge::group_table_parts {                                     \
  std::vector<Group> stem();                                                     \
  std::vector<Group> stem() {                                                    \
    return []<class... T>(std::tuple<T...>*) {                                   \
      return std::vector<Group>{{T::name, &pattern_of<T>(), offer_group<T>}...}; \
    }(static_cast<std::tuple<__VA_ARGS__>*>(nullptr));                           \
  }                                                                              \
  }
