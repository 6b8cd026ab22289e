// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/npz.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/random.h"
#include "io/arrays/zip.h"
#include "io/files.h"

namespace narrowgauge::npz_test {
namespace {

using namespace testing_files;
using namespace std::string_literals;

std::string little(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 255);
  return text;
}

// A .npy file around this dictionary, padded as numpy 2.4 does.
std::string npy(const std::string& dictionary, const std::string& data, int version = 1) {
  const int width = version == 1 ? 2 : 4;
  std::string text = dictionary;
  text.append(64 - (8 + static_cast<std::size_t>(width) + text.size() + 1) % 64, ' ');
  text += '\n';
  return "\x93NUMPY"s + static_cast<char>(version) + '\0' + little(text.size(), width) + text +
         data;
}

std::string dictionary(const std::string& descr, const std::string& shape,
                       const std::string& order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

Tensor of_values(DType dtype, Dims dims, const std::vector<double>& values) {
  Tensor tensor(dtype, std::move(dims));
  for (std::size_t i = 0; i < values.size(); ++i)
    tensor.set(static_cast<std::int64_t>(i), values[i]);
  return tensor;
}

Tensor read(const std::string& content, const NumpyReading& reading = {}) {
  const TemporaryFolder folder;
  write_file(folder / "x", content);
  return read_npy(folder / "x", reading);
}

// What is said about this content, without the path before it.
std::string error_of(const std::string& content, const std::function<void(std::string)>& read) {
  const TemporaryFolder folder;
  const std::string path = folder / "x";
  write_file(path, content);
  try {
    read(path);
  } catch (const DataError& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    EXPECT_EQ(text.substr(0, path.size() + 2), path + ": ");
    return text.substr(path.size() + 2);
  }
  return "no error";
}
std::string npy_error(const std::string& content) {
  return error_of(content, [](const std::string& path) { read_npy(path); });
}
std::string npz_error(const std::string& content) {
  return error_of(content, [](const std::string& path) { read_npz(path); });
}

// What numpy.save(numpy.array([[1.5, -2], [0.25, 3e38]], 'f4')) writes in numpy 2.4.
std::string file_of_numpy() {
  return "\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }"s +
         std::string(58, ' ') +
         "\n\x00\x00\xc0?\x00\x00\x00\xc0\x00\x00\x80>\xe6\xb1"
         "a\x7f"s;
}

TEST(npy, bytes_are_those_of_numpy) {
  const TemporaryFolder folder;
  const Tensor tensor = of_values(DType::f32, {2, 2}, {1.5, -2, 0.25, 3e38});
  write_npy(folder / "ours", tensor);
  EXPECT_EQ(read_file(folder / "ours"), file_of_numpy());
  EXPECT_TRUE(read(file_of_numpy()).same_bits(tensor));
}

TEST(npy, every_format_of_numpy_is_read) {
  const auto expect = [](const std::string& descr, const std::string& data, DType dtype,
                         double value) {
    const Tensor got = read(npy(dictionary(descr, "(1,)"), data));
    EXPECT_TRUE(got.same_bits(of_values(dtype, {1}, {value}))) << descr;
  };
  expect("<f8", "\x9a\x99\x99\x99\x99\x99\xb9?"s, DType::f64, 0.1);
  expect(">f8", "?\xb9\x99\x99\x99\x99\x99\x9a"s, DType::f64, 0.1);
  expect("<f4", "\x00\x00\x80?"s, DType::f32, 1);
  expect("=f4", "\x00\x00\x80?"s, DType::f32, 1);
  expect("<f2", "\x00\xbc"s, DType::f16, -1);
  expect(">f2", "\xbc\x00"s, DType::f16, -1);
  expect("<i8", little(0xFFFFFFFFFFFFFFF9, 8), DType::i64, -7);
  expect(">i4", "\x00\x00\x01\x02"s, DType::i32, 258);
  expect("<i2", "\xfd\xff"s, DType::i16, -3);
  expect("|i1", "\xfc"s, DType::i8, -4);
  expect("|u1", "\xff"s, DType::u8, 255);
  expect(">u2", "\xff\x01"s, DType::u16, 0xff01);
  expect("<u4", "\x01\x00\x00\xff"s, DType::u32, 0xff000001);
  expect("<u8", little(std::uint64_t{3} << 62, 8), DType::u64, 0x1.8p63);
  expect("|b1", "\x01"s, DType::boolean, 1);
  expect("<V2", "\x49\x40"s, DType::bf16, 3.140625);
  expect("bfloat16", "\x49\x40"s, DType::bf16, 3.140625);
  expect("<f1", "\x7b"s, DType::f8e5m2, 57344);
  expect("float8_e4m3fn", "\x7e"s, DType::f8e4m3fn, 448);
  expect("float8_e4m3fnuz", "\x7f"s, DType::f8e4m3fnuz, 240);
  expect("float8_e5m2fnuz", "\x7f"s, DType::f8e5m2fnuz, 57344);
}

TEST(npy, shapes_versions_and_orders_of_the_dictionary_are_read) {
  EXPECT_EQ(read(npy(dictionary("|u1", "()"), "a")).dims(), Dims{});
  EXPECT_EQ(read(npy(dictionary("|u1", "(0, 3)"), "")).dims(), (Dims{0, 3}));
  EXPECT_EQ(read(npy(dictionary("|u1", "(2L, 1L)"), "ab")).dims(), (Dims{2, 1}));
  for (const int version : {1, 2, 3})
    EXPECT_EQ(read(npy(dictionary("|u1", "(2,)"), "ab", version)).dims(), Dims{2});
  const std::string turned = "{\"shape\":(2,),'fortran_order':False,'descr':\"|u1\"}";
  EXPECT_EQ(read(npy(turned, "ab")).dims(), Dims{2});
}

TEST(npy, fortran_order_comes_out_row_major) {
  std::string data;
  for (char i = 0; i < 24; ++i) data += i;
  const Tensor got = read(npy(dictionary("|i1", "(2, 3, 4)", "True"), data));
  for (std::int64_t i = 0; i < 2; ++i)
    for (std::int64_t j = 0; j < 3; ++j)
      for (std::int64_t k = 0; k < 4; ++k)
        ASSERT_EQ(got.at((i * 3 + j) * 4 + k), static_cast<double>(i + 2 * j + 6 * k));
  const Tensor empty = read(npy(dictionary("<f2", "(2, 0, 3)", "True"), ""));
  EXPECT_EQ(empty.dims(), (Dims{2, 0, 3}));
  const std::string halves = npy(dictionary(">V1", "(3, 2)", "True"), "\1\2\3\4\5\6");
  EXPECT_TRUE(
      read(halves, {DType::u4}).same_bits(of_values(DType::u4, {3, 2}, {1, 4, 2, 5, 3, 6})));
}

// More than are in memory at once besides their tensor.
TEST(npy, many_numbers_in_fortran_order_come_out_row_major) {
  constexpr std::int64_t rows = 3, columns = 400'001;
  std::string data;
  for (std::int64_t i = 0; i < rows * columns; ++i)
    data += little(static_cast<std::uint64_t>(i), 4);
  const std::string shape = concat("(", rows, ", ", columns, ")");
  const Tensor got = read(npy(dictionary("<i4", shape, "True"), data));
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      ASSERT_EQ(got.at(i * columns + j), static_cast<double>(i + rows * j));
  data.pop_back();
  const std::string cut = npy(dictionary("<i4", shape, "True"), data + "x");
  EXPECT_EQ(npy_error(cut.substr(0, cut.size() - 1)).substr(0, 22), "expected 4800012 bytes");
}

TEST(npy, fortran_order_is_held_in_memory_once) {
  const TemporaryFolder folder;
  const std::string path = folder / "x.npy";
  write_file(path, npy(dictionary("<f8", "(4, 3000000)", "True"), ""));
  constexpr std::int64_t payload = 8 * 4 * 3'000'000;
  std::filesystem::resize_file(path, std::filesystem::file_size(path) + payload);  // of zeros
  const std::int64_t before = most_memory();
  EXPECT_EQ(read_npy(path).bytes(), payload);
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer needs several times the memory";
#endif
  EXPECT_LT((most_memory() - before) << 10, payload + (std::int64_t{64} << 20));
}

TEST(npy, one_byte_is_read_as_it_is_said) {
  const std::string file = npy(dictionary("<V1", "(3,)"), "\x38\x01\xff"s);
  EXPECT_EQ(npy_error(file), "\"<V1\" may be any format of one byte; say which, such as f8e4m3fn");
  EXPECT_EQ(read(file, {DType::f8e4m3fn}).at(0), 1);
  EXPECT_EQ(read(file, {DType::f8e5m2}).at(0), 0.5);
  const Tensor halves = read(file, {DType::i4});
  EXPECT_TRUE(halves.same_bits(of_values(DType::i4, {3}, {-8, 1, -1})));
  EXPECT_TRUE(read(file, {DType::i2}).same_bits(of_values(DType::i2, {3}, {0, 1, -1})));
  EXPECT_EQ(read(file, {DType::f8e5m2fnuz}).at(1), 0x1p-17);
  EXPECT_THROW(read(file, {DType::f32}), UsageError);
  EXPECT_THROW(read(file, {DType::b1}), UsageError);
}

TEST(npy, headers_that_are_not_one_are_refused) {
  const auto error = [](const std::string& text) { return npy_error(npy(text, "abcd")); };
  EXPECT_EQ(npy_error(""), "ends within its header");
  EXPECT_EQ(npy_error("PK\x03\x04 and more"), "does not begin as a .npy file does");
  EXPECT_EQ(npy_error("\x93NUMPY\x04\x00"s), "expected format 1.0, 2.0 or 3.0, found 4.0");
  EXPECT_EQ(npy_error("\x93NUMPY\x02\x00\xff\xff\xff\xff{}"s),
            "expected a header of at most 2 bytes, found 4294967295");
  EXPECT_EQ(error("[]"), "expected { in its header, found another byte");
  EXPECT_EQ(error("{}"), "expected descr, fortran_order and shape in its header, found fewer");
  EXPECT_EQ(error("{'a': 1}"), "its header has an unknown entry");
  EXPECT_EQ(error("{'descr': 'x', 'descr': 'x'}"), "its header has \"descr\" twice");
  EXPECT_EQ(error("{'descr': 3}"), "expected text in quotes in its header, found none");
  EXPECT_EQ(error("{'descr': '<f4"), "its header has a quote without an end");
  EXPECT_EQ(error("{'descr': '\xff'}"), "its header has text that is not plain");
  EXPECT_EQ(error("{'descr': [('a', '<f4')]}"),
            "holds records of several fields, expected one format");
  EXPECT_EQ(error("{'fortran_order': 1}"),
            "expected True or False as fortran_order, found another word");
  EXPECT_EQ(error("{'shape': (-1,)}"), "expected whole numbers from 0 up as shape, found others");
  EXPECT_EQ(error(dictionary("|u1", "(4,)") + "x"), "its header goes on after the dictionary");
  EXPECT_EQ(
      error(dictionary("<c8", "(1,)")),
      "expected elements of f2, f4, f8, i1, i2, i4, i8, u1, u2, u4, u8, b1 or V2 (bf16), found "
      "\"<c8\"");
  EXPECT_EQ(error(dictionary("|O", "(1,)")).substr(0, 17), "expected elements");
  EXPECT_EQ(error(dictionary("|b1", "(4,)")), "expected 0 or 1 as bool, found 97");
}

TEST(npy, sizes_are_checked_before_memory_is_taken) {
  const auto error = [](const std::string& shape) {
    return npy_error(npy(dictionary("<f4", shape), "abcd"));
  };
  EXPECT_EQ(error("(1,)"), "no error");
  EXPECT_EQ(error("(2,)"), "expected 8 bytes for f32[2], found at most 4");
  EXPECT_EQ(error("(1099511627776,)"),
            "expected 4398046511104 bytes for f32[1099511627776], found at most 4");
  EXPECT_EQ(error("(4294967296, 4294967296)"),
            "f32[4294967296,4294967296] is larger than any memory");
  EXPECT_EQ(error("(0, 4294967296, 4294967296)").substr(0, 5), "f32[0");
  EXPECT_EQ(error("(99999999999999999999,)"),
            "expected whole numbers from 0 up as shape, found others");
  std::string deep = "(";
  for (int i = 0; i < 65; ++i) deep += "1,";
  EXPECT_EQ(error(deep + ")"), "expected at most 64 dimensions");
  EXPECT_EQ(npy_error(npy(dictionary("|u1", "(3,)"), "abcd")), "goes on after its array");
}

std::vector<NamedTensor> some_arrays() {
  std::vector<NamedTensor> arrays;
  std::uint64_t counter = 0;
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32,
                            DType::i16, DType::i8, DType::u8}) {
    Tensor tensor(dtype, {5, 1, 7});
    for (std::int64_t i = 0; i < tensor.bytes(); ++i)
      tensor.data()[i] = static_cast<std::byte>(philox(1, 2, counter++ / 3)[0]);
    arrays.push_back({concat("of ", dtype), tensor});
  }
  arrays.push_back({"truth", of_values(DType::boolean, {2}, {1, 0})});
  arrays.push_back({"scalar", of_values(DType::f32, {}, {3})});
  arrays.push_back({"nothing", Tensor(DType::f32, {3, 0})});
  return arrays;
}

void expect_same(const std::vector<NamedTensor>& a, const std::vector<NamedTensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    EXPECT_TRUE(a[i].tensor.same_bits(b[i].tensor)) << a[i].name;
  }
}

TEST(npz, arrays_survive_stored_and_deflated) {
  const TemporaryFolder folder;
  for (const Compression way : {Compression::stored, Compression::deflated}) {
    write_npz(folder / "x", some_arrays(), way);
    expect_same(some_arrays(), read_npz(folder / "x"));
    EXPECT_TRUE(read_npz(folder / "x", "of bf16").same_bits(some_arrays()[3].tensor));
    EXPECT_EQ(npz_names(folder / "x").at(9), "truth");
  }
  write_npz(folder / "x", {});
  EXPECT_TRUE(read_npz(folder / "x").empty());
}

// numpy.savez(a=numpy.array([1, 2], 'u1')) of numpy 2.4: zip64 in the entry, not in the directory.
std::string archive_of_numpy(bool wide_directory = false) {
  const std::string array = npy(dictionary("|u1", "(2,)") + std::string(20, ' '), "\x01\x02");
  const std::string crc =
                        "b\x02"
                        "e_"s,
                    time = "\x00\x00\x21\x00"s;
  const std::string size = little(array.size(), 4);
  const std::string local = "PK\x03\x04-\x00\x00\x00\x00\x00"s + time + crc +
                            "\xff\xff\xff\xff\xff\xff\xff\xff\x05\x00\x14\x00"s + "a.npy" +
                            "\x01\x00\x10\x00"s + little(array.size(), 8) + little(array.size(), 8);
  const std::string sizes = wide_directory ? std::string(8, '\xff') : size + size;
  const std::string extra = wide_directory ? "\x01\x00\x18\x00"s + little(array.size(), 8) +
                                                 little(array.size(), 8) + little(0, 8)
                                           : "";
  const std::string record =
      "PK\x01\x02-\x03-\x00\x00\x00\x00\x00"s + time + crc + sizes + "\x05\x00"s +
      little(extra.size(), 2) + std::string(6, '\0') + "\x00\x00\x80\x01"s +
      (wide_directory ? std::string(4, '\xff') : little(0, 4)) + "a.npy" + extra;
  const std::size_t begin = local.size() + array.size();
  const std::string end64 = "PK\x06\x06"s + little(44, 8) + "-\x00-\x00"s + little(0, 8) +
                            little(1, 8) + little(1, 8) + little(record.size(), 8) +
                            little(begin, 8) + "PK\x06\x07"s + little(0, 4) +
                            little(begin + record.size(), 8) + little(1, 4);
  const std::string end =
      "PK\x05\x06\x00\x00\x00\x00"s +
      (wide_directory ? std::string(12, '\xff')
                      : "\x01\x00\x01\x00"s + little(record.size(), 4) + little(begin, 4)) +
      little(0, 2);
  return local + array + record + (wide_directory ? end64 : "") + end;
}

TEST(npz, a_file_of_numpy_is_read) {
  const TemporaryFolder folder;
  for (const bool wide : {false, true}) {
    write_file(folder / "theirs", archive_of_numpy(wide));
    expect_same({{"a", of_values(DType::u8, {2}, {1, 2})}}, read_npz(folder / "theirs"));
  }
}

TEST(npz, zip_archives_of_any_size_say_the_same) {
  const TemporaryFolder folder;
  const std::string content = "abcabcabcabcabcabc";
  const std::span<const std::byte> part = std::as_bytes(std::span(content));
  for (const ZipWriter::Limits limits : {ZipWriter::Limits{}, {0, 0}, {30, 2}}) {
    AtomicFile file(folder / "x");
    ZipWriter writer(file, limits);
    for (const char* name : {"a", "b", "c"})
      writer.add(name, std::span(&part, 1), name == std::string("b"));
    writer.finish();
    file.commit();
    const ZipReader reader(folder / "x");
    ASSERT_EQ(reader.entries().size(), 3u);
    for (const ZipEntry& entry : reader.entries()) {
      std::string got(content.size(), '\0');
      ZipReader::Stream stream(reader, entry);
      EXPECT_EQ(stream.read(std::as_writable_bytes(std::span(got))), got.size());
      EXPECT_NO_THROW(stream.finish());
      EXPECT_EQ(got, content);
    }
  }
}

TEST(npz, what_cannot_be_stored_is_a_usage_error) {
  const TemporaryFolder folder;
  const Tensor one(DType::u8, {1});
  EXPECT_THROW(write_npz(folder / "x", std::vector<NamedTensor>{{"a", one}, {"a", one}}),
               UsageError);
  EXPECT_THROW(write_npz(folder / "x", std::vector<NamedTensor>{{"", one}}), UsageError);
  EXPECT_THROW(write_npy(folder / "x", Tensor(DType::i4, {2})), UsageError);
  EXPECT_THROW(write_npy(folder / "x", Tensor(DType::u2, {4})), UsageError);
  EXPECT_FALSE(std::filesystem::exists(folder / "x"));
  EXPECT_THROW(write_npy(folder / "no/x", one), DataError);
}

TEST(npz, what_is_no_archive_of_arrays_is_refused) {
  EXPECT_EQ(npz_error(""), "is not a zip archive, or its end is missing");
  EXPECT_EQ(npz_error(file_of_numpy()), "is not a zip archive, or its end is missing");
  const auto changed = [](const std::string& was, const std::string& is) {
    std::string file = archive_of_numpy();
    for (std::size_t at = 0; (at = file.find(was, at)) != file.npos; at += is.size())
      file.replace(at, was.size(), is);
    return npz_error(file);
  };
  EXPECT_EQ(changed("a.npy", "a.txt"), "expected arrays (*.npy), found a.txt");
  EXPECT_EQ(changed("\x01\x02PK", "\x01\x03PK"),
            "entry a.npy: is damaged: its CRC-32 does not fit");
  EXPECT_EQ(changed("PK\x03\x04", "PK\x03\x05"), "entry a.npy: its header is damaged");
  EXPECT_EQ(changed("(2,)", "(3,)"), "a: expected 3 bytes for u8[3], found at most 2");
  EXPECT_EQ(
      changed("PK\x01\x02-\x03-\x00\x00\x00\x00\x00"s, "PK\x01\x02-\x03-\x00\x01\x00\x00\x00"s),
      "entry a.npy: is encrypted");
  EXPECT_EQ(
      changed("PK\x01\x02-\x03-\x00\x00\x00\x00\x00"s, "PK\x01\x02-\x03-\x00\x00\x00\x0c\x00"s),
      "entry a.npy: expected it stored or deflated, found method 12");
  EXPECT_EQ(error_of(archive_of_numpy(), [](const std::string& path) { read_npz(path, "b"); }),
            "has no array b");
}

// Whatever the damage, there is a DataError or a file that reads: the sanitizers watch.
void expect_harmless(const std::string& good, bool archive, int tries) {
  const TemporaryFolder folder;
  const std::string path = folder / "x";
  const auto refused = [&](const std::string& content) {
    write_file(path, content);
    try {
      if (archive)
        read_npz(path);
      else
        read_npy(path);
    } catch (const DataError&) {
      return true;
    }
    return false;
  };
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_TRUE(refused(good.substr(0, size))) << size;
  int count = 0;
  for (int i = 0; i < tries; ++i) {
    std::string bad = good;
    const RandomBlock dice = philox(5, 0, static_cast<std::uint64_t>(i));
    for (std::uint32_t k = 0; k <= dice[0] % 3; ++k) {
      const RandomBlock where = philox(5, k + 1, static_cast<std::uint64_t>(i));
      const std::string_view likely = "0123456789(),'{}<V\xff\x00\x01\x08";
      bad[where[0] % bad.size()] =
          where[2] % 2 ? likely[where[3] % likely.size()] : static_cast<char>(where[3]);
    }
    if (dice[1] % 8 == 1) bad.insert(dice[2] % bad.size(), dice[3] % 40, 'x');
    count += refused(bad);
  }
  EXPECT_GT(count, tries / 3);
}

TEST(npz, damage_is_never_more_than_a_data_error) {
  const TemporaryFolder folder;
  write_npz(folder / "packed", std::vector<NamedTensor>{some_arrays()[1], some_arrays()[8]},
            Compression::deflated);
  expect_harmless(file_of_numpy(), false, 1500);
  expect_harmless(archive_of_numpy(), true, 1500);
  expect_harmless(archive_of_numpy(true), true, 1500);
  expect_harmless(read_file(folder / "packed"), true, 1500);
}

// tests/npz_oracle.py names a folder with files of numpy's, and compares the copies that this
// makes.
TEST(npz, files_of_numpy_are_copied) {
  const char* const folder = std::getenv("NARROWGAUGE_NPZ_FOLDER");
  if (!folder) GTEST_SKIP() << "for tests/npz_oracle.py";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::filesystem::path& path = entry.path();
    const std::string copy = (std::filesystem::path(folder) / "copies" / path.filename()).string();
    const NumpyReading reading{DType::f8e4m3fn};
    if (path.extension() == ".npy") write_npy(copy, read_npy(path.string(), reading));
    if (path.extension() != ".npz") continue;
    const bool packed = path.stem().string().find("packed") != std::string::npos;
    write_npz(copy, read_npz(path.string(), reading),
              packed ? Compression::deflated : Compression::stored);
  }
}

}  // namespace
}  // namespace narrowgauge::npz_test
