// SPDX-License-Identifier: Apache-2.0
// What the CPU has, capped by NARROWGAUGE_ISA=avx2|avx512|vnni|bf16|amx.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace narrowgauge {

// Tiers, each including those before it. avx2 is the least that is supported. bf16 is AVX512_BF16
// where it is as fast as VNNI's int16: on AMD's CPUs (Zen 4 measured). Intel's run it at half the
// rate of f32 (Sapphire and Emerald Rapids measured) and are vnni, or amx.
enum class Isa : std::uint8_t { avx2, avx512, vnni, bf16, amx };

std::string_view name(Isa isa);
Isa detected_isa();  // what the CPU and the kernel offer; AMX only if permission was granted
Isa capped(Isa detected, std::string_view cap);  // the lesser; UsageError for an unknown cap
Isa isa();  // detected_isa() under NARROWGAUGE_ISA, where that is set; UsageError as above
std::string cpu_name();
std::int64_t memory_bytes();  // RAM of the machine

}  // namespace narrowgauge
