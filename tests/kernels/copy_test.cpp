// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/convert/copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "base/threads/parallel.h"
#include "narrowgauge/error.h"

namespace narrowgauge::cpu::copy_test {
namespace {

using Axes = std::vector<CopyAxis>;

// A word that tells its place, in any number of bytes.
template <class Word>
Word word_at(std::size_t place) {
  return static_cast<Word>(place * 0x9E3779B97F4A7C15ULL >> 17);
}

struct Bounds {
  std::int64_t least = 0, most = 0;
  void add(std::int64_t size, std::int64_t stride) {
    if (size > 0) (stride < 0 ? least : most) += (size - 1) * stride;
  }
};

template <class Word>
void check(const Axes& axes) {
  Bounds source_bounds, target_bounds;
  std::int64_t count = 1;
  for (const CopyAxis& axis : axes) {
    source_bounds.add(axis.size, axis.source_stride);
    target_bounds.add(axis.size, axis.target_stride);
    count *= axis.size;
  }
  std::vector<Word> source(std::size_t(source_bounds.most - source_bounds.least + 1));
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = word_at<Word>(i + 1);
  std::vector<Word> target(std::size_t(target_bounds.most - target_bounds.least + 1), Word(77));
  std::vector<Word> expected = target;
  for (std::int64_t number = 0; number < count; ++number) {
    std::int64_t rest = number, from = -source_bounds.least, to = -target_bounds.least;
    for (const CopyAxis& axis : axes) {
      from += rest % axis.size * axis.source_stride;
      to += rest % axis.size * axis.target_stride;
      rest /= axis.size;
    }
    expected[std::size_t(to)] = source[std::size_t(from)];
  }
  StridedCopy(axes, sizeof(Word))
      .run(source.data() - source_bounds.least, target.data() - target_bounds.least);
  ASSERT_TRUE(target == expected);
}

void check_all(const Axes& axes) {
  check<std::uint8_t>(axes);
  check<std::uint16_t>(axes);
  check<std::uint32_t>(axes);
  check<std::uint64_t>(axes);
}

// Row-major target of the source's axes in another order.
Axes transposed(const std::vector<std::int64_t>& dims, const std::vector<std::size_t>& order) {
  std::vector<std::int64_t> strides(dims.size(), 1);
  for (std::size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
  Axes axes;
  std::int64_t stride = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    axes.insert(axes.begin(), {dims[order[i]], strides[order[i]], stride});
    stride *= dims[order[i]];
  }
  return axes;
}

TEST(strided_copy, transposes_every_order_of_axes) {
  for (const std::vector<std::int64_t>& dims : std::vector<std::vector<std::int64_t>>{
           {2, 3, 5, 7}, {3, 17, 1, 33}, {1, 64, 8, 8}, {2, 16, 9, 24}}) {
    std::vector<std::size_t> order{0, 1, 2, 3};
    do check_all(transposed(dims, order));
    while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST(strided_copy, changes_between_layouts_of_images) {
  for (const std::int64_t channels : {3, 16, 64})
    for (const std::int64_t pixels : {1, 49, 300, 1024}) {
      const std::int64_t image = channels * pixels;
      check_all({{2, image, image}, {channels, pixels, 1}, {pixels, 1, channels}});
      check_all({{2, image, image}, {channels, 1, pixels}, {pixels, channels, 1}});
      if (channels % 16 == 0) {  // to and from nChw16c
        const CopyAxis blocks{channels / 16, 16 * pixels, 16 * pixels};
        check_all({{2, image, image}, blocks, {pixels, 1, 16}, {16, pixels, 1}});
        check_all({{2, image, image}, blocks, {pixels, 16, 1}, {16, 1, pixels}});
      }
    }
}

TEST(strided_copy, weaves_colours_into_pixels) {
  for (const std::int64_t pixels : {1, 15, 16, 47, 5000})
    for (const std::int64_t colours : {2, 3, 4})
      check_all(
          {{2, colours * pixels, colours * pixels}, {colours, pixels, 1}, {pixels, 1, colours}});
}

TEST(strided_copy, copies_slices_forwards_and_backwards) {
  check_all({{5, 100, 20}, {20, 1, 1}});  // out of a wider array
  check_all({{5, 20, 100}, {20, 1, 1}});  // into a wider array
  check_all({{40, 1, 10}});               // one channel of NHWC
  check_all({{7, 60, 10}, {10, -3, 1}});  // a negative step
  check_all({{7, -20, 10}, {10, 1, 1}});
  check_all({{70000, 1, 1}});
  check_all({{3, 50000, 40000}, {40000, 1, 1}});
  check_all({{70000, 2, 3}});
}

TEST(strided_copy, repeats_where_the_source_stride_is_zero) {
  check_all({{30, 0, 700}, {700, 1, 1}});
  check_all({{30, 1, 700}, {700, 0, 1}});
  check_all({{3, 0, 40}, {4, 1, 10}, {10, 0, 1}});
  check_all({{100000, 0, 1}});
}

TEST(strided_copy, copies_nothing_and_scalars) {
  check_all({});
  check_all({{1, 5, 7}});
  const Axes none{{4, 1, 1}, {0, 4, 4}};
  StridedCopy(none, 4).run(nullptr, nullptr);
  EXPECT_THROW(StridedCopy(none, 3), UsageError);
}

TEST(strided_copy, covers_large_transposes_with_any_number_of_threads) {
  for (const int threads : {1, 2}) {
    const ThreadScope scope(threads);
    check<std::uint32_t>({{1000, 1, 1003}, {1003, 1000, 1}});
  }
}

}  // namespace
}  // namespace narrowgauge::cpu::copy_test
