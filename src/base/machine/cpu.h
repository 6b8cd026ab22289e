// SPDX-License-Identifier: Apache-2.0
// What the CPU can do, limited by NARROWGAUGE_ISA=avx2|avx512|vnni|bf16|amx.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "narrowgauge/isa.h"

namespace narrowgauge {

Isa detected_isa();  // what the CPU and the kernel offer; AMX only if permission was granted
Isa capped(Isa detected, std::string_view cap);  // the lesser; UsageError for an unknown cap
Isa isa();  // detected_isa() under NARROWGAUGE_ISA, where that is set; UsageError as above
std::string cpu_name();
std::int64_t memory_bytes();  // RAM of the machine

}  // namespace narrowgauge
