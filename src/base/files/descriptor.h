// SPDX-License-Identifier: Apache-2.0
// The owner of a file descriptor.
#pragma once

#include <unistd.h>

#include <utility>

namespace narrowgauge {

class Descriptor {
 public:
  explicit Descriptor(int file = -1) : file_(file) {}
  ~Descriptor() {
    if (file_ >= 0) close(file_);
  }
  Descriptor(Descriptor&& other) noexcept : file_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }

  int get() const { return file_; }  // negative: none
  int release() { return std::exchange(file_, -1); }

 private:
  int file_;
};

}  // namespace narrowgauge
