// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "narrowgauge/tensor.h"

namespace narrowgauge::tensor_type_test {
namespace {

TEST(tensor_type, prints_what_it_parses) {
  for (const char* text : {"f32[N,3,32,32]", "bf16[]", "f8e4m3fn[0]", "i4[N*4,(T+1)/2+1]",
                           "bool[1]", "f64[N/2,N-1]", "b1[9223372036854775807]"})
    EXPECT_EQ(concat(TensorType::parse(text)), text);
  for (int i = 0; i < dtype_count; ++i) {
    const TensorType type{static_cast<DType>(i), {Dim::symbol("N"), 3}};
    EXPECT_EQ(TensorType::parse(concat(type)), type);
  }
  EXPECT_EQ(concat(TensorType::parse(" f32 [ 2 , N ] ")), "f32[2,N]");
}

TEST(tensor_type, refuses_text_that_is_no_type) {
  for (const char* text :
       {"", "f32", "[2]", "float[2]", "F32[2]", "f32[2", "f32 2]", "f32[2]]", "f32[,]", "f32[2,]",
        "f32[,2]", "f32[-1]", "f32[2]x", "f32[2][3]", "tf32[1]", "f32[N N]", "f32[1.5]"})
    EXPECT_THROW(TensorType::parse(text), UsageError) << text;
}

TEST(tensor_type, quotes_the_text_and_the_place_in_its_errors) {
  try {
    TensorType::parse("f33[2]");
    FAIL();
  } catch (const UsageError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("tensor type"), std::string::npos) << message;
    EXPECT_NE(message.find("\"f33[2]\""), std::string::npos) << message;
  }
}

TEST(shape, binds_and_counts) {
  const Shape shape = TensorType::parse("f32[N,3,T*2]").shape;
  EXPECT_FALSE(is_known(shape));
  EXPECT_THROW(known_dims(shape), UsageError);
  EXPECT_EQ(element_count(shape).text(), "N*T*6");
  const Shape bound = bind(shape, {{"N", 2}, {"T", 5}});
  EXPECT_TRUE(is_known(bound));
  EXPECT_EQ(known_dims(bound), (Dims{2, 3, 10}));
  EXPECT_EQ(element_count(bound), 60);
  EXPECT_EQ(element_count(Shape{}), 1);
}

TEST(dims, count_elements_and_refuse_to_overflow) {
  const std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_EQ(element_count(Dims{2, 3, 4}), 24);
  EXPECT_EQ(element_count(Dims{}), 1);
  EXPECT_EQ(element_count(Dims{huge, huge, 0}), 0);
  EXPECT_EQ(element_count(Dims{0, huge, huge}), 0);
  EXPECT_THROW(element_count(Dims{huge, huge}), UsageError);
}

TEST(dims, have_row_major_strides) {
  EXPECT_EQ(dense_strides(Dims{2, 3, 4}), (Dims{12, 4, 1}));
  EXPECT_EQ(dense_strides(Dims{}), Dims{});
  EXPECT_EQ(dense_strides(Dims{5, 0, 4}), (Dims{4, 4, 1}));
  const std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_EQ(dense_strides(Dims{0, huge, huge, 2}).back(), 1);  // no overflow, as UBSan sees it
}

}  // namespace
}  // namespace narrowgauge::tensor_type_test
