// SPDX-License-Identifier: Apache-2.0
// Bytes that somebody keeps in memory, and a part of them: a view that holds on to its owner.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace narrowgauge {

class SharedBytes {
 public:
  SharedBytes() = default;
  // Without an owner, the caller keeps the bytes for as long as any copy of this is in use.
  SharedBytes(std::shared_ptr<const void> owner, std::string_view view)
      : owner_(std::move(owner)), view_(view) {}
  // Bytes that whoever has them may change.
  static SharedBytes changeable(std::shared_ptr<void> owner, std::span<char> bytes) {
    SharedBytes made(std::move(owner), {bytes.data(), bytes.size()});
    made.changeable_ = true;
    return made;
  }
  static SharedBytes holding(std::string text) {
    const auto owner = std::make_shared<const std::string>(std::move(text));
    return {owner, *owner};
  }

  std::string_view view() const { return view_; }
  std::size_t size() const { return view_.size(); }
  bool empty() const { return view_.empty(); }
  SharedBytes part(std::string_view within) const {
    SharedBytes made = *this;
    made.view_ = within;
    return made;
  }
  // The bytes as memory that may be changed, which holds on to their owner; nullptr where they may
  // not.
  std::shared_ptr<std::byte[]> memory() const {
    if (!changeable_) return nullptr;
    return {std::const_pointer_cast<void>(owner_),
            reinterpret_cast<std::byte*>(const_cast<char*>(view_.data()))};
  }
  bool operator==(const SharedBytes& other) const { return view_ == other.view_; }

 private:
  std::shared_ptr<const void> owner_;
  std::string_view view_;
  bool changeable_ = false;
};

// What may be done with the bytes of a mapped file.
enum class Mapping {
  read,
  change_copy  // to change them changes a copy of their page, which the process has for itself
};

// Maps a regular file into memory; its pages are read when they are first used. Whoever makes the
// file shorter while it is mapped ends the process (SIGBUS); replacing it as a whole does no harm.
// Throws DataError naming the path for what is missing, cannot be read or is no file,
// OutOfMemoryError where addresses end.
SharedBytes map_file(const std::string& path, Mapping mapping = Mapping::read);

}  // namespace narrowgauge
