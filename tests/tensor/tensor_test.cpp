// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/tensor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace narrowgauge::tensor_test {
namespace {

TEST(tensor, starts_with_zeros_in_aligned_memory) {
  for (int i = 0; i < dtype_count; ++i) {
    const Tensor tensor(static_cast<DType>(i), {3, 7});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data()) % 64, 0U);
    EXPECT_EQ(tensor.size(), 21);
    const double zero_bits = static_cast<DType>(i) == DType::f8e8m0 ? 0x1p-127 : 0;
    for (std::int64_t index = 0; index < 21; ++index) EXPECT_EQ(tensor.at(index), zero_bits);
  }
  EXPECT_EQ(Tensor(DType::i4, {3}).bytes(), 2);
}

// Sizes around that from which on memory comes as pages of its own, each taken twice: the second
// may get what the first, filled with ones, gave back.
TEST(tensor, starts_with_zeros_whatever_its_size) {
  constexpr std::int64_t large = std::int64_t{2} << 20;  // bytes
  for (const std::int64_t size : {large - 65, large - 1, large, large + 1, 2 * large + 4097})
    for (int time = 0; time < 2; ++time) {
      Tensor tensor(DType::u8, {size});
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data()) % (size < large ? 64 : large), 0U);
      const std::span<std::byte> bytes(tensor.data(), static_cast<std::size_t>(size));
      EXPECT_EQ(std::ranges::count(bytes, std::byte{0}), size);
      std::ranges::fill(bytes, std::byte{1});
    }
}

TEST(tensor, may_be_empty_or_scalar) {
  EXPECT_EQ(Tensor().size(), 0);
  EXPECT_EQ(Tensor().bytes(), 0);
  EXPECT_TRUE(Tensor().same_bits(Tensor(DType::f32, {0})));
  EXPECT_EQ(Tensor().clone().size(), 0);
  EXPECT_TRUE(Tensor().values<float>().empty());
  EXPECT_EQ(Tensor::scalar(DType::bf16, 1.5).at(0), 1.5);
  EXPECT_EQ(concat(Tensor::scalar(DType::bf16, 1.5).type()), "bf16[]");
}

TEST(tensor, holds_given_values) {
  const Tensor tensor = Tensor::from({2, 2}, std::vector<float>{1, 2, 3, 4});
  EXPECT_EQ(concat(tensor.type()), "f32[2,2]");
  EXPECT_EQ(tensor.values<float>()[3], 4);
  EXPECT_EQ(tensor.at(2), 3);
  EXPECT_THROW(Tensor::from({3}, std::vector<float>{1, 2}), UsageError);
  EXPECT_THROW(Tensor::from({-2, -1}, std::vector<float>{1, 2}), UsageError);
}

TEST(tensor, refuses_wrong_types_indices_and_sizes) {
  Tensor tensor(DType::f16, {4});
  EXPECT_THROW(tensor.values<float>(), UsageError);
  EXPECT_THROW(tensor.at(4), UsageError);
  EXPECT_THROW(tensor.at(-1), UsageError);
  EXPECT_THROW(tensor.set(4, 1), UsageError);
  EXPECT_THROW(tensor.reshaped({3}), UsageError);
  EXPECT_THROW(tensor.reshaped({-2, -2}), UsageError);
  EXPECT_THROW(Tensor(DType::f32, {-1}), UsageError);
  EXPECT_THROW(Tensor(DType::f32, {-1, 0}), UsageError);
  EXPECT_THROW(Tensor(DType::f64, {std::int64_t{1} << 60}), UsageError);
  EXPECT_THROW(Tensor(DType::u8, {std::int64_t{1} << 40, std::int64_t{1} << 40}), UsageError);
}

TEST(tensor, shares_memory_in_copies_and_reshaped_but_not_in_clones) {
  Tensor tensor = Tensor::full(DType::f32, {2, 3}, 1);
  const Tensor copy = tensor, reshaped = tensor.reshaped({3, 2}), clone = tensor.clone();
  tensor.set(5, 9);
  EXPECT_EQ(copy.at(5), 9);
  EXPECT_EQ(reshaped.at(5), 9);
  EXPECT_EQ(reshaped.dims(), (Dims{3, 2}));
  EXPECT_EQ(clone.at(5), 1);
}

TEST(tensor, lies_over_memory_of_others) {
  const std::size_t bytes = Tensor::alignment + 8;
  const Tensor keeper(DType::u8, {static_cast<std::int64_t>(bytes)});
  const auto owner = std::make_shared<Tensor>(keeper);
  const std::shared_ptr<std::byte[]> memory(owner, owner->data());
  Tensor two = Tensor::over(memory, DType::f32, {2});
  EXPECT_EQ(owner.use_count(), 3);
  EXPECT_FALSE(two.owns_memory());
  EXPECT_FALSE(two.reshaped({1, 2}).owns_memory());
  EXPECT_TRUE(two.clone().owns_memory());
  EXPECT_TRUE(keeper.owns_memory());
  two.set(1, 1);
  EXPECT_EQ(owner->at(7), 0x3f);
  EXPECT_THROW(Tensor::over(memory, DType::f32, {-1}), UsageError);
  two = Tensor();
  EXPECT_EQ(owner.use_count(), 2);
}

TEST(tensor, lies_over_memory_of_any_alignment) {
  const auto owner = std::make_shared<std::array<std::byte, 128>>();
  for (std::size_t place = 0; place < 64; ++place) {
    const std::shared_ptr<std::byte[]> memory(owner, owner->data() + place);
    const float numbers[]{1.5F, -2};
    std::memcpy(memory.get(), numbers, sizeof numbers);
    Tensor tensor = Tensor::over(memory, DType::f32, {2});
    EXPECT_EQ(tensor.values<float>()[1], -2) << place;
    EXPECT_EQ(tensor.at(0), 1.5) << place;
    const bool in_place = reinterpret_cast<std::uintptr_t>(memory.get()) % sizeof(float) == 0;
    EXPECT_EQ(tensor.owns_memory(), !in_place) << place;
    tensor.set(0, 7);
    std::memcpy(memory.get(), numbers, sizeof numbers);
    EXPECT_EQ(tensor.at(0), in_place ? 1.5 : 7) << place;
    EXPECT_FALSE(Tensor::over(memory, DType::u8, {3}).owns_memory()) << place;
  }
}

TEST(tensor, lies_over_no_memory_without_elements_alone) {
  EXPECT_EQ(Tensor::over(nullptr, DType::f32, {0, 3}).size(), 0);
  try {
    Tensor::over(nullptr, DType::f32, {2, 3});
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "tensor: expected memory for f32[2,3], got null");
  }
}

TEST(tensor, casts_to_nearest_even) {
  const Tensor tensor = Tensor::from({3}, std::vector<float>{1.0F + 0x1p-8F, 1e9F, -2.5F});
  const Tensor narrow = tensor.cast(DType::bf16);
  EXPECT_EQ(narrow.dtype(), DType::bf16);
  EXPECT_EQ(narrow.at(0), 1);
  EXPECT_EQ(tensor.cast(DType::i8).at(1), 127);
  EXPECT_EQ(tensor.cast(DType::i8).at(2), -2);
  EXPECT_TRUE(tensor.cast(DType::f32).same_bits(tensor));
}

TEST(tensor, compares_dtype_dims_and_every_bit) {
  const Tensor zero = Tensor::full(DType::f32, {2}, 0.0);
  EXPECT_TRUE(zero.same_bits(zero.clone()));
  EXPECT_FALSE(zero.same_bits(Tensor::full(DType::f32, {2}, -0.0)));
  EXPECT_FALSE(zero.same_bits(Tensor(DType::i32, {2})));
  EXPECT_FALSE(zero.same_bits(Tensor(DType::f32, {1, 2})));
  Tensor a(DType::b1, {11}), b(DType::b1, {11});
  b.data()[1] = std::byte{0xf8};  // only the padding of the last byte
  EXPECT_TRUE(a.same_bits(b));
  b.set(10, 1);
  EXPECT_FALSE(a.same_bits(b));
}

}  // namespace
}  // namespace narrowgauge::tensor_test
