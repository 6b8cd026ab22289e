// SPDX-License-Identifier: Apache-2.0
// What probes find out about units, against what is published and known of them.
#include "narrowgauge/probe.h"

#include <gtest/gtest.h>

#include "narrowgauge/error.h"

namespace narrowgauge::probe_test {
namespace {

ProbeResult probed(MatrixUnit unit, UnitFormat operand) {
  return probe(*find_unit_model(unit, operand, UnitFormat::f32));
}

// FTTN (arXiv 2403.00232) measured these three; an FMA chain is exact here.
TEST(probe, gives_fttns_sums) {
  EXPECT_EQ(probed(MatrixUnit::v100, UnitFormat::f16).cancellation, 0);
  EXPECT_EQ(probed(MatrixUnit::a100, UnitFormat::f16).cancellation, 0);
  EXPECT_EQ(probed(MatrixUnit::h100, UnitFormat::f16).cancellation, 191.875);
}

TEST(probe, tells_units_that_cut_from_those_that_round) {
  const ProbeResult cut = probed(MatrixUnit::a100, UnitFormat::f16);
  EXPECT_EQ(cut.rounding, SumRounding::towards_zero);
  EXPECT_EQ(cut.result_bits, 23);
  EXPECT_EQ(cut.kept_bits, 24);
  EXPECT_EQ(cut.at_once, 8);
  const ProbeResult chain = probed(MatrixUnit::ieee, UnitFormat::f32);
  EXPECT_EQ(chain.rounding, SumRounding::nearest);
  EXPECT_EQ(name(chain.rounding), "nearest");
  EXPECT_EQ(chain.at_once, 1);
}

TEST(probe, finds_that_amx_takes_subnormals_for_zero) {
  const ProbeResult amx = probed(MatrixUnit::amx, UnitFormat::bf16);
  EXPECT_FALSE(amx.reads_subnormals);
  EXPECT_FALSE(amx.gives_subnormals);
  EXPECT_TRUE(probed(MatrixUnit::h100, UnitFormat::f16).reads_subnormals);
}

TEST(probe, takes_plain_floating_point_alone) {
  const UnitModel& integers = *find_unit_model(MatrixUnit::a100, UnitFormat::s8, UnitFormat::s32);
  EXPECT_FALSE(can_be_probed(integers));
  EXPECT_THROW(probe(integers), UsageError);
  EXPECT_TRUE(can_be_probed(*find_unit_model(MatrixUnit::a100, UnitFormat::f16, UnitFormat::f32)));
}

}  // namespace
}  // namespace narrowgauge::probe_test
