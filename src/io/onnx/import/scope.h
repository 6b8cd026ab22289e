// SPDX-License-Identifier: Apache-2.0
// The names that nodes of one ONNX graph or function can read, and the graph that they are added
// to.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "io/onnx/import/item.h"
#include "io/onnx/model.h"

namespace narrowgauge::onnx {

// The name of a node, or that of its first output, where it has none.
const std::string& own_name(const Node& node);

class Scope {
 public:
  // Where the values of the outer scope are, for a graph inside an If, Loop or Scan: in the same
  // graph, or outside of the closed region that is made.
  enum class Outer : std::uint8_t { none, same_graph, around_region };

  explicit Scope(narrowgauge::Graph& graph, Scope* outer = nullptr, Outer kind = Outer::none)
      : graph_(graph), outer_(outer), kind_(kind) {}
  // Initializers of this scope are constants, not parameters.
  void keep_constants() { constants_ = true; }
  Scope(const Scope&) = delete;

  narrowgauge::Graph& graph() { return graph_; }
  Scope* outer() { return outer_; }

  // Initializers become values when they are first read. They must live longer.
  void add_initializers(const Graph& graph);
  void set(const std::string& name, Item item) { items_[name] = std::move(item); }
  // The item that the name stands for; throws ModelError if nothing makes it. `constant`: as a
  // constant, where it is an initializer that may be one or a parameter.
  Item find(const std::string& name, bool constant);

  // The scope of the region that this one is part of; nullptr where it is part of none.
  Scope* region();
  // Leaves the names of a region's own nodes to these: values from outside may be called so too.
  void keep_names_of(const Graph& graph);
  // Whether values of a region are computed outside of it, from parameters and constants alone, at
  // least one of them from parameters.
  bool are_of_parameters(const Values& values);
  // The values outside of the region that these inside stand for.
  Values outside_of(const Values& inside);
  // The region's input that stands for a value outside, or the same constant.
  Value captured(Value outside);

  // Values outside of the region that nodes read, and the region's inputs that stand for them.
  struct Capture {
    Value outside, inside;
  };
  const std::vector<Capture>& captures() const { return captures_; }

 private:
  bool find_here(const std::string& name, bool constant, Item& item);
  bool find_anywhere(const std::string& name, bool constant, Item& item);
  struct Initializer {
    const TensorData* data = nullptr;      // the tensor, or the values of a sparse one
    const SparseTensor* sparse = nullptr;  // or nullptr
    Value as_constant = absent, as_parameter = absent;
  };
  Value value_of(const Initializer& initializer, bool constant);
  Item captured(const Item& item);
  Value outside_of(Value inside) const;  // absent for what is no capture
  bool is_of_parameters(Value value);

  narrowgauge::Graph& graph_;
  Scope* outer_;
  Outer kind_;
  bool constants_ = false;
  std::map<std::string, Item, std::less<>> items_;
  std::map<std::string, Initializer, std::less<>> initializers_;
  std::vector<Capture> captures_;
  std::set<std::string, std::less<>> kept_names_;
  std::vector<bool> of_parameters_;  // by node of the graph, as far as anybody asked
};

}  // namespace narrowgauge::onnx
