// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/safetensors.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>

#include "base/random.h"
#include "io/files.h"

namespace narrowgauge::safetensors_test {
namespace {

using namespace testing_files;
using namespace std::string_literals;

std::string file_bytes(const std::string& header, const std::string& data) {
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(header.size() >> (8 * i) & 255);
  return length + header + data;
}

// What the package safetensors 0.8 wrote for the tensors of every_dtype().
std::string reference_file() {
  return file_bytes(
      R"({"__metadata__":{"format":"a \"quoted\" näme\n"},)"
      R"("n":{"dtype":"I64","shape":[],"data_offsets":[0,8]},)"
      R"("d":{"dtype":"F64","shape":[1],"data_offsets":[8,16]},)"
      R"("w":{"dtype":"F32","shape":[2,2],"data_offsets":[16,32]},)"
      R"("i":{"dtype":"I32","shape":[2],"data_offsets":[32,40]},)"
      R"("bf":{"dtype":"BF16","shape":[1],"data_offsets":[40,42]},)"
      R"("h":{"dtype":"F16","shape":[3],"data_offsets":[42,48]},)"
      R"("s":{"dtype":"I16","shape":[1],"data_offsets":[48,50]},)"
      R"("e4":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[50,52]},)"
      R"("e5":{"dtype":"F8_E5M2","shape":[1],"data_offsets":[52,53]},)"
      R"("c":{"dtype":"I8","shape":[1],"data_offsets":[53,54]},)"
      R"("empty":{"dtype":"U8","shape":[0,3],"data_offsets":[54,54]},)"
      R"("u":{"dtype":"U8","shape":[1],"data_offsets":[54,55]},)"
      R"("b":{"dtype":"BOOL","shape":[3],"data_offsets":[55,58]}}     )",
      "\xf9\xff\xff\xff\xff\xff\xff\xff\x9a\x99\x99\x99\x99\x99\xb9?\x00\x00\xc0?\x00\x00\x00\xc0"
      "\x00\x00\x80>\xe6\xb1\x61\x7f\xff\xff\xff\xff\x02\x00\x00\x00I@\x00<\x00\xb8\xff{\xfd\xff~"
      "\xb8{\xfc\xff\x01\x00\x01"s);
}

Tensor of_values(DType dtype, Dims dims, const std::vector<double>& values) {
  Tensor tensor(dtype, std::move(dims));
  for (std::size_t i = 0; i < values.size(); ++i)
    tensor.set(static_cast<std::int64_t>(i), values[i]);
  return tensor;
}

TensorFile every_dtype() {
  return {{{"b", of_values(DType::boolean, {3}, {1, 0, 1})},
           {"bf", of_values(DType::bf16, {1}, {3.140625})},
           {"c", of_values(DType::i8, {1}, {-4})},
           {"d", of_values(DType::f64, {1}, {0.1})},
           {"e4", of_values(DType::f8e4m3fn, {2}, {448, -1})},
           {"e5", of_values(DType::f8e5m2, {1}, {57344})},
           {"empty", Tensor(DType::u8, {0, 3})},
           {"h", of_values(DType::f16, {3}, {1, -0.5, 65504})},
           {"i", of_values(DType::i32, {2}, {-1, 2})},
           {"n", of_values(DType::i64, {}, {-7})},
           {"s", of_values(DType::i16, {1}, {-3})},
           {"u", of_values(DType::u8, {1}, {255})},
           {"w", of_values(DType::f32, {2, 2}, {1.5, -2, 0.25, 3e38})}},
          {{"format", "a \"quoted\" näme\n"}}};
}

void expect_same(const TensorFile& a, const TensorFile& b) {
  EXPECT_EQ(a.metadata, b.metadata);
  EXPECT_EQ(a.tensors.size(), b.tensors.size());
  for (const NamedTensor& tensor : a.tensors) {
    ASSERT_TRUE(b.find(tensor.name)) << tensor.name;
    EXPECT_TRUE(tensor.tensor.same_bits(*b.find(tensor.name))) << tensor.name;
  }
}

std::string error_of(const std::string& content) {
  const TemporaryFolder folder;
  const std::string path = folder / "x";
  write_file(path, content);
  try {
    read_safetensors(path);
  } catch (const DataError& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.find('\n'), std::string::npos);
    EXPECT_EQ(text.substr(0, path.size() + 2), path + ": ");
    return text.substr(path.size() + 2);
  }
  return "no error";
}

// A file with one u8 tensor, or what is given instead, and four bytes of data.
std::string error_with(const std::string& header) { return error_of(file_bytes(header, "abcd")); }

TEST(safetensors, bytes_are_those_of_the_reference) {
  const TemporaryFolder folder;
  write_safetensors(folder / "ours", every_dtype());
  EXPECT_EQ(read_file(folder / "ours"), reference_file());
}

TEST(safetensors, a_file_of_the_reference_is_read) {
  const TemporaryFolder folder;
  write_file(folder / "theirs", reference_file());
  const TensorFile content = read_safetensors(folder / "theirs");
  expect_same(every_dtype(), content);
  EXPECT_EQ(content.find("nothing"), nullptr);
}

// Written by safetensors 0.8 from torch's float4_e2m1fn_x2, of two bytes, and its 8-bit floats.
TEST(safetensors, bytes_of_floats_of_four_and_eight_bits_are_those_of_the_reference) {
  const std::string reference = "\xb8\x01\x00\x00\x00\x00\x00\x00"s +
                                R"({"h":{"dtype":"I16","shape":[1],"data_offsets":[0,2]},)"
                                R"("s":{"dtype":"F8_E8M0","shape":[3],"data_offsets":[2,5]},)"
                                R"("e":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[5,6]},)"
                                R"("g":{"dtype":"F8_E5M2","shape":[1],"data_offsets":[6,7]},)"
                                R"("i":{"dtype":"I8","shape":[1],"data_offsets":[7,8]},)"
                                R"("u":{"dtype":"U8","shape":[1],"data_offsets":[8,9]},)"
                                R"("a":{"dtype":"F4","shape":[4],"data_offsets":[9,11]},)"
                                R"("t":{"dtype":"BOOL","shape":[1],"data_offsets":[11,12]}}  )" +
                                "\x07\x00\x00\x7f\xff<>\t\t!\xf9\x01"s;
  const TemporaryFolder folder;
  write_safetensors(folder / "ours", {{{"a", of_values(DType::f4e2m1, {4}, {0.5, 1, -0.5, -6})},
                                       {"e", of_values(DType::f8e4m3fn, {1}, {1.5})},
                                       {"g", of_values(DType::f8e5m2, {1}, {1.5})},
                                       {"h", of_values(DType::i16, {1}, {7})},
                                       {"i", of_values(DType::i8, {1}, {9})},
                                       {"s", of_values(DType::f8e8m0, {3}, {0x1p-127, 1, NAN})},
                                       {"t", of_values(DType::boolean, {1}, {1})},
                                       {"u", of_values(DType::u8, {1}, {9})}},
                                      {}});
  EXPECT_EQ(read_file(folder / "ours"), reference);
  EXPECT_TRUE(read_safetensors(folder / "ours")
                  .find("a")
                  ->same_bits(of_values(DType::f4e2m1, {4}, {0.5, 1, -0.5, -6})));
  EXPECT_THROW(write_safetensors(folder / "x", {{{"a", Tensor(DType::f4e2m1, {3})}}, {}}),
               UsageError);
  EXPECT_NE(error_with(R"({"a":{"dtype":"F4","shape":[7],"data_offsets":[0,4]}})"), "no error");
}

// The tensors lie in the order of the reference, where unsigned integers stand beside signed ones
// of their width.
TEST(safetensors, unsigned_integers_have_their_names_and_places) {
  const TemporaryFolder folder;
  write_safetensors(folder / "x", {{{"a", of_values(DType::u16, {1}, {65535})},
                                    {"b", of_values(DType::i64, {1}, {1})},
                                    {"c", of_values(DType::u32, {1}, {2})},
                                    {"d", of_values(DType::u64, {1}, {3})},
                                    {"e", of_values(DType::i32, {1}, {4})},
                                    {"f", of_values(DType::i16, {1}, {5})},
                                    {"g", of_values(DType::f64, {1}, {6})},
                                    {"h", of_values(DType::f16, {1}, {7})}},
                                   {}});
  const std::string file = read_file(folder / "x");
  std::size_t place = 0;
  for (const char* name : {"U64", "I64", "F64", "U32", "I32", "F16", "U16", "I16"}) {
    const std::size_t found = file.find(concat("\"", name, "\""));
    EXPECT_TRUE(found != std::string::npos && found > place) << name;
    place = found;
  }
  EXPECT_EQ(read_safetensors(folder / "x").find("a")->at(0), 65535);
  for (const DType dtype : {DType::f8e4m3fnuz, DType::u2})
    EXPECT_THROW(write_safetensors(folder / "y", {{{"a", Tensor(dtype, {4})}}, {}}), UsageError);
}

TEST(safetensors, every_bit_pattern_survives) {
  const TemporaryFolder folder;
  TensorFile content;
  std::uint64_t counter = 0;
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::f8e4m3fn,
                            DType::f8e5m2, DType::f8e8m0, DType::f4e2m1, DType::i64, DType::i32,
                            DType::i16, DType::i8, DType::u64, DType::u32, DType::u16}) {
    Tensor tensor(dtype, {7, 1, 12});
    for (std::int64_t i = 0; i < tensor.bytes(); ++i)
      tensor.data()[i] = static_cast<std::byte>(philox(1, 2, counter++)[0]);
    content.tensors.push_back({concat("random ", dtype), tensor});
  }
  write_safetensors(folder / "x", content);
  expect_same(content, read_safetensors(folder / "x"));
}

TEST(safetensors, an_empty_file_of_tensors_is_one) {
  const TemporaryFolder folder;
  write_safetensors(folder / "x", {});
  EXPECT_TRUE(read_safetensors(folder / "x").tensors.empty());
  EXPECT_EQ(read_file(folder / "x"), file_bytes("{}      ", ""));
}

TEST(safetensors, what_cannot_be_stored_is_a_usage_error) {
  const TemporaryFolder folder;
  const Tensor one(DType::u8, {1});
  EXPECT_THROW(write_safetensors(folder / "x", {{{"a", one}, {"a", one}}, {}}), UsageError);
  EXPECT_THROW(write_safetensors(folder / "x", {{{"", one}}, {}}), UsageError);
  EXPECT_THROW(write_safetensors(folder / "x", {{{"__metadata__", one}}, {}}), UsageError);
  EXPECT_THROW(write_safetensors(folder / "x", {{{"a\xff", one}}, {}}), UsageError);
  EXPECT_THROW(write_safetensors(folder / "x", {{{"a", Tensor(DType::i4, {2})}}, {}}), UsageError);
  EXPECT_THROW(write_safetensors(folder / "x", {{{"a", one}}, {{"k", "\xff"}}}), UsageError);
  EXPECT_FALSE(std::filesystem::exists(folder / "x"));
  EXPECT_THROW(write_safetensors(folder / "no/x", {{{"a", one}}, {}}), DataError);
}

TEST(safetensors, lengths_are_checked_before_memory_is_taken) {
  EXPECT_EQ(error_of(""), "expected at least 8 bytes, found 0");
  EXPECT_EQ(error_of("\x01\x00\x00"s), "expected at least 8 bytes, found 3");
  EXPECT_EQ(error_of("\xff\xff\xff\xff\xff\xff\xff\xff{}"),
            "expected a header of at most 100000000 bytes, found 18446744073709551615");
  EXPECT_EQ(error_of("\x09\x00\x00\x00\x00\x00\x00\x00{}"s),
            "expected a header of 9 bytes, found 2");
  EXPECT_EQ(error_with(R"({"a":{"dtype":"U8","shape":[1099511627776],)"
                       R"("data_offsets":[0,1099511627776]}})"),
            "expected 1099511627776 bytes of data, found 4");
}

TEST(safetensors, headers_that_are_not_one_are_refused) {
  EXPECT_EQ(error_with(""), "expected a header that begins with {, found an empty one");
  EXPECT_EQ(error_with(" {}"), "expected a header that begins with {, found another byte");
  const std::string not_json = "expected a header of JSON, found an error (not JSON or not UTF-8)";
  EXPECT_EQ(error_with("{"), not_json);
  EXPECT_EQ(error_with("{} x"), not_json);
  EXPECT_EQ(error_with("{\"\xff\":1}"), not_json);
  EXPECT_EQ(error_with(R"({"a":1e999})"),
            "expected a header of JSON, found an error (a number too large)");
  EXPECT_EQ(error_with(R"({"a":)" + std::string(100000, '[')), "its header is nested too deeply");
  EXPECT_EQ(error_with(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"shape":[4]}})"),
            "its header has \"shape\" twice");
  const std::string entry = R"({"dtype":"U8","shape":[4],"data_offsets":[0,4]})";
  EXPECT_EQ(error_with(R"({"a":)" + entry + R"(,"a":)" + entry + "}"),
            "its header has \"a\" twice");
  EXPECT_EQ(error_with(R"({"__metadata__":{"k":1}})"),
            "expected text as __metadata__ k, found number");
  EXPECT_EQ(error_with(R"({"__metadata__":[]})"),
            "expected __metadata__ as text by name, found array");
}

TEST(safetensors, entries_that_do_not_fit_are_refused) {
  const auto error = [](const std::string& entry) {
    const std::string text = error_with(R"({"a":)" + entry + "}");
    return text.substr(0, 10) == "tensor a: " ? text.substr(10) : text;
  };
  EXPECT_EQ(error("3"), "expected dtype, shape and data_offsets, found number with 1");
  EXPECT_EQ(error(R"({"dtype":"U8","shape":[4]})"),
            "expected dtype, shape and data_offsets, found object with 2");
  EXPECT_EQ(error(R"({"dtype":"U8","shape":[4],"offsets":[0,4]})"),
            "expected a list as data_offsets, found none");
  EXPECT_EQ(error(R"({"dtype":"C64","shape":[1],"data_offsets":[0,8]})"),
            "expected a dtype that is supported, found C64");
  EXPECT_EQ(error(R"({"dtype":8,"shape":[4],"data_offsets":[0,4]})"),
            "expected a dtype, found none");
  EXPECT_EQ(error(R"({"dtype":"U8","shape":[-4],"data_offsets":[0,4]})"),
            "expected numbers from 0 up as shape, found -4");
  EXPECT_EQ(error(R"({"dtype":"U8","shape":[4.0],"data_offsets":[0,4]})"),
            "expected numbers from 0 up as shape, found 4.0");
  EXPECT_EQ(error(R"({"dtype":"U8","shape":4,"data_offsets":[0,4]})"),
            "expected a list as shape, found number");
  EXPECT_EQ(error(R"({"dtype":"U8","shape":[4],"data_offsets":[4,0]})"),
            "expected data_offsets [begin,end], found [4,0]");
  EXPECT_EQ(error(R"({"dtype":"U8","shape":[4],"data_offsets":[0,4,4]})"),
            "expected data_offsets [begin,end], found [0,4,4]");
  EXPECT_EQ(error(R"({"dtype":"F16","shape":[4],"data_offsets":[0,4]})"),
            "expected data_offsets that fit F16[4], found 4 bytes");
  EXPECT_EQ(error(R"({"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,4]})"),
            "expected data_offsets that fit U8[4294967296,4294967296], found 4 bytes");
  EXPECT_EQ(error(R"({"dtype":"BOOL","shape":[4],"data_offsets":[0,4]})"),
            "expected 0 or 1 as bool, found 97");
  EXPECT_EQ(error(R"({"dtype":"U8","shape":[1)" + std::string(200, ' ') + "]}").substr(0, 8),
            "expected");
}

TEST(safetensors, data_must_be_covered_without_gap_or_overlap) {
  const auto error = [](const std::string& a, const std::string& b) {
    const auto entry = [](const std::string& offsets) {
      return R"({"dtype":"U8","shape":[)"s + offsets[2] + R"(],"data_offsets":[)" + offsets[0] +
             "," + std::to_string(offsets[0] - '0' + offsets[2] - '0') + "]}";
    };
    return error_with(R"({"a":)" + entry(a) + R"(,"b":)" + entry(b) + "}");
  };
  EXPECT_EQ(error("0+2", "2+2"), "no error");
  EXPECT_EQ(error("2+2", "0+2"), "no error");
  EXPECT_EQ(error("0+4", "4+0"), "no error");
  EXPECT_EQ(error("0+4", "0+0"), "no error");
  EXPECT_EQ(error("0+2", "1+3"),
            "tensor b: expected data from byte 2 on, where the one before it ends, found 1");
  EXPECT_EQ(error("0+2", "0+2"),
            "tensor b: expected data from byte 2 on, where the one before it ends, found 0");
  EXPECT_EQ(error("0+1", "2+2"),
            "tensor b: expected data from byte 1 on, where the one before it ends, found 2");
  EXPECT_EQ(error("1+1", "2+2"),
            "tensor a: expected data from byte 0 on, where the one before it ends, found 1");
  EXPECT_EQ(error("0+1", "1+2"), "expected 3 bytes of data, found 4");
  EXPECT_EQ(error("0+1", "1+4"), "expected 5 bytes of data, found 4");
}

// Whatever the damage, there is a DataError or a file that reads: the sanitizers watch.
TEST(safetensors, damage_is_never_more_than_a_data_error) {
  const TemporaryFolder folder;
  const std::string path = folder / "x";
  const std::string good = reference_file();
  int refused = 0;
  for (std::uint64_t i = 0; i < 4000; ++i) {
    std::string bad = good;
    const RandomBlock dice = philox(5, 0, i);
    for (std::uint32_t k = 0; k <= dice[0] % 3; ++k) {
      const RandomBlock where = philox(5, k + 1, i);
      // Most of the damage goes into the header, half of it a digit or a sign of JSON.
      const std::size_t place = where[0] % (where[1] % 4 ? 870 : bad.size());
      const std::string_view likely = "0123456789[]{},:\"";
      bad[std::min(place, bad.size() - 1)] =
          where[2] % 2 ? likely[where[3] % likely.size()] : static_cast<char>(where[3]);
    }
    if (dice[1] % 8 == 0) bad.resize(dice[2] % bad.size());
    if (dice[1] % 8 == 1) bad.insert(dice[2] % bad.size(), dice[3] % 40, 'x');
    write_file(path, bad);
    try {
      read_safetensors(path);
    } catch (const DataError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 3000);
  for (std::size_t size = 0; size < good.size(); ++size) {
    write_file(path, good.substr(0, size));
    EXPECT_THROW(read_safetensors(path), DataError) << size;
  }
}

}  // namespace
}  // namespace narrowgauge::safetensors_test
