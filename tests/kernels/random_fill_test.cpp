// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/random/random_fill.h"

#include <bit>
#include <limits>

#include "base/threads/parallel.h"
#include "kernels/cpu/random/random_normals.h"
#include "kernels/values_for_tests.h"

namespace narrowgauge::cpu::random_fill_test {
namespace {

TEST(random_fill, bits_are_those_of_the_stream) {
  const RandomStream stream(7, "layer", std::uint64_t{5} << 33 | 9);
  for (const std::uint64_t first :
       {std::uint64_t{0}, std::uint64_t{3}, (std::uint64_t{1} << 34) - 40, std::uint64_t{1} << 34})
    for (const std::int64_t count : {1, 7, 17, 1000}) {
      std::vector<std::uint32_t> bits(static_cast<std::size_t>(count));
      random_bits(stream, first, count, bits.data());
      for (std::size_t i = 0; i < bits.size(); ++i) ASSERT_EQ(bits[i], stream.bits(first + i));
    }
}

TEST(random_normals, are_those_of_the_stream) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const RandomStream stream(seed, "weight", 4);
    for (const std::int64_t count : {0, 1, 3, 4, 7, 8, 515, 1000003}) {
      std::vector<float> normals(static_cast<std::size_t>(count));
      random_normals(stream, 12, count, normals.data());
      for (std::size_t i = 0; i < normals.size(); ++i)
        ASSERT_EQ(std::bit_cast<std::uint32_t>(normals[i]),
                  std::bit_cast<std::uint32_t>(stream.normal(12 + i)))
            << i;
    }
  }
}

TEST(dropout, keeps_and_scales_what_the_stream_says) {
  for (const DType dtype : storage_dtypes)
    for (const std::int64_t count : {1, 7, 17, 1000, 100001})
      for (const float keep : {0.0F, 0.3F, 0.9F, 1.0F}) {
        const RandomStream stream(3, "dropout", 12);
        const Tensor x = random_tensor(dtype, count, 1);
        Tensor y(dtype, {count}), mask(DType::boolean, {count});
        dropout({count, view(x), view(y), keep, mask.values<bool>().data()}, stream);
        std::vector<double> expected;
        std::int64_t kept = 0;
        for (std::int64_t i = 0; i < count; ++i) {
          const bool is_kept = float(stream.short_bits(std::uint64_t(i))) < keep * 65536;
          kept += is_kept;
          ASSERT_EQ(mask.values<bool>()[std::size_t(i)], is_kept);
          expected.push_back(is_kept ? x.at(i) / double(keep) : 0);
        }
        expect_close(y, expected, 1e-6, 0);
        const double slack = 3 / std::sqrt(double(count));
        EXPECT_NEAR(double(kept) / double(count), double(keep), slack);
      }
}

TEST(dropout, drops_nan_and_works_in_place_with_any_number_of_threads) {
  const RandomStream stream(3, "dropout", 1);
  std::vector<Tensor> results;
  for (const int threads : {1, 2}) {
    const ThreadScope scope(threads);
    Tensor x = random_tensor(DType::f32, 50000, 1);
    for (std::int64_t i = 0; i < 50000; ++i)
      if (stream.short_bits(std::uint64_t(i)) >= 0x8000)
        x.set(i, std::numeric_limits<double>::quiet_NaN());
    dropout({50000, view(std::as_const(x)), view(x), 0.5F}, stream);
    results.push_back(x);
    for (std::int64_t i = 0; i < 50000; ++i) ASSERT_FALSE(std::isnan(x.at(i)));
  }
  EXPECT_TRUE(results[0].same_bits(results[1]));
}

}  // namespace
}  // namespace narrowgauge::cpu::random_fill_test
