// SPDX-License-Identifier: Apache-2.0
// All tensors of a model, all its graphs, or all of another kind of message, however deep.
#pragma once

#include <type_traits>
#include <variant>

#include "io/onnx/fields.h"

namespace narrowgauge::onnx {

template <class Wanted, class Function>
class MessageVisitor {
 public:
  explicit MessageVisitor(Function& function) : function_(function) {}

  template <class T>
  void operator()(int, T& member) {
    visit(member);
  }
  template <class T>
  void one_of(int, auto& variant) {
    if (auto* const held = std::get_if<T>(&variant)) visit(*held);
  }
  void refused(int, const char*) {}

  template <class T>
  void visit(T& member) {
    if constexpr (Is<T, Wanted>) function_(member);
    if constexpr (requires { visit_fields(member, *this); }) {
      visit_fields(member, *this);
    } else if constexpr (requires { member.has_value(); }) {
      if (member) visit(*member);
    } else if constexpr (requires { std::begin(member); }) {
      for (auto& one : member) visit(one);
    } else if constexpr (requires { *member; }) {
      visit(*member);
    }
  }

 private:
  Function& function_;
};

// Calls the function with every `Wanted` of the message, itself included, outer ones first.
template <class Wanted, class Function>
void for_each(auto& message, Function function) {
  MessageVisitor<Wanted, Function>(function).visit(message);
}

}  // namespace narrowgauge::onnx
