// SPDX-License-Identifier: Apache-2.0
// doctor: what it says of machines, quiet and busy, that this one need not be.
#include <gtest/gtest.h>

#include "cli/inspect/doctor.h"
#include "support/json.h"

namespace narrowgauge::cli::doctor_text_test {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A machine with AMX; bf16 three times as fast as f32.
Facts amx(Grounds grounds) {
  const double known = grounds == Grounds::model ? 0 : 1;
  Facts facts;
  facts.machine.used_isa = facts.machine.detected_isa = "amx";
  facts.isa = Isa::amx;
  facts.math.grounds = grounds;
  const auto add = [&](Math math, DType format, Math way, double gflops) {
    const KernelFacts kernel{.way = way};
    facts.math.rates.push_back(
        {math, format, "tiles", "tiles", kernel, kernel, gflops * known, gflops * known});
  };
  add(Math::ieee, DType::f32, Math::none, 100);
  add(Math::f32, DType::f32, Math::bf16x3, 400);
  add(Math::dfp16, DType::f32, Math::dfp16, 500);
  add(Math::bf16, DType::bf16, Math::none, 1200);
  add(Math::f16, DType::f16, Math::bf16x3, 390);
  return facts;
}

TEST(doctor, gives_rates_where_they_were_measured) {
  const std::string text = facts_text(amx(Grounds::all_threads));
  EXPECT_FALSE(contains(text, "busy")) << text;
  for (const char* part :
       {"1200  tiles", "bf16 values (half the memory), contractions in bf16: 3.0",
        "no faster than f32, 0.97 times", "auto  bf16 is the fastest here"})
    EXPECT_TRUE(contains(text, part)) << part << '\n' << text;
}

TEST(doctor, says_that_it_measured_one_thread) {
  const std::string text = facts_text(amx(Grounds::one_thread));
  for (const char* part : {"GFLOP/s of one thread", "other programs use the cores: measured in one",
                           "auto  bf16 is the fastest here"})
    EXPECT_TRUE(contains(text, part)) << part << '\n' << text;
  const auto json = testing_json::Json::parse(facts_json(amx(Grounds::one_thread)));
  EXPECT_EQ(json.at("measured"), "one thread");
}

TEST(doctor, tells_no_rates_where_it_is_too_busy_and_decides_by_the_units) {
  const std::string text = facts_text(amx(Grounds::model));
  for (const char* part :
       {"matmul        -  tiles", "other programs use the cores: too busy to tell how fast",
        "contractions in bf16: too busy to tell; by its unit faster than f32",
        "contractions in bf16x3: too busy to tell; by its unit no faster than f32",
        "auto  too busy to tell; by its units bf16 is the fastest here"})
    EXPECT_TRUE(contains(text, part)) << part << '\n' << text;
  for (const char* untrue : {"nan", "inf", " 0.", " 0 "})
    EXPECT_FALSE(contains(text.substr(text.find("math")), untrue)) << untrue << '\n' << text;
  const auto json = testing_json::Json::parse(facts_json(amx(Grounds::model)));
  EXPECT_EQ(json.at("measured"), "too busy to tell");
  EXPECT_EQ(json.at("amp_auto"), "bf16");
  EXPECT_TRUE(json.at("math").at("bf16").at("product_gflops").is_null());
}

}  // namespace
}  // namespace narrowgauge::cli::doctor_text_test
