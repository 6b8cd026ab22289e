// SPDX-License-Identifier: Apache-2.0
// The memory of one run of a kernel, described once: how much there is, and where each array lies.
#pragma once

#include <cstddef>
#include <cstdint>

namespace narrowgauge::cpu {

// An array of a workspace.
template <class T>
struct WorkspaceArray {
  std::int64_t offset = 0;  // bytes
  T* in(std::byte* workspace) const { return reinterpret_cast<T*>(workspace + offset); }
};

// Arrays one after another, each aligned to a line of cache as the workspace itself is.
class Workspace {
 public:
  template <class T>
  WorkspaceArray<T> add(std::int64_t count) {
    const std::int64_t offset = bytes_;
    constexpr std::int64_t line = 64;
    const auto size = count * static_cast<std::int64_t>(sizeof(T));
    bytes_ += (size + line - 1) / line * line;
    return {offset};
  }
  WorkspaceArray<std::byte> add_bytes(std::int64_t count) { return add<std::byte>(count); }
  std::int64_t bytes() const { return bytes_; }

 private:
  std::int64_t bytes_ = 0;
};

}  // namespace narrowgauge::cpu
