// SPDX-License-Identifier: Apache-2.0
// What stands in mutated sources (sites.py writes it there): each change is compiled in beside the
// code as it is, and the environment says which one a process runs, so that one build serves all.
// An operator between a and b becomes `a op Name<id>{} op b`, which keeps precedence and needs no
// parser. Constant expressions stay as they are. Everything here is local to a source, since
// sources for other instruction sets must not share functions.
#pragma once

#include <algorithm>
#include <type_traits>

namespace mutation {

struct State {
  int active;              // the change that this process runs; 0: none
  unsigned char* reached;  // a byte for each change that was evaluated; null: not recorded
};
extern State state;

namespace {

// The section lists the changes that are code; those in constant expressions leave nothing there.
template <int id>
__attribute__((always_inline)) inline bool on() {
  asm volatile(".pushsection .mutations,\"\",@progbits\n.long %c0\n.popsection" ::"i"(id));
  if (state.reached) state.reached[id] = 1;
  return state.active == id;
}

#define NG_MUTATION_OPERATOR(Name, op, other)                                                     \
  template <int id>                                                                               \
  struct Name {};                                                                                 \
  template <class A, int id>                                                                      \
  struct Name##Left {                                                                             \
    const A& a;                                                                                   \
  };                                                                                              \
  template <class A, int id>                                                                      \
  __attribute__((always_inline)) constexpr Name##Left<A, id> operator op(const A& a, Name<id>) {  \
    return {a};                                                                                   \
  }                                                                                               \
  template <class A, int id, class B>                                                             \
  __attribute__((always_inline)) constexpr auto operator op(Name##Left<A, id> left, const B& b) { \
    if constexpr (requires { left.a other b; })                                                   \
      if (!std::is_constant_evaluated() && on<id>())                                              \
        return static_cast<decltype(left.a op b)>(left.a other b);                                \
    return left.a op b;                                                                           \
  }

NG_MUTATION_OPERATOR(Less, <, <=)
NG_MUTATION_OPERATOR(LessEqual, <=, <)
NG_MUTATION_OPERATOR(Greater, >, >=)
NG_MUTATION_OPERATOR(GreaterEqual, >=, >)
NG_MUTATION_OPERATOR(Equal, ==, !=)
NG_MUTATION_OPERATOR(NotEqual, !=, ==)
NG_MUTATION_OPERATOR(Plus, +, -)
NG_MUTATION_OPERATOR(Minus, -, +)
NG_MUTATION_OPERATOR(Times, *, +)
NG_MUTATION_OPERATOR(Divide, /, *)
NG_MUTATION_OPERATOR(Remainder, %, +)
#undef NG_MUTATION_OPERATOR

template <int id, class T>
__attribute__((always_inline)) constexpr T constant(T value, T changed) {
  if (!std::is_constant_evaluated() && on<id>()) return changed;
  return value;
}

template <int id>
__attribute__((always_inline)) constexpr bool flip() {
  return !std::is_constant_evaluated() && on<id>();
}

template <int id, class T>
__attribute__((always_inline)) constexpr T negated(T value) {
  if constexpr (requires { -value; })
    if (!std::is_constant_evaluated() && on<id>()) return static_cast<T>(-value);
  return value;
}

template <int id, class T>
constexpr const T& smaller(const T& a, const T& b) {
  return !std::is_constant_evaluated() && on<id>() ? std::max(a, b) : std::min(a, b);
}

template <int id, class T>
constexpr const T& larger(const T& a, const T& b) {
  return !std::is_constant_evaluated() && on<id>() ? std::min(a, b) : std::max(a, b);
}

}  // namespace
}  // namespace mutation
