// SPDX-License-Identifier: Apache-2.0
// The tiers of CPUs that kernels are written for.
#pragma once

#include <cstdint>
#include <string_view>

#include "narrowgauge/export.h"

namespace narrowgauge {

// Each tier includes those before it. avx2 is the least that is supported. bf16 is AVX512_BF16
// where it is as fast as VNNI's int16: on AMD's CPUs (Zen 4 measured). Intel's run it at half the
// rate of f32 (Sapphire and Emerald Rapids measured) and are vnni, or amx.
enum class Isa : std::uint8_t { avx2, avx512, vnni, bf16, amx };
NG_API std::string_view name(Isa isa);        // "avx2", "avx512", "vnni", "bf16", "amx"
NG_API Isa parse_isa(std::string_view name);  // throws UsageError

}  // namespace narrowgauge
