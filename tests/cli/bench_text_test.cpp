// SPDX-License-Identifier: Apache-2.0
// What bench prints of figures that no test can bring about.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "cli/bench/kernels.h"
#include "cli/bench/roofline.h"

namespace narrowgauge::cli::bench_text_test {
namespace {

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) longest = std::max(longest, line.size());
  return longest;
}

TEST(bench_text, peaks_of_any_fast_machine_keep_to_eighty_columns) {
  for (const double rate : {1e9, 1e11, 1e12, 1e13, 1e14})
    for (const double memory : {1e9, 1e11, 1e12}) {
      const std::string text = peaks_text({rate, rate, rate, rate, memory});
      EXPECT_LE(longest_line(text), 80u) << text;
      EXPECT_NE(text.find(" GB/s"), std::string::npos) << text;
    }
}

TEST(bench_text, wide_figures_of_kernels_keep_to_eighty_columns) {
  for (const double milliseconds : {1e-3, 1.0, 1e4, 1e6})
    for (const double rate : {1e6, 1e11, 1e14})  // FLOP/s
      for (const double peak : {1e11, 1e13}) {
        ContractionTime time;
        time.node = "a_block_with_a_long_name_of_its_own_weight_gradient";
        time.implementation = "oneDNN brgemm:avx512_core_amx and more";
        time.count = 123;
        time.flops = rate * milliseconds * 1e-3;
        time.milliseconds = milliseconds;
        const std::string text = kernel_text({"transformer-base", "dfp16", {time, time}},
                                             {peak, peak, peak, peak, peak});
        EXPECT_LE(longest_line(text), 80u) << text;
        EXPECT_NE(text.find("all, by count"), std::string::npos) << text;
      }
}

}  // namespace
}  // namespace narrowgauge::cli::bench_text_test
