// SPDX-License-Identifier: Apache-2.0
// Compares a GPU's matrix instructions with the models of matrix_unit.h, bit by bit, on random
// tiles.
//
//   instruction_bits [RESULTS]
//
// RESULTS (10^6) are compared for each instruction, at least 2^15. Printed are the checksums of the
// first 2^15 too, as tests/wmma/h100_instructions.txt has them. Exit code 0: all are equal, 1: some
// differ, 77: there is no GPU whose unit is known.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "instruction_tiles.h"

namespace narrowgauge::test {
namespace {

template <class Visit>
void on_all_cores(std::size_t count, const Visit& visit) {
  const std::size_t workers = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (std::size_t worker = 0; worker < workers; ++worker)
    threads.emplace_back([&, worker] {
      for (std::size_t i = worker; i < count; i += workers) visit(i);
    });
  for (std::thread& thread : threads) thread.join();
}

// Results that differ from the model's; the first few are printed.
std::int64_t differences(const RandomTiles& tiles, const UnitModel& model) {
  std::atomic<std::int64_t> differ = 0;
  on_all_cores(tiles.d.size(), [&](std::size_t i) {
    const std::uint64_t of_host = tiles.expected(model, i);
    if (comparable(model.result, of_host) == comparable(model.result, tiles.d[i])) return;
    if (++differ > 3) return;
    std::printf("  result %zu: GPU %08llx, model %08llx\n", i,
                static_cast<unsigned long long>(tiles.d[i]),
                static_cast<unsigned long long>(of_host));
  });
  return differ;
}

bool check(std::size_t index, MatrixUnit unit, std::int64_t results) {
  const Instruction& instruction = instruction_list[index];
  const UnitModel* model = model_of(unit, instruction);
  if (!model) return true;
  Random random(seed_of(index));
  std::int64_t differ = 0, compared = 0;
  Checksum checksum;
  while (compared < results) {
    RandomTiles tiles(instruction, compared == 0 ? recorded_tiles(instruction) : 4096, random);
    run_on_gpu(index, tiles.view());
    if (compared == 0)
      for (const std::uint64_t bits : tiles.d) checksum.add(comparable(model->result, bits));
    differ += differences(tiles, *model);
    compared += static_cast<std::int64_t>(tiles.d.size());
  }
  std::printf("%-32s %016llx %lld of %lld differ\n", std::string(instruction.name).c_str(),
              static_cast<unsigned long long>(checksum.value()), static_cast<long long>(differ),
              static_cast<long long>(compared));
  return differ == 0;
}

int run(const std::vector<std::string>& arguments) {
  const auto unit = gpu_capability() == 90 ? std::optional(MatrixUnit::h100) : std::nullopt;
  if (!unit) {
    std::puts("[SKIP] there is no GPU whose instructions these are");
    return 77;
  }
  const std::int64_t results = arguments.empty() ? 1'000'000 : std::stoll(arguments[0]);
  bool is_equal = true;
  for (std::size_t i = 0; i < std::size(instruction_list); ++i)
    is_equal = check(i, *unit, results) && is_equal;
  return is_equal ? 0 : 1;
}

}  // namespace
}  // namespace narrowgauge::test

int main(int count, char** arguments) {
  try {
    return narrowgauge::test::run(std::vector<std::string>(arguments + 1, arguments + count));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "instruction_bits: %s\n", error.what());
    return 2;
  }
}
