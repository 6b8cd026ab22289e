// SPDX-License-Identifier: Apache-2.0
// A value on the heap that is copied and compared as a value: for types that contain themselves.
#pragma once

#include <memory>
#include <utility>

namespace narrowgauge::onnx {

template <class T>
class Box {
 public:
  Box() : value_(std::make_unique<T>()) {}
  Box(T value) : value_(std::make_unique<T>(std::move(value))) {}  // NOLINT: a value is one
  Box(const Box& other) : Box(*other) {}
  Box(Box&& other) noexcept = default;
  Box& operator=(const Box& other) {
    value_ = std::make_unique<T>(*other);
    return *this;
  }
  Box& operator=(Box&& other) noexcept = default;

  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return value_.get(); }
  const T* operator->() const { return value_.get(); }
  bool operator==(const Box& other) const { return **this == *other; }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace narrowgauge::onnx
