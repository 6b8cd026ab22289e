// SPDX-License-Identifier: Apache-2.0
// Results that nvcuda::wmma gave on an A100 and on an H100, 5,000 a format (Khattak and Mikaitis,
// MATLAB-tensor-core, BSD-2-Clause; the wmma_fp16_bf16_tf32_input.cu of their model_validation).
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "narrowgauge/wmma.hpp"
#include "support/archive.h"

namespace narrowgauge::test::measured_test {
namespace {

namespace fs = std::filesystem;
namespace wmma = narrowgauge::wmma;
using wmma::half;

using Rows = std::vector<std::vector<float>>;

// Lines of numbers as the bits of floats, in hexadecimal or in digits of base 2.
Rows read_rows(const fs::path& path, int base) {
  std::ifstream file(path);
  Rows rows;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    auto& row = rows.emplace_back();
    for (std::string word; words >> word;)
      row.push_back(
          std::bit_cast<float>(static_cast<std::uint32_t>(std::stoul(word, nullptr, base))));
  }
  return rows;
}

// How many results differ from those measured: of a row of a and a column of b, all else zero, the
// first result.
template <class T, class C, int K>
int mismatches(const fs::path& start, const std::string& format, const std::string& result) {
  const auto read = [&](const std::string& rest, int base) {
    return read_rows(start.string() + format + "." + rest + ".txt", base);
  };
  const Rows a = read("a." + format, 16), b = read("b." + format, 16), c = read("c.fp32", 2);
  const Rows d = read("d." + result, 2);
  EXPECT_EQ(d.size(), 5000U);
  wmma::fragment<wmma::matrix_a, 16, 16, K, T, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, K, T, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, 16, 16, K, C> sum;
  using Storage = std::remove_cvref_t<decltype(left.x[0])>;
  wmma::fill_fragment(left, Storage(0.0F));
  wmma::fill_fragment(right, Storage(0.0F));
  int wrong = 0;
  for (std::size_t i = 0; i < d.size(); ++i) {
    for (std::size_t k = 0; k < a[i].size(); ++k) {
      left.x[k] = Storage(a[i][k]);
      right.x[k] = Storage(b[i][k]);
    }
    wmma::fill_fragment(sum, C(c[i][0]));
    wmma::mma_sync(sum, left, right, sum);
    wrong += std::bit_cast<std::uint32_t>(static_cast<float>(sum.x[0])) !=
             std::bit_cast<std::uint32_t>(d[i][0]);
  }
  return wrong;
}

int all_mismatches(const fs::path& start) {
  return mismatches<half, float, 16>(start, "fp16", "fp32") +
         mismatches<half, half, 16>(start, "fp16", "fp16") +
         mismatches<wmma::bfloat16, float, 16>(start, "bf16", "fp32") +
         mismatches<wmma::precision::tf32, float, 8>(start, "tf32", "fp32");
}

TEST(wmma_measured, fragments_give_what_wmma_gave_on_an_a100_and_an_h100) {
  const fs::path archive = testing_support::data_folder() / "tensor_core_vectors.tar.xz";
  if (!fs::exists(archive)) GTEST_SKIP() << archive << " is not there";
  const testing_support::UnpackedArchive unpacked(archive);
  const fs::path folder = unpacked.folder() / "tensor_core_vectors";
  {
    const wmma::UnitScope scope(MatrixUnit::a100);
    EXPECT_EQ(all_mismatches(folder / "A100."), 0);
    EXPECT_GT(all_mismatches(folder / "H100."), 1000);
  }
  const wmma::UnitScope scope(MatrixUnit::h100);
  EXPECT_EQ(all_mismatches(folder / "H100."), 0);
}

}  // namespace
}  // namespace narrowgauge::test::measured_test
