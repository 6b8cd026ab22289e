// SPDX-License-Identifier: Apache-2.0
// The models against what an H100 gave: checksums of the results of 2^15 random products of each
// instruction, which tests/gpu/instruction_bits printed on that GPU.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "gpu/instruction_tiles.h"

namespace narrowgauge::test::instruction_test {
namespace {

std::map<std::string, std::uint64_t> recorded_checksums() {
  const char* const source = std::getenv("NARROWGAUGE_SOURCE");
  std::ifstream file(std::filesystem::path(source ? source : ".") /
                     "tests/wmma/h100_instructions.txt");
  std::map<std::string, std::uint64_t> checksums;
  for (std::string name, checksum; file >> name >> checksum;)
    checksums[name] = std::stoull(checksum, nullptr, 16);
  return checksums;
}

TEST(wmma_instruction, models_give_what_an_h100_gave) {
  const auto recorded = recorded_checksums();
  ASSERT_EQ(recorded.size(), std::size(instruction_list));
  for (std::size_t i = 0; i < std::size(instruction_list); ++i) {
    const Instruction& instruction = instruction_list[i];
    const std::string name(instruction.name);
    SCOPED_TRACE(name);
    const UnitModel* const model = model_of(MatrixUnit::h100, instruction);
    ASSERT_NE(model, nullptr);
    EXPECT_EQ(model->evidence, Evidence::verified);
    Random random(seed_of(i));
    const RandomTiles tiles(instruction, recorded_tiles(instruction), random);
    Checksum checksum;
    for (std::size_t place = 0; place < tiles.d.size(); ++place)
      checksum.add(comparable(model->result, tiles.expected(*model, place)));
    EXPECT_EQ(checksum.value(), recorded.at(name));
  }
}

}  // namespace
}  // namespace narrowgauge::test::instruction_test
