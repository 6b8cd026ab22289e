// SPDX-License-Identifier: Apache-2.0
// What the shim writes down of each call that changes files: a header, two texts.
#pragma once

#include <cstdint>

namespace narrowgauge::testing_disk {

enum class Call : std::uint32_t { make, write, cut, sync, rename, remove, make_folder, link };

// make: file `b` as first in folder `a`      write: second into file `a` from byte `b`
// cut: file `a` to `b` bytes                 sync: file or folder `a`
// rename: first in folder `a` to second in folder `b`
// remove: first in folder `a`                make_folder: folder `b` as first in folder `a`
// link: first in folder `a` leads to second
// Files and folders are named by their inode numbers.
struct LogHeader {
  Call call{};
  std::uint32_t first = 0, second = 0;  // bytes of the texts
  std::uint64_t a = 0, b = 0;
};

inline constexpr const char* root_variable = "NARROWGAUGE_SHIM_ROOT";  // only files below count
inline constexpr const char* log_variable = "NARROWGAUGE_SHIM_LOG";
inline constexpr const char* end_variable = "NARROWGAUGE_SHIM_END_AT";    // a call, from 1 on
inline constexpr const char* full_variable = "NARROWGAUGE_SHIM_FULL_AT";  // no room from there on

}  // namespace narrowgauge::testing_disk
