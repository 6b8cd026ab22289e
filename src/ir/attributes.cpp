// SPDX-License-Identifier: Apache-2.0
#include "ir/attributes.h"

#include <algorithm>

namespace narrowgauge {

namespace {

class RegionCollector : public IgnoringVisitor {
 public:
  using IgnoringVisitor::operator();
  void operator()(std::string_view, Region& region) override { regions.push_back(region); }
  std::vector<Region> regions;
};

class RegionMapper : public IgnoringVisitor {
 public:
  explicit RegionMapper(const RegionChange& change) : change_(change) {}
  using IgnoringVisitor::operator();
  void operator()(std::string_view, Region& region) override {
    if (region) region = change_(region);
  }

 private:
  const RegionChange& change_;
};

class Binder : public IgnoringVisitor {
 public:
  Binder(const Binding& binding, const RegionChange& bind_region)
      : binding_(binding), bind_region_(bind_region) {}
  using IgnoringVisitor::operator();
  void operator()(std::string_view, Shape& shape) override {
    shape = narrowgauge::bind(shape, binding_);
  }
  void operator()(std::string_view, TensorType& type) override {
    type.shape = narrowgauge::bind(type.shape, binding_);
  }
  void operator()(std::string_view, Region& region) override {
    if (region) region = bind_region_(region);
  }

 private:
  const Binding& binding_;
  const RegionChange& bind_region_;
};

class DTypeSetter : public IgnoringVisitor {
 public:
  DTypeSetter(std::string_view wanted, DType dtype) : wanted_(wanted), dtype_(dtype) {}
  using IgnoringVisitor::operator();
  void operator()(std::string_view key, DType& value) override {
    if (key != wanted_) return;
    value = dtype_;
    found = true;
  }
  bool found = false;

 private:
  std::string_view wanted_;
  DType dtype_;
};

Attributes changed(const OpRecord& op, const Attributes& attributes, AttributeVisitor& visitor) {
  Attributes copy = op.clone(attributes);
  op.visit(copy.mutate(), visitor);
  return copy;
}

}  // namespace

std::vector<Region> regions_of(const Node& node) {
  RegionCollector collector;
  Attributes shared = node.attributes;  // the collector only reads
  node.op->visit(shared.mutate(), collector);
  return std::move(collector.regions);
}

bool is_random(const Node& node) {
  if (node.op->info.random) return true;
  const std::vector<Region> regions = regions_of(node);
  return std::any_of(regions.begin(), regions.end(), [](const Region& region) {
    return region && std::any_of(region->nodes().begin(), region->nodes().end(), is_random);
  });
}

Attributes map_regions(const OpRecord& op, const Attributes& attributes,
                       const RegionChange& change) {
  RegionMapper mapper(change);
  return changed(op, attributes, mapper);
}

Attributes bind_attributes(const OpRecord& op, const Attributes& attributes, const Binding& binding,
                           const RegionChange& bind_region) {
  Binder binder(binding, bind_region);
  return changed(op, attributes, binder);
}

Attributes with_dtype(const OpRecord& op, const Attributes& attributes, std::string_view name,
                      DType dtype) {
  DTypeSetter setter(name, dtype);
  Attributes copy = changed(op, attributes, setter);
  NG_INVARIANT(setter.found);
  return copy;
}

}  // namespace narrowgauge
