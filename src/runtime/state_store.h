// SPDX-License-Identifier: Apache-2.0
// The states that the graphs of a program share: parameters, statistics, moments, counters.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compile/plan.h"
#include "passes/training/drop_masters.h"

namespace narrowgauge {

// The value that a state begins with, a function of (seed, name) alone.
Tensor initial_value(const State& state, std::uint64_t seed);

class StateStore {
 public:
  struct Entry {
    Role role = Role::parameter;
    Tensor value;
    // Where the value is kept in a narrower format than its model says: the model's.
    std::optional<DType> declared{};
    bool pinned = false;  // the format may not change: a training goes by it
  };

  struct NewValue {
    std::string state;
    Tensor value;
  };

  // Adds the graph's states that are missing; derived ones are stale until refreshed. Throws
  // UsageError if one exists with another type or role, OutOfMemoryError before any is made.
  void add(const Graph& graph, std::uint64_t seed);
  // Adds the states of the graph of a plan, and of what its kernels pack, which is derived too.
  void add(const Plan& plan, std::uint64_t seed);

  // Adds a state with a copy of a value, where it is missing.
  void add_copy(const std::string& name, Role role, const Tensor& value);

  // Adds the parameters of a graph in f32 that are missing, and keeps those that `formats` names in
  // that format, rounded to nearest, the others of the graph in their own; all are pinned. Returns
  // whether a format changed. Throws UsageError for a pinned parameter in another format.
  bool keep_as(const Graph& f32_graph, const StateFormats& formats, std::uint64_t seed);
  void unpin();  // formats of all parameters may change
  // The parameters that are kept in a narrower format than their model says.
  StateFormats kept_formats() const;
  // The state in the format that its model says, exactly; shares memory where it is kept so.
  Tensor declared(std::string_view name) const;

  std::int64_t bytes_to_add(const Graph& graph) const;
  std::int64_t bytes_to_add(const Plan& plan) const;

  // Copies the states of another store, but what is derived, which is computed again before use.
  void copy(const StateStore& other);
  void remove(const std::set<Role>& roles);
  // Brings parameters and statistics of f32 into f64, or those of f64 into f32, which rounds them,
  // and drops what is derived. Plans that were made before must not run again.
  void convert_weights(DType to);

  bool has(std::string_view name) const;
  Tensor& at(std::string_view name);  // throws UsageError
  const Tensor& at(std::string_view name) const;
  // Copies a tensor of the same type, or of the declared one, which is rounded to nearest; derived
  // states are computed again before use.
  void set(std::string_view name, const Tensor& value);
  // Sets several states: all of them, or, where it throws, none.
  void set(std::span<const NewValue> values);
  // Puts a copy in the place of a value that copies of this store share, and keep. No executor that
  // was made for the state before may run again.
  void replace(std::string_view name, const Tensor& value);
  const std::map<std::string, Entry, std::less<>>& entries() const { return entries_; }

  // What kernels of a plan pack, by the name of the packing, as it was refreshed last.
  const PackedBytes& packed(std::string_view name) const;
  // Changes when any of it lies elsewhere than before.
  std::uint64_t packed_moves() const { return packed_moves_; }

  // Marks derived states of these sources as stale, except those listed in `kept`.
  void touch(const std::set<std::string>& changed, const std::set<std::string>& kept);
  // Computes the derived states among these that are stale; writes nothing where none is.
  void refresh_derived(const std::set<std::string>& states);
  // Whether the derived states among these follow from their sources as those are now.
  bool is_fresh(const std::set<std::string>& states) const;
  // Drops all derived states but these.
  void keep_derived(const std::set<std::string>& states);

 private:
  // Returns whether the format changed.
  bool convert(const std::string& name, Entry& entry, DType format);
  void drop_derived_from(const std::string& name);
  Tensor in_kept_format(std::string_view name, const Tensor& value) const;
  struct Derivation {
    std::vector<std::string> sources;
    std::function<void(std::span<const Tensor> sources, Tensor& value)> make;
    bool stale = true;
  };
  // Made after the derived states, which may be its sources.
  struct Packed {
    PlanPacking packing;
    std::shared_ptr<std::byte> own;  // where it is made anew; nullptr: it comes from a memory
    PackedBytes bytes;
    bool stale = true;
  };
  std::vector<Tensor> values_of(const std::vector<std::string>& sources) const;
  void refresh(Packed& packed);
  std::map<std::string, Entry, std::less<>> entries_;
  std::map<std::string, Derivation, std::less<>> derivations_;
  std::map<std::string, Packed, std::less<>> packed_;
  std::uint64_t packed_moves_ = 0;
};

}  // namespace narrowgauge
