// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "io/onnx/tensor.h"
#include "io/onnx/write.h"
#include "io/onnx_wire.h"

namespace narrowgauge::onnx::onnx_tensor_test {
namespace {

using namespace testing_support;

std::string head(DataType type, std::int64_t dim) {
  return field(1, dim) + field(2, static_cast<std::int64_t>(type)) + field(8, "w");
}
Tensor converted(const std::string& bytes) { return tensor_of(tensor_of_bytes(bytes)); }
std::string refusal(const std::string& bytes) {
  return error_of([&] { converted(bytes); });
}

TEST(onnx_tensor, elements_of_every_dtype_come_back_bit_for_bit) {
  for (int i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype == DType::b1) continue;
    SCOPED_TRACE(name(dtype));
    Tensor tensor(dtype, {3, 5});
    for (std::int64_t k = 0; k < tensor.size(); ++k)
      tensor.set(k, static_cast<double>(dtype == DType::boolean ? k % 2 : 1 + k % 7));
    const TensorData data = tensor_data_of(tensor, "w");
    EXPECT_EQ(data.raw_data->view().data(), reinterpret_cast<const char*>(tensor.data()));
    EXPECT_TRUE(converted(serialized(data)).same_bits(tensor));
  }
  EXPECT_THROW(tensor_data_of(Tensor(DType::b1, {8})), UsageError);
}

TEST(onnx_tensor, elements_as_numbers_are_those_of_their_list) {
  const std::string minus_one = varint(~std::uint64_t{0});
  EXPECT_EQ(converted(head(DataType::i8, 2) + field(5, minus_one + "\x07")).at(0), -1);
  EXPECT_EQ(converted(head(DataType::u8, 1) + field(5, varint(200))).at(0), 200);
  EXPECT_EQ(converted(head(DataType::f16, 1) + field(5, varint(0x3c00))).at(0), 1);
  EXPECT_EQ(converted(head(DataType::i64, 2) + field(7, "\x02" + minus_one)).at(1), -1);
  EXPECT_EQ(converted(head(DataType::f32, 1) + field(4, std::string("\0\0\x80\x3f", 4))).at(0), 1);
  EXPECT_EQ(
      converted(head(DataType::f64, 1) + field(10, std::string("\0\0\0\0\0\0\0\x40", 8))).at(0), 2);
  const Tensor nibbles = converted(head(DataType::u4, 3) + field(5, varint(0xa5) + "\x03"));
  EXPECT_EQ(nibbles.at(0), 5);
  EXPECT_EQ(nibbles.at(1), 10);
  EXPECT_EQ(nibbles.at(2), 3);
  const Tensor crumbs = converted(head(DataType::i2, 5) + field(5, varint(0xb4) + "\x01"));
  for (const auto& [place, expected] : {std::pair{0, 0}, {1, 1}, {2, -1}, {3, -2}, {4, 1}})
    EXPECT_EQ(crumbs.at(place), expected);
  EXPECT_EQ(converted(head(DataType::u16, 1) + field(5, varint(65535))).at(0), 65535);
  EXPECT_EQ(converted(head(DataType::f8e4m3fnuz, 1) + field(5, varint(0x7f))).at(0), 240);
  EXPECT_EQ(converted(head(DataType::u32, 1) + field(11, varint(0xffffffff))).at(0), 4294967295.0);
  const Tensor large = converted(head(DataType::u64, 2) + field(11, "\x07" + minus_one));
  EXPECT_EQ(large.values<std::uint64_t>()[0], 7U);
  EXPECT_EQ(large.values<std::uint64_t>()[1], ~std::uint64_t{0});
}

TEST(onnx_tensor, a_list_in_several_pieces_is_one) {
  const std::string one = std::string("\0\0\x80\x3f", 4), two = std::string("\0\0\0\x40", 4);
  const Tensor floats =
      converted(head(DataType::f32, 4) + key(4, 5) + one + field(4, two + one) + key(4, 5) + two);
  EXPECT_EQ(floats.at(0), 1);
  EXPECT_EQ(floats.at(1), 2);
  EXPECT_EQ(floats.at(3), 2);
  const Tensor integers = converted(head(DataType::i64, 3) + field(7, 5) + field(7, 300) +
                                    field(7, std::string("\x07")));
  EXPECT_EQ(integers.at(1), 300);
  EXPECT_EQ(integers.at(2), 7);
}

TEST(onnx_tensor, payloads_are_not_copied_when_they_are_read) {
  const auto bytes = SharedBytes::holding(head(DataType::u8, 3) + field(9, "abc"));
  const TensorData tensor = read_tensor(bytes, "t.pb");
  EXPECT_EQ(tensor.raw_data->view().data(), bytes.view().data() + bytes.size() - 3);
  const auto floats = SharedBytes::holding(head(DataType::f32, 1) + field(4, "abcd"));
  EXPECT_EQ(read_tensor(floats, "t.pb").float_data.wire.view().data(),
            floats.view().data() + floats.size() - 4);
}

TEST(onnx_tensor, lies_over_bytes_that_may_be_changed_and_are_aligned) {
  const auto owner = std::make_shared<Tensor>(DType::u8, Dims{256});
  const std::span<char> bytes(reinterpret_cast<char*>(owner->data()), 256);
  TensorData data;
  data.name = "w";
  data.data_type = DataType::f32;
  data.dims = {16};
  const auto over = [&](std::size_t offset) {
    const auto all = SharedBytes::changeable(owner, bytes);
    data.raw_data = all.part(all.view().substr(offset, 64));
    return tensor_of(data);
  };
  EXPECT_EQ(over(64).data(), owner->data() + 64);
  EXPECT_TRUE(over(68).owns_memory());
  data.raw_data = SharedBytes(owner, {bytes.data() + 64, 64});  // only to be read
  EXPECT_TRUE(tensor_of(data).owns_memory());
}

TEST(onnx_tensor, payloads_outlive_what_they_were_read_from) {
  TensorData tensor;
  {
    const auto bytes = SharedBytes::holding(head(DataType::u8, 3) + field(9, "abc"));
    tensor = read_tensor(bytes, "t.pb");
  }
  EXPECT_EQ(tensor_of(tensor).at(2), 'c');
}

TEST(onnx_tensor, an_empty_one_needs_no_bytes) {
  EXPECT_EQ(converted(head(DataType::u8, 0)).size(), 0);
  EXPECT_EQ(converted(head(DataType::u8, 0) + field(9, "")).size(), 0);
  EXPECT_EQ(converted(head(DataType::i64, 0) + field(7, "")).size(), 0);
}

TEST(onnx_tensor, types_without_a_counterpart_are_read_but_not_converted) {
  struct Case {
    DataType type;
    std::string name, payload;
  };
  const std::vector<Case> cases{
      {DataType::string, "string", field(6, "a") + field(6, "b")},
      {DataType::complex64, "complex64", field(4, std::string(16, 'c'))},
      {DataType::complex128, "complex128", field(9, std::string(32, 'c'))},
      {DataType::f6e2m3, "float6e2m3", field(9, "ab")},
      {DataType::f6e3m2, "float6e3m2", field(5, "ab")},
      {static_cast<DataType>(99), "data type 99", field(9, "abc")}};
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    const TensorData tensor = tensor_of_bytes(head(one.type, 2) + one.payload);
    EXPECT_EQ(tensor_of_bytes(serialized(tensor)), tensor);
    EXPECT_EQ(error_of([&] { tensor_of(tensor); }),
              "tensor 'w': " + one.name + " has no counterpart here");
  }
}

TEST(onnx_tensor, a_payload_that_does_not_fill_the_dims_is_refused) {
  const std::string u8 = head(DataType::u8, 2);
  EXPECT_EQ(refusal(u8 + field(9, "abc")),
            "t.pb: tensor 'w': expected 2 raw bytes for uint8[2], found 3");
  EXPECT_EQ(refusal(u8 + field(5, "abc")),
            "t.pb: tensor 'w': expected 2 numbers for uint8[2], found 3");
  EXPECT_EQ(refusal(u8), "t.pb: tensor 'w': expected 2 numbers for uint8[2], found 0");
  EXPECT_EQ(refusal(u8 + field(4, "abcdabcd")),
            "t.pb: tensor 'w': the elements of uint8[2] are in a field of another type");
  EXPECT_EQ(refusal(u8 + field(5, "ab") + field(9, "ab")),
            "t.pb: tensor 'w': expected elements in one field, found 2");
  EXPECT_EQ(refusal(head(DataType::string, 2) + field(9, "ab")),
            "t.pb: tensor 'w': expected 0 raw bytes for string[2], found 2");
  EXPECT_EQ(refusal(head(DataType::complex64, 1) + field(4, "abcd")),
            "t.pb: tensor 'w': expected 2 numbers for complex64[1], found 1");
  EXPECT_EQ(refusal(head(DataType::u8, std::int64_t{1} << 41) + field(9, "a")),
            "t.pb: tensor 'w': expected 2199023255552 raw bytes for uint8[2199023255552], found 1");
}

TEST(onnx_tensor, dims_that_no_tensor_has_are_refused) {
  const std::string large = field(1, std::int64_t{1} << 40);
  EXPECT_EQ(refusal(head(DataType::u8, -1)),
            "t.pb: tensor 'w': expected dimensions that are not negative, found [-1]");
  EXPECT_EQ(refusal(large + head(DataType::u8, std::int64_t{1} << 40)),
            "t.pb: tensor 'w': dimensions [1099511627776,1099511627776] are too large");
  EXPECT_NE(refusal(head(DataType::complex128, std::int64_t{1} << 60)), "");
}

TEST(onnx_tensor, numbers_that_do_not_fit_the_type_are_refused) {
  EXPECT_EQ(refusal(head(DataType::u8, 1) + field(5, varint(256))),
            "tensor 'w': the number 256 does not fit 8 bits");
  EXPECT_EQ(refusal(head(DataType::u32, 1) + field(11, varint(std::uint64_t{1} << 32))),
            "tensor 'w': the number 4294967296 does not fit 32 bits");
  EXPECT_EQ(refusal(head(DataType::boolean, 1) + field(5, "\x02")),
            "tensor 'w': expected 0 or 1 as bool, found 2");
  EXPECT_EQ(refusal(head(DataType::boolean, 1) + field(9, "\x02")),
            "tensor 'w': expected 0 or 1 as bool, found 2");
  EXPECT_EQ(refusal(head(DataType::i64, 1) + field(7, std::string(10, '\xff') + '\x01')),
            "tensor 'w': a number has more than ten bytes");
}

TEST(onnx_tensor, segments_are_refused) {
  EXPECT_EQ(refusal(head(DataType::u8, 1) + field(3, field(1, 0)) + field(9, "a")),
            "t.pb: tensor 'w': segments of tensors are not supported");
}

}  // namespace
}  // namespace narrowgauge::onnx::onnx_tensor_test
