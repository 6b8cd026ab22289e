// SPDX-License-Identifier: Apache-2.0
// Whether this program's kernels of AVX-512 and AMX are those of tests/emulation, which take a
// hundred times as long.
#pragma once

namespace narrowgauge {

namespace emulation {
[[noreturn, gnu::weak]] void fail(const char* instruction, const char* reason);
}

inline bool kernels_are_emulated() { return emulation::fail != nullptr; }

}  // namespace narrowgauge
