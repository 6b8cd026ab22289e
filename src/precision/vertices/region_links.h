// SPDX-License-Identifier: Apache-2.0
// How values pass between a region op (If, Loop, Scan) and the graphs inside it, and the names of
// the places inside.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "narrowgauge/graph.h"

namespace narrowgauge {

// Ports of a region op and ends of its regions that hold one value, or one value per round: a value
// carried around a loop is one link. All have the same dtype.
struct RegionLink {
  struct End {
    std::size_t region, index;  // an input or output of that region's graph
  };
  std::string name;  // "in0" after the node's first input that takes part, else "out0"
  std::vector<int> inputs, outputs;
  std::vector<End> body_inputs, body_outputs;
};
// The links of a node; empty for ops that do not say how their regions are connected.
std::vector<RegionLink> links_of(const Node& node);

// "body", "then_branch": names of the attributes that hold regions, in the order of regions_of().
std::vector<std::string> region_names(const Node& node);

// Prefixes of entry names: `prefix` is "" in the graph itself, "scan1:body:" inside.
std::string region_prefix(const std::string& prefix, const Node& node, std::string_view region);
std::string link_name(const std::string& prefix, const Node& node, const RegionLink& link);

}  // namespace narrowgauge
