// SPDX-License-Identifier: Apache-2.0
// Runs a test program's other tests again under each cap of the instruction set that makes a
// difference to them: the cap is read once in a process.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <initializer_list>
#include <string>

#include "base/machine/cpu.h"
#include "kernels/emulated.h"

namespace narrowgauge {

inline void expect_tests_pass_under_each_isa(const std::string& filter,
                                             std::initializer_list<Isa> tiers = {
                                                 Isa::avx2, Isa::avx512, Isa::vnni, Isa::bf16}) {
  for (const Isa tier : tiers) {
    if (tier >= isa() || (tier == Isa::avx2 && kernels_are_emulated())) continue;
    const std::string program = "NARROWGAUGE_ISA=" + std::string(name(tier)) +
                                " \"$(readlink /proc/" + std::to_string(::getpid()) +
                                "/exe)\" --gtest_filter='" + filter + "' ";
    const std::string lists = program + "--gtest_list_tests | grep -q '^  '";
    EXPECT_EQ(std::system(lists.c_str()), 0) << "no test has such a name: " << filter;
    const std::string runs = program + "--gtest_brief=1 1>&2";
    EXPECT_EQ(std::system(runs.c_str()), 0) << runs;
  }
}

}  // namespace narrowgauge
