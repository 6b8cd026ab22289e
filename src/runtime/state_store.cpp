// SPDX-License-Identifier: Apache-2.0
#include "runtime/state_store.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/files/memory.h"
#include "base/machine/floating_environment.h"
#include "base/random.h"
#include "base/threads/parallel.h"
#include "kernels/cpu/random/random_normals.h"
#include "ops/composition/interpret.h"

namespace narrowgauge {

namespace {

constexpr std::int64_t drawn_at_once = 1024;

// Replaces a number beyond two deviations by the same element of the next stream.
float truncated_normal(std::uint64_t seed, const std::string& name, std::uint64_t element) {
  for (std::uint64_t attempt = 1;; ++attempt) {
    const float value = RandomStream(seed, name, attempt).normal(element);
    if (std::abs(value) <= 2) return value;
  }
}

// Elements from `first` on, a multiple of 4.
void draw(const State& state, std::uint64_t seed, const RandomStream& stream, std::uint64_t first,
          std::span<double> out) {
  const Initial& initial = state.initial;
  if (initial.kind == Initial::Kind::uniform) {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = initial.a + (initial.b - initial.a) * stream.uniform(first + i);
    return;
  }
  std::array<float, drawn_at_once> normals;
  cpu::random_normals(stream, first, static_cast<std::int64_t>(out.size()), normals.data());
  const bool truncated = initial.kind == Initial::Kind::truncated_normal;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const bool again = truncated && std::abs(normals[i]) > 2;
    const float normal = again ? truncated_normal(seed, state.name, first + i) : normals[i];
    out[i] = initial.a + initial.b * normal;
  }
}

// Takes the memory of a tensor that nobody has filled yet, by all threads: who asks later what
// memory is left does not count it again.
Tensor touched(Tensor tensor) {
  constexpr std::int64_t page = 4096, pages_at_once = 256;
  volatile std::byte* const bytes = tensor.data();
  parallel_for((tensor.bytes() + page - 1) / page, pages_at_once,
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) bytes[i * page] = bytes[i * page];
               });
  return tensor;
}

// Computes a derived state by its graph.
auto interpreted(Region derivation) {
  return [derivation = std::move(derivation)](std::span<const Tensor> sources, Tensor& value) {
    InterpretOptions options;
    options.reference = false;
    const Tensor made = interpret(*derivation, sources, options).at(0);
    std::copy_n(made.data(), made.bytes(), value.data());
  };
}

}  // namespace

Tensor initial_value(const State& state, std::uint64_t seed) {
  const FloatingEnvironment environment(Subnormals::keep);
  const Initial& initial = state.initial;
  const Dims dims = known_dims(state.type.shape);
  if (initial.kind == Initial::Kind::data) {
    require(initial.data.type() == state.type, "state '", state.name, "': holds ", state.type,
            ", its initial value is ", initial.data.type());
    // What lies in pages of a file belongs to an engine, which never changes it.
    return initial.data.owns_memory() ? initial.data.clone() : initial.data;
  }
  if (initial.kind == Initial::Kind::constant)
    return touched(Tensor::full(state.type.dtype, dims, initial.a));
  Tensor result(state.type.dtype, dims);
  float* const floats = result.dtype() == DType::f32 ? result.values<float>().data() : nullptr;
  const RandomStream stream(seed, state.name);
  const std::int64_t count = result.size();
  parallel_for(count, 16 * drawn_at_once, [&](std::int64_t begin, std::int64_t end) {
    std::array<double, drawn_at_once> drawn;
    for (std::int64_t at = begin; at < end; at += drawn_at_once) {
      const std::int64_t length = std::min<std::int64_t>(drawn_at_once, end - at);
      const std::span<double> values(drawn.data(), static_cast<std::size_t>(length));
      draw(state, seed, stream, static_cast<std::uint64_t>(at), values);
      if (floats) {
        std::transform(values.begin(), values.end(), floats + at,
                       [](double value) { return static_cast<float>(value); });
        continue;
      }
      for (std::int64_t i = at; const double value : values) result.set(i++, value);
    }
  });
  return result;
}

std::int64_t StateStore::bytes_to_add(const Graph& graph) const {
  std::int64_t bytes = 0;
  for (const State& state : graph.states())
    if (!has(state.name))
      bytes += bytes_for(element_count(known_dims(state.type.shape)), state.type.dtype);
  return bytes;
}

void StateStore::add(const Graph& graph, std::uint64_t seed) {
  require_memory(
      {concat("graph '", graph.name(), "'"), {{"weights and other states", bytes_to_add(graph)}}});
  decltype(entries_) added;
  decltype(derivations_) derived;
  for (const State& state : graph.states()) {
    const auto known = entries_.find(state.name);
    if (known != entries_.end()) {
      require(known->second.value.type() == state.type && known->second.role == state.role,
              "state '", state.name, "': is ", name(known->second.role), ' ',
              known->second.value.type(), ", graph ", graph.name(), " wants ", name(state.role),
              ' ', state.type);
      continue;
    }
    if (state.role == Role::derived) {
      derived[state.name] = {state.derived_from, interpreted(state.derivation)};
      added[state.name] = {state.role, Tensor(state.type.dtype, known_dims(state.type.shape))};
    } else {
      added[state.name] = {state.role, initial_value(state, seed)};
    }
  }
  entries_.merge(added);  // takes no memory
  derivations_.merge(derived);
}

void StateStore::add_copy(const std::string& name, Role role, const Tensor& value) {
  if (!has(name)) entries_[name] = {role, value.clone()};
}

std::int64_t StateStore::bytes_to_add(const Plan& plan) const {
  std::int64_t bytes = bytes_to_add(plan.graph);
  for (const PlanPacking& each : plan.packings)
    if (!each.states.empty() && !packed_.contains(each.name)) bytes += each.packing.bytes;
  return bytes;
}

void StateStore::add(const Plan& plan, std::uint64_t seed) {
  add(plan.graph, seed);
  require_memory(
      {concat("graph '", plan.graph.name(), "'"), {{"packed weights", bytes_to_add(plan)}}});
  for (const PlanPacking& each : plan.packings) {
    if (each.states.empty() || packed_.contains(each.name)) continue;
    const auto own = each.memory ? nullptr : each.room();
    packed_[each.name] = {each, own, own};
  }
}

bool StateStore::keep_as(const Graph& f32_graph, const StateFormats& formats, std::uint64_t seed) {
  bool changed = false;
  for (const State& state : f32_graph.states()) {
    if (state.role != Role::parameter) continue;
    if (!has(state.name)) entries_[state.name] = {state.role, initial_value(state, seed)};
    Entry& entry = entries_.find(state.name)->second;
    const auto format = formats.find(state.name);
    changed |=
        convert(state.name, entry, format == formats.end() ? state.type.dtype : format->second);
    entry.pinned = true;
  }
  return changed;
}

bool StateStore::convert(const std::string& name, Entry& entry, DType format) {
  const DType before = entry.value.dtype(), declared = entry.declared.value_or(before);
  if (format == before) return false;
  require(!entry.pinned, "parameter '", name, "': an earlier step keeps it in ", before,
          ", and this one wants it in ", format);
  Tensor value = entry.value.cast(format);
  drop_derived_from(name);
  entry.value = std::move(value);
  entry.declared = format == declared ? std::nullopt : std::optional(declared);
  return true;
}

void StateStore::drop_derived_from(const std::string& name) {
  std::set<std::string> dropped{name};
  const auto stems = [&](const std::vector<std::string>& sources) {
    return std::ranges::any_of(sources,
                               [&](const std::string& source) { return dropped.contains(source); });
  };
  for (const auto& [state, derivation] : derivations_)
    if (stems(derivation.sources)) dropped.insert(state);
  // Nothing fails from here on.
  std::erase_if(packed_, [&](const auto& each) { return stems(each.second.packing.states); });
  dropped.erase(name);
  for (const std::string& state : dropped) {
    derivations_.erase(derivations_.find(state));
    entries_.erase(entries_.find(state));
  }
}

void StateStore::unpin() {
  for (auto& [name, entry] : entries_) entry.pinned = false;
}

StateFormats StateStore::kept_formats() const {
  StateFormats formats;
  for (const auto& [name, entry] : entries_)
    if (entry.declared) formats.emplace(name, entry.value.dtype());
  return formats;
}

Tensor StateStore::declared(std::string_view name) const {
  const auto found = entries_.find(name);
  require(found != entries_.end(), "no state '", name, "'");
  const Entry& entry = found->second;
  return entry.declared ? entry.value.cast(*entry.declared) : entry.value;
}

void StateStore::copy(const StateStore& other) {
  for (const auto& [name, entry] : other.entries_) {
    if (entry.role != Role::derived)
      entries_[name] = {entry.role, entry.value.clone(), entry.declared, false};
  }
}

void StateStore::remove(const std::set<Role>& roles) {
  std::erase_if(entries_, [&](const auto& entry) { return roles.contains(entry.second.role); });
  std::erase_if(derivations_, [&](const auto& entry) { return !has(entry.first); });
  if (roles.contains(Role::derived)) packed_.clear();
}

void StateStore::convert_weights(DType to) {
  const DType from = to == DType::f64 ? DType::f32 : DType::f64;
  std::map<std::string, Entry, std::less<>> converted = entries_;
  for (auto& [name, entry] : converted) {
    if (entry.role != Role::parameter && entry.role != Role::statistic) continue;
    if (entry.declared) entry.value = entry.value.cast(*entry.declared);
    entry.declared.reset();
    if (entry.value.dtype() == from) entry.value = entry.value.cast(to);
  }
  const std::set<Role> derived{Role::derived};
  entries_.swap(converted);
  remove(derived);
}

bool StateStore::has(std::string_view state) const {
  return entries_.find(state) != entries_.end();
}

Tensor& StateStore::at(std::string_view state) {
  const auto found = entries_.find(state);
  require(found != entries_.end(), "no state '", state, "'");
  return found->second.value;
}

const Tensor& StateStore::at(std::string_view state) const {
  return const_cast<StateStore*>(this)->at(state);
}

void StateStore::set(std::string_view state, const Tensor& value) {
  const NewValue one{std::string(state), value};
  set(std::span(&one, 1));
}

Tensor StateStore::in_kept_format(std::string_view state, const Tensor& value) const {
  const Tensor& own = at(state);
  const auto declared = entries_.find(state)->second.declared;
  const bool rounds = declared && value.type() == TensorType{*declared, own.type().shape};
  require(rounds || own.type() == value.type(), "state '", state, "': holds ", own.type(), ", got ",
          value.type());
  return rounds ? value.cast(own.dtype()) : value;
}

// Takes all memory that it needs before it changes anything.
void StateStore::set(std::span<const NewValue> values) {
  std::vector<Tensor> kept;
  std::set<std::string> changed;
  for (const NewValue& each : values) {
    kept.push_back(in_kept_format(each.state, each.value));
    changed.insert(each.state);
  }
  for (std::size_t i = 0; i < kept.size(); ++i)
    std::copy_n(kept[i].data(), kept[i].bytes(), at(values[i].state).data());
  touch(changed, {});
}

void StateStore::replace(std::string_view state, const Tensor& value) {
  at(state) = in_kept_format(state, value).clone();
}

void StateStore::touch(const std::set<std::string>& changed, const std::set<std::string>& kept) {
  const auto follows = [&](const std::string& source) { return changed.contains(source); };
  const auto follows_derived = [&](const std::string& source) {
    const auto derived = derivations_.find(source);
    return follows(source) ||
           (derived != derivations_.end() && std::ranges::any_of(derived->second.sources, follows));
  };
  for (auto& [state, derivation] : derivations_)
    if (!kept.contains(state) && std::ranges::any_of(derivation.sources, follows_derived))
      derivation.stale = true;
  for (auto& [name, packed] : packed_)
    if (!kept.contains(name) && std::ranges::any_of(packed.packing.states, follows_derived))
      packed.stale = true;
}

bool StateStore::is_fresh(const std::set<std::string>& states) const {
  const auto is_stale = [&](const auto& each) {
    return each.second.stale && states.contains(each.first);
  };
  return std::ranges::none_of(derivations_, is_stale) && std::ranges::none_of(packed_, is_stale);
}

void StateStore::keep_derived(const std::set<std::string>& states) {
  const auto is_surplus = [&](const auto& each) { return !states.contains(each.first); };
  std::erase_if(derivations_, is_surplus);
  std::erase_if(packed_, is_surplus);
  std::erase_if(entries_, [&](const auto& each) {
    return each.second.role == Role::derived && is_surplus(each);
  });
}

const PackedBytes& StateStore::packed(std::string_view name) const {
  const auto found = packed_.find(name);
  NG_INVARIANT(found != packed_.end());
  return found->second.bytes;
}

// What plans share depends on none of them, thus not on what becomes of subnormals in their steps.
void StateStore::refresh_derived(const std::set<std::string>& states) {
  for (auto& [state, derivation] : derivations_) {
    if (!derivation.stale || !states.contains(state)) continue;
    const FloatingEnvironment environment(Subnormals::keep);
    derivation.make(values_of(derivation.sources), at(state));
    derivation.stale = false;
  }
  for (auto& [name, packed] : packed_)
    if (packed.stale && states.contains(name)) refresh(packed);
}

void StateStore::refresh(Packed& packed) {
  const FloatingEnvironment environment(Subnormals::keep);
  const std::vector<Tensor> values = values_of(packed.packing.states);
  if (packed.own) {
    packed.packing.make(values, packed.own.get());
  } else {
    packed.bytes = packed.packing.find_or_make(values);
    ++packed_moves_;
  }
  packed.stale = false;
}

std::vector<Tensor> StateStore::values_of(const std::vector<std::string>& sources) const {
  std::vector<Tensor> values;
  for (const std::string& source : sources) values.push_back(at(source));
  return values;
}

}  // namespace narrowgauge
