// SPDX-License-Identifier: Apache-2.0
// How public objects hold what they are made of: by a pointer that a move leaves empty. Whoever
// uses an object after it was moved from gets a UsageError that says so.
#pragma once

#include <cstddef>
#include <utility>

#include "narrowgauge/export.h"

namespace narrowgauge {

// Throws UsageError: "trainer: was moved from, ...". `what` is the kind of object.
[[noreturn]] NG_API void refuse_moved_from(const char* what);

// The name of a kind of object in messages, as an argument of a template.
template <std::size_t size>
struct HeldName {
  char text[size] = {};  // with its terminating zero
  // The name in a literal.
  consteval HeldName(const char (&name)[size]) {
    for (std::size_t i = 0; i < size; ++i) text[i] = name[i];
  }
};

// A std::unique_ptr or std::shared_ptr that is set for as long as its owner was not moved from. It
// copies and moves as that pointer does; moving it onto itself changes nothing.
template <HeldName what, class Pointer>
class Held {
 public:
  Held(Pointer pointer) noexcept : pointer_(std::move(pointer)) {}  // NOLINT: converts

  // What is held; throws UsageError after it was moved from.
  auto& operator*() const {
    if (!pointer_) [[unlikely]]
      refuse_moved_from(what.text);
    return *pointer_;
  }
  auto* operator->() const { return &**this; }  // as operator*
  // The pointer itself, to share what is held; throws as operator*.
  const Pointer& pointer() const {
    static_cast<void>(**this);
    return pointer_;
  }

 private:
  Pointer pointer_;
};

}  // namespace narrowgauge
