// SPDX-License-Identifier: Apache-2.0
// The states that the graphs of a program share: parameters, statistics, moments, counters.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "narrowgauge/graph.h"

namespace narrowgauge {

// The value that a state begins with, a function of (seed, name) alone.
Tensor initial_value(const State& state, std::uint64_t seed);

class StateStore {
 public:
  struct Entry {
    Role role = Role::parameter;
    Tensor value;
  };

  // Adds the graph's states that are missing; derived ones are stale until refreshed. Throws
  // UsageError if one exists with another type or role, OutOfMemoryError before any is made.
  void add(const Graph& graph, std::uint64_t seed);

  std::int64_t bytes_to_add(const Graph& graph) const;

  void remove(const std::set<Role>& roles);
  // Brings parameters and statistics of f32 into f64, or those of f64 into f32, which rounds them,
  // and drops what is derived. Plans that were made before must not run again.
  void convert_weights(DType to);

  bool has(std::string_view name) const;
  Tensor& at(std::string_view name);  // throws UsageError
  const Tensor& at(std::string_view name) const;
  // Copies a tensor of the same type; derived states are computed again before use.
  void set(std::string_view name, const Tensor& value);
  const std::map<std::string, Entry, std::less<>>& entries() const { return entries_; }

  // Marks derived states of these sources as stale, except those listed in `kept`.
  void touch(const std::set<std::string>& changed, const std::set<std::string>& kept);
  // Computes those of these states that are derived and stale; writes nothing where none is.
  void refresh_derived(const std::set<std::string>& states);
  // Whether those of these states that are derived follow from their sources as they are.
  bool is_fresh(const std::set<std::string>& states) const;
  // Drops all derived states but these.
  void keep_derived(const std::set<std::string>& states);

 private:
  struct Derivation {
    Region region;
    std::vector<std::string> sources;
    bool stale = true;
  };
  std::map<std::string, Entry, std::less<>> entries_;
  std::map<std::string, Derivation, std::less<>> derivations_;
};

}  // namespace narrowgauge
