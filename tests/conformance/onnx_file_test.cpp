// SPDX-License-Identifier: Apache-2.0
#include "conformance/onnx_file.h"

#include <gtest/gtest.h>

namespace narrowgauge::testing {
namespace {

// Fields of a TensorProto: dims of one number, data_type u8, a name, and what the test is about.
std::string tensor_of(char dim, const std::string& rest) {
  return std::string{'\x08', dim} + "\x10\x02" + "\x42\x01w" + rest;
}

TEST(onnx_file, reads_raw_bytes) {
  const std::string text = tensor_of(1, "\x4a\x01\x07");
  EXPECT_EQ(parse_tensor(Message(text)).at(0), 7);
}

TEST(onnx_file, a_field_of_the_wrong_kind_is_not_the_bytes_before_it) {
  const std::string number = tensor_of(1, std::string("\x48\0", 2));
  EXPECT_THROW(parse_tensor(Message(number)), DataError);
}

TEST(onnx_file, an_empty_tensor_has_no_bytes) {
  const std::string text = tensor_of(0, std::string("\x4a\0", 2));
  EXPECT_EQ(parse_tensor(Message(text)).size(), 0);
}

TEST(onnx_file, a_size_that_nothing_fills_takes_no_memory) {
  const std::string dims("\x08\x80\x80\x80\x80\x80\x40", 7);  // 2^41
  const std::string typed = dims + "\x10\x02", raw = typed + "\x4a\x01\x07";
  EXPECT_THROW(parse_tensor(Message(typed)), DataError);
  EXPECT_THROW(parse_tensor(Message(raw)), DataError);
}

}  // namespace
}  // namespace narrowgauge::testing
