// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/core/strided_copy.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/threads/parallel.h"
#include "kernels/array.h"

namespace narrowgauge::cpu::strided_copy_test {
namespace {

const Layout layouts[] = {Layout::row_major, Layout::channels_last, Layout::channel_slice,
                          Layout::channel_slice_row_major};

void expect_copied(const GuardedArray& from, GuardedArray& to) {
  copy_strided(from.view(), from.data(), to.view(), to.data());
  for (std::int64_t i = 0; i < from.size(); ++i) {
    double bytes = 0;
    store_element(to.view().dtype, &bytes, 0, from.at(i));
    ASSERT_EQ(to.at(i), load_element(to.view().dtype, &bytes, 0)) << i;
  }
  EXPECT_TRUE(to.guards_intact());
}

TEST(strided_copy, any_layout_and_format_goes_to_any_other) {
  for (const Dims& dims : {Dims{2, 3, 4, 5}, Dims{2, 70, 9, 13}, Dims{1, 1, 1, 1}, Dims{3, 16, 7},
                           Dims{2, 130, 1, 1}, Dims{1, 5, 33, 65}})
    for (const Layout from : layouts)
      for (const Layout to : layouts)
        for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f8e4m3fn})
          for (const DType result : {DType::f32, DType::f16, DType::bf16}) {
            GuardedArray a(dtype, dims, from), b(result, dims, to);
            a.randomize(1);
            SCOPED_TRACE(concat(dims, ' ', dtype, ' ', result, ' ', static_cast<int>(from), ' ',
                                static_cast<int>(to)));
            expect_copied(a, b);
          }
}

TEST(strided_copy, stride_zero_repeats_values) {
  GuardedArray row(DType::f32, {7});
  row.randomize(1);
  GuardedArray out(DType::f16, {5, 7, 3});
  copy_strided({DType::f32, {5, 7, 3}, {0, 1, 0}}, row.data(), out.view(), out.data());
  for (std::int64_t i = 0; i < out.size(); ++i)
    EXPECT_EQ(out.at(i), widen(narrow<f16>(row.at(i / 3 % 7))));
}

TEST(strided_copy, counts_what_becomes_zero_once_with_any_number_of_threads) {
  for (const int threads : {1, 3}) {
    const ThreadScope scope(threads);
    GuardedArray from(DType::f32, {64, 64, 30}, Layout::channels_last),
        to(DType::f16, {64, 64, 30});
    for (std::int64_t i = 0; i < from.size(); ++i)
      from.set(i, i % 3 == 0 ? 1e-30 : i % 3 == 1 ? 0 : 1);
    std::int64_t flushed = 7;
    copy_strided(from.view(), from.data(), to.view(), to.data(), &flushed);
    EXPECT_EQ(flushed, 7 + from.size() / 3);
  }
}

TEST(strided_copy, sum_of_parts_is_in_their_order_for_any_number_of_threads) {
  constexpr std::int64_t parts = 5, count = 40000;
  std::vector<float> in(parts * count);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = std::sin(static_cast<float>(i));
  for (const int threads : {1, 2}) {
    const ThreadScope scope(threads);
    std::vector<float> out(count), inside = in;
    sum_parts(in.data(), parts, count, out.data());
    sum_parts(inside.data(), parts, count, inside.data());
    for (std::size_t i = 0; i < count; ++i) {
      float sum = in[i];
      for (std::size_t part = 1; part < parts; ++part) sum += in[part * count + i];
      ASSERT_EQ(out[i], sum);
      ASSERT_EQ(inside[i], sum);
    }
  }
}

}  // namespace
}  // namespace narrowgauge::cpu::strided_copy_test
