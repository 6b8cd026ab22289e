// SPDX-License-Identifier: Apache-2.0
#include "base/machine/cpu.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "narrowgauge/error.h"

namespace narrowgauge::cpu_test {
namespace {

class IsaCap {
 public:
  explicit IsaCap(const char* cap) { setenv("NARROWGAUGE_ISA", cap, 1); }
  ~IsaCap() { unsetenv("NARROWGAUGE_ISA"); }
};

TEST(isa, is_capped_by_the_environment_and_never_raised) {
  for (const Isa cap : {Isa::avx2, Isa::avx512, Isa::vnni, Isa::bf16, Isa::amx}) {
    const IsaCap scope(std::string(name(cap)).c_str());
    EXPECT_EQ(isa(), std::min(cap, detected_isa()));
  }
  EXPECT_EQ(isa(), detected_isa());
}

TEST(isa, is_the_lesser_of_detected_and_cap) {
  EXPECT_EQ(capped(Isa::avx2, "amx"), Isa::avx2);
  EXPECT_EQ(capped(Isa::amx, "avx2"), Isa::avx2);
  EXPECT_EQ(capped(Isa::vnni, "avx512"), Isa::avx512);
  EXPECT_EQ(capped(Isa::amx, "bf16"), Isa::bf16);
}

TEST(isa, refuses_an_unknown_cap) {
  const IsaCap scope("sse9");
  EXPECT_THROW(isa(), UsageError);
}

// One instruction of each tier: a tier that the kernel does not let us use would end the program.
void run_avx512() { asm volatile("vpxorq %%zmm31, %%zmm31, %%zmm31" ::: "memory"); }
void run_vnni() { asm volatile("vpdpbusd %%zmm0, %%zmm0, %%zmm31" ::: "memory"); }
void run_bf16() { asm volatile("vdpbf16ps %%zmm0, %%zmm0, %%zmm31" ::: "memory"); }
void run_amx() {
  alignas(64) unsigned char configuration[64] = {1};  // palette 1
  configuration[16] = 64;                             // tile 0: bytes in a row
  configuration[48] = 16;                             // tile 0: rows
  asm volatile("ldtilecfg %0\n\ttilezero %%tmm0\n\ttilerelease" ::"m"(configuration));
}

TEST(isa, can_run_what_it_detected_in_this_thread_and_in_new_ones) {
  const auto run = [] {
    if (detected_isa() >= Isa::avx512) run_avx512();
    if (detected_isa() >= Isa::vnni) run_vnni();
    if (detected_isa() >= Isa::bf16) run_bf16();
    if (detected_isa() >= Isa::amx) run_amx();
  };
  run();
  std::thread(run).join();
}

TEST(cpu, says_its_name_and_memory) {
  EXPECT_FALSE(cpu_name().empty());
  EXPECT_NE(cpu_name().front(), ' ');
  EXPECT_NE(cpu_name().back(), ' ');
  EXPECT_GT(memory_bytes(), 64 << 20);
}

}  // namespace
}  // namespace narrowgauge::cpu_test
