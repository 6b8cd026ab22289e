// SPDX-License-Identifier: Apache-2.0
#include "precision/vertices/region_links.h"

#include <algorithm>
#include <map>

#include "base/enumerate.h"
#include "base/indexed_vector.h"
#include "ir/attributes.h"

namespace narrowgauge {

namespace {

class RegionNames : public IgnoringVisitor {
 public:
  using IgnoringVisitor::operator();
  void operator()(std::string_view key, Region&) override { names.emplace_back(key); }
  std::vector<std::string> names;
};

// Joins the ends of a region op's values by union-find over four kinds of ends.
class LinkFinder {
 public:
  explicit LinkFinder(const Node& node)
      : node_(node),
        ports_(node.op->region_ports(node.attributes.get(), static_cast<int>(node.inputs.size()))),
        regions_(regions_of(node)) {
    require<ModelError>(ports_.size() == regions_.size(), "node '", node.full_name(),
                        "': ", node.op->full_name(), " tells the ports of ", ports_.size(),
                        " regions and has ", regions_.size());
    int count = static_cast<int>(node.inputs.size() + node.outputs.size());
    for (const Region& region : regions_) {
      first_.push_back(count);
      count += static_cast<int>(region->inputs().size() + region->outputs().size());
    }
    for (int end = 0; end < count; ++end) parent_.add(end);
    for (std::size_t r = 0; r < regions_.size(); ++r) join_region(r);
  }

  std::vector<RegionLink> links() {
    std::map<int, RegionLink> groups;
    for (int i = 0; i < static_cast<int>(node_.inputs.size()); ++i)
      groups[root(i)].inputs.push_back(i);
    for (int o = 0; o < static_cast<int>(node_.outputs.size()); ++o)
      groups[root(output(o))].outputs.push_back(o);
    for (std::size_t r = 0; r < regions_.size(); ++r) {
      for (std::size_t i = 0; i < regions_[r]->inputs().size(); ++i)
        groups[root(body_input(r, static_cast<int>(i)))].body_inputs.push_back({r, i});
      for (std::size_t o = 0; o < regions_[r]->outputs().size(); ++o)
        groups[root(body_output(r, static_cast<int>(o)))].body_outputs.push_back({r, o});
    }
    std::vector<RegionLink> result;
    for (auto& [first, link] : groups) {
      const bool enters = !link.body_inputs.empty() || !link.body_outputs.empty();
      if (!enters || (link.inputs.empty() && link.outputs.empty())) continue;
      link.name = link.inputs.empty() ? concat("out", link.outputs.front())
                                      : concat("in", link.inputs.front());
      result.push_back(std::move(link));
    }
    return result;
  }

 private:
  int output(int index) const { return static_cast<int>(node_.inputs.size()) + index; }
  int body_input(std::size_t region, int index) const { return first_[region] + index; }
  int body_output(std::size_t region, int index) const {
    return first_[region] + static_cast<int>(regions_[region]->inputs().size()) + index;
  }

  void join_region(std::size_t r) {
    const RegionPorts& ports = ports_[r];
    const Graph& body = *regions_[r];
    require<ModelError>(ports.inputs.size() == body.inputs().size() &&
                            ports.outputs.size() == body.outputs().size() &&
                            ports.next.size() == body.outputs().size(),
                        "node '", node_.full_name(), "': the ports of region ", r,
                        " do not fit its graph");
    for (const auto& [i, from] : enumerate(ports.inputs))
      if (from >= 0 && from < static_cast<int>(node_.inputs.size())) join(from, body_input(r, i));
    for (const auto& [o, to] : enumerate(ports.outputs))
      if (to >= 0 && to < static_cast<int>(node_.outputs.size()))
        join(output(to), body_output(r, o));
    for (const auto& [o, next] : enumerate(ports.next))
      if (next >= 0) join(body_input(r, next), body_output(r, o));
  }

  int root(int end) {
    while (parent_[end] != end) end = parent_[end];
    return end;
  }
  void join(int a, int b) {
    a = root(a);
    b = root(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

  const Node& node_;
  std::vector<RegionPorts> ports_;
  std::vector<Region> regions_;
  std::vector<int> first_;          // per region: the end that stands for its first input
  IndexedVector<int, int> parent_;  // inputs, outputs, then inputs and outputs of each region
};

}  // namespace

std::vector<RegionLink> links_of(const Node& node) {
  if (!node.op->region_ports) return {};
  return LinkFinder(node).links();
}

std::vector<std::string> region_names(const Node& node) {
  RegionNames visitor;
  Attributes shared = node.attributes;  // the visitor only reads
  node.op->visit(shared.mutate(), visitor);
  return std::move(visitor.names);
}

std::string region_prefix(const std::string& prefix, const Node& node, std::string_view region) {
  return concat(prefix, node.full_name(), ':', region, ':');
}

std::string link_name(const std::string& prefix, const Node& node, const RegionLink& link) {
  return concat(prefix, node.full_name(), ':', link.name);
}

}  // namespace narrowgauge
