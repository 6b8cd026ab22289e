// SPDX-License-Identifier: Apache-2.0
// Works on attributes without knowing the op: regions inside, shapes to bind, text, equality.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "narrowgauge/graph.h"

namespace narrowgauge {

// An AttributeVisitor that does nothing; override what you need.
class IgnoringVisitor : public AttributeVisitor {
 public:
  void operator()(std::string_view, bool&) override {}
  void operator()(std::string_view, std::int64_t&) override {}
  void operator()(std::string_view, double&) override {}
  void operator()(std::string_view, std::string&) override {}
  void operator()(std::string_view, DType&) override {}
  void operator()(std::string_view, Dims&) override {}
  void operator()(std::string_view, Shape&) override {}
  void operator()(std::string_view, TensorType&) override {}
  void operator()(std::string_view, Tensor&) override {}
  void operator()(std::string_view, Region&) override {}
};

using RegionChange = std::function<Region(const Region&)>;

std::vector<Region> regions_of(const Node& node);
// Whether the node, or a node in its regions, draws random numbers.
bool is_random(const Node& node);
// A copy of the attributes with every region replaced by change(region).
Attributes map_regions(const OpRecord& op, const Attributes& attributes,
                       const RegionChange& change);
// A copy of the attributes with the symbols in shapes, types and regions bound.
Attributes bind_attributes(const OpRecord& op, const Attributes& attributes, const Binding& binding,
                           const RegionChange& bind_region);

// A copy of the attributes with this DType attribute set; throws InternalError if there is none.
Attributes with_dtype(const OpRecord& op, const Attributes& attributes, std::string_view name,
                      DType dtype);

}  // namespace narrowgauge
