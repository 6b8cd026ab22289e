// SPDX-License-Identifier: Apache-2.0
#include "io/readers/idx.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <random>

#include "io/files.h"
#include "narrowgauge/data.h"

namespace narrowgauge::idx_test {
namespace {

using namespace testing_files;

std::string big_endian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 255);
  return bytes;
}

std::string idx(const std::vector<std::uint32_t>& sizes, const std::string& payload) {
  std::string bytes = big_endian(0x800 + static_cast<std::uint32_t>(sizes.size()));
  for (const std::uint32_t size : sizes) bytes += big_endian(size);
  return bytes + payload;
}

std::string counting(std::size_t count, std::size_t modulus) {
  std::string bytes(count, '\0');
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(i % modulus);
  return bytes;
}

// Six training and four test images of 3x2, three classes.
void write_small_set(const TemporaryFolder& folder) {
  write_file(folder / "train-images-idx3-ubyte", idx({6, 3, 2}, counting(36, 256)));
  write_file(folder / "train-labels-idx1-ubyte", idx({6}, counting(6, 3)));
  write_file(folder / "t10k-images-idx3-ubyte.gz", gzip(idx({4, 3, 2}, counting(24, 256))));
  write_file(folder / "t10k-labels-idx1-ubyte.gz", gzip(idx({4}, counting(4, 3))));
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const DataError& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  ADD_FAILURE() << "no DataError";
  return {};
}

std::string error_of_file(const std::string& content, int rank) {
  const TemporaryFolder folder;
  const std::string path = folder / "x";
  write_file(path, content);
  const std::string error = error_of([&] { read_idx(path, rank); });
  EXPECT_EQ(error.substr(0, path.size() + 2), path + ": ");
  return error.substr(std::min(error.size(), path.size() + 2));
}

TEST(idx, plain_and_gzipped_files_are_read) {
  const TemporaryFolder folder;
  const std::string content = idx({2, 3, 5}, counting(30, 256));
  write_file(folder / "plain", content);
  write_file(folder / "packed", gzip(content));
  write_file(folder / "members", gzip(content.substr(0, 21)) + gzip(content.substr(21)));
  for (const char* name : {"plain", "packed", "members"}) {
    const Tensor tensor = read_idx(folder / name, 3);
    EXPECT_EQ(tensor.type(), TensorType::parse("u8[2,3,5]"));
    for (std::int64_t i = 0; i < 30; ++i) EXPECT_EQ(tensor.at(i), static_cast<double>(i));
  }
}

TEST(idx, damaged_files_are_refused_with_the_reason) {
  EXPECT_EQ(error_of_file("", 1), "expected a header of 8 bytes, found 0");
  EXPECT_EQ(error_of_file(idx({7}, "").substr(0, 6), 1), "expected a header of 8 bytes, found 6");
  EXPECT_EQ(error_of_file(idx({7}, counting(7, 9)), 3),
            "expected the idx magic 00 00 08 03 (bytes of rank 3), found 00 00 08 01");
  EXPECT_EQ(error_of_file("\x89PNG....", 1),
            "expected the idx magic 00 00 08 01 (bytes of rank 1), found 89 50 4e 47");
  EXPECT_EQ(error_of_file(idx({2, 2, 2}, counting(7, 9)), 3),
            "expected 8 bytes for 2x2x2, found 7");
  EXPECT_EQ(error_of_file(idx({2, 2, 2}, counting(9, 9)), 3),
            "expected 8 bytes for 2x2x2, found more");
}

TEST(idx, absurd_sizes_are_refused_before_memory_is_taken) {
  const std::string huge = idx({~0u, ~0u, ~0u}, counting(100, 9));
  EXPECT_EQ(error_of_file(huge, 3),
            "expected more bytes for 4294967295x4294967295x4294967295, found 100");
  const std::string large = idx({60000, 2800, 2800}, counting(100, 9));
  EXPECT_EQ(error_of_file(large, 3), "expected 470400000000 bytes for 60000x2800x2800, found 100");
  EXPECT_NE(error_of_file(gzip(large), 3).find("expected 470400000000 bytes for 60000x2800x2800"),
            std::string::npos);
  EXPECT_NE(error_of_file(gzip(huge), 3).find("for 4294967295x4294967295x4294967295"),
            std::string::npos);
}

TEST(idx, a_packed_file_takes_no_memory_for_what_it_does_not_hold) {
  std::mt19937 random(1);
  std::string noise(200'000, '\0');  // packs badly, so that the file could hold 200 MB
  for (char& byte : noise) byte = static_cast<char>(random());
  const std::int64_t before = most_memory();
  EXPECT_EQ(error_of_file(gzip(idx({200'000'000}, noise)), 1),
            "expected 200000000 bytes for 200000000, found 200000");
  EXPECT_LT(most_memory() - before, 64 << 10);
}

TEST(idx_folder, a_set_takes_what_its_headers_declare) {
  const TemporaryFolder folder;
  constexpr std::uint32_t parts = 40, count = parts * 1'000'000;
  const std::string part = gzip(std::string(count / parts, '\0'));
  std::string zeros;
  for (std::uint32_t i = 0; i < parts; ++i) zeros += part;
  write_file(folder / "train-images-idx3-ubyte.gz", gzip(idx({count, 1, 1}, "")) + zeros);
  write_file(folder / "train-labels-idx1-ubyte.gz", gzip(idx({count}, "")) + zeros);
  write_file(folder / "t10k-images-idx3-ubyte", idx({1, 1, 1}, "x"));
  write_file(folder / "t10k-labels-idx1-ubyte", idx({1}, std::string(1, 0)));
  const std::int64_t before = most_memory();
  const DataSplit split = read_idx_folder(folder.path());
  EXPECT_EQ(split.train.target().size(), count);
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer needs several times the memory";
#endif
  EXPECT_LT((most_memory() - before) << 10, 2 * std::int64_t{count} + (std::int64_t{64} << 20));
}

TEST(idx_folder, labels_are_counted_before_they_are_read) {
  const TemporaryFolder folder;
  write_small_set(folder);
  std::string noise(200'000, '\0');
  std::mt19937 random(2);
  for (char& byte : noise) byte = static_cast<char>(random());
  std::filesystem::remove(folder / "train-labels-idx1-ubyte");
  write_file(folder / "train-labels-idx1-ubyte.gz", gzip(idx({200'000'000}, noise)));
  EXPECT_NE(error_of([&] {
              read_idx_folder(folder.path());
            }).find("expected 6 labels, as many as there are images in"),
            std::string::npos);
}

TEST(idx, damaged_gzip_is_refused_with_the_reason) {
  const std::string content = idx({5000}, counting(5000, 251));
  const std::string packed = gzip(content);
  EXPECT_EQ(error_of_file(packed.substr(0, packed.size() / 2), 1),
            concat("the gzip data is truncated after ", packed.size() / 2, " bytes"));
  EXPECT_EQ(error_of_file(packed.substr(0, packed.size() - 3), 1),
            concat("the gzip data is truncated after ", packed.size() - 3, " bytes"));
  std::string wrong_sum = packed;
  wrong_sum[packed.size() - 6] = static_cast<char>(wrong_sum[packed.size() - 6] ^ 1);
  EXPECT_EQ(error_of_file(wrong_sum, 1), "the gzip data is corrupt (incorrect data check)");
  EXPECT_NE(error_of_file(packed + "garbage", 1).find("the gzip data is corrupt"),
            std::string::npos);
  EXPECT_EQ(error_of_file(gzip(content + "x"), 1), "expected 5000 bytes for 5000, found more");
  EXPECT_EQ(error_of_file(gzip(content.substr(0, 4000)), 1),
            "expected 5000 bytes for 5000, found 3992");
}

TEST(idx, any_flipped_byte_of_a_gzip_file_is_refused_or_harmless) {
  const TemporaryFolder folder;
  const std::string content = idx({100}, counting(100, 7));
  const std::string packed = gzip(content);
  const std::string path = folder / "x";
  for (std::size_t i = 0; i < packed.size(); ++i) {
    std::string damaged = packed;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
    write_file(path, damaged);
    try {
      EXPECT_EQ(read_idx(path, 1).size(), 100);  // the time and system bytes of gzip's header
      EXPECT_LT(i, 10u);
    } catch (const DataError&) {
    }
  }
}

TEST(idx_folder, a_set_is_read_whole) {
  const TemporaryFolder folder;
  write_small_set(folder);
  const DataSplit split = read_idx_folder(folder.path() + "/");
  EXPECT_EQ(split.train.input().type(), TensorType::parse("u8[6,1,3,2]"));
  EXPECT_EQ(split.test.input().type(), TensorType::parse("u8[4,1,3,2]"));
  EXPECT_EQ(split.test.target().at(2), 2);
  EXPECT_EQ(split.train.classes, 3);
  const std::string name = folder.path().substr(folder.path().rfind('/') + 1);
  EXPECT_EQ(split.train.name, name + "/train");
}

TEST(idx_folder, missing_parts_are_named) {
  const TemporaryFolder folder;
  const std::string missing = folder / "nowhere";
  EXPECT_EQ(error_of([&] { read_idx_folder(missing); }), missing + ": no such folder");
  EXPECT_EQ(error_of([&] { read_idx_folder(folder.path()); }),
            folder.path() +
                ": expected train-images-idx3-ubyte or train-images-idx3-ubyte.gz in "
                "this folder, found neither");
  write_file(missing, "a file");
  EXPECT_EQ(error_of([&] { read_idx_folder(missing); }),
            missing + ": expected a folder of idx files, found a file");
  std::filesystem::create_directory(folder / "train-images-idx3-ubyte");
  write_file(folder / "train-labels-idx1-ubyte", idx({6}, counting(6, 3)));
  EXPECT_EQ(error_of([&] { load_data(folder.path()); }),
            folder / "train-images-idx3-ubyte" + ": expected a file, found a folder");
}

TEST(idx_folder, parts_that_do_not_fit_are_refused) {
  const auto error_with = [](const std::string& name, const std::string& content) {
    const TemporaryFolder folder;
    write_small_set(folder);
    write_file(folder / name, content);
    const std::string error = error_of([&] { read_idx_folder(folder.path()); });
    EXPECT_EQ(error.substr(0, folder.path().size()), folder.path());
    return error.substr(folder.path().size() + 1);
  };
  EXPECT_NE(error_with("train-labels-idx1-ubyte", idx({5}, counting(5, 3)))
                .find("expected 6 labels, as many as there are images in"),
            std::string::npos);
  EXPECT_EQ(error_with("t10k-labels-idx1-ubyte", idx({4}, {0, 1, 3, 0})),
            "t10k-labels-idx1-ubyte: label 3 of sample 2 is out of range: the training set has 3 "
            "classes");
  EXPECT_EQ(error_with("train-labels-idx1-ubyte", idx({6}, {0, 1, 2, 0, '\xc8', 2})),
            "train-labels-idx1-ubyte: label 200 of sample 4 is out of range: only 3 of the 200 "
            "labels below it have samples");
  EXPECT_EQ(error_with("t10k-images-idx3-ubyte", idx({4, 2, 2}, counting(16, 256))),
            "t10k-images-idx3-ubyte: expected images of 3x2 as in the training set, found 2x2");
  EXPECT_EQ(error_with("t10k-images-idx3-ubyte", idx({0, 3, 2}, "")),
            "t10k-images-idx3-ubyte: expected at least one image, found 0x3x2");
}

TEST(idx_folder, fashion_mnist_is_read) {
  const char* source = std::getenv("NARROWGAUGE_SOURCE");
  const char* data = std::getenv("NARROWGAUGE_DATA");
  const std::string folder = (data     ? std::string(data)
                              : source ? std::string(source) + "/../shared/data"
                                       : std::string("../shared/data")) +
                             "/fashion_mnist";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is missing";
  const DataSplit split = load_data(folder);
  EXPECT_EQ(split.train.input().type(), TensorType::parse("u8[60000,1,28,28]"));
  EXPECT_EQ(split.test.input().type(), TensorType::parse("u8[10000,1,28,28]"));
  EXPECT_EQ(split.train.classes, 10);
  // The published statistics of the set: mean 0.2860, deviation 0.3530.
  const ChannelStatistics statistics = channel_statistics(split.train.input());
  EXPECT_NEAR(statistics.mean[0], 0.2860, 5e-5);
  EXPECT_NEAR(statistics.deviation[0], 0.3530, 5e-5);
}

}  // namespace
}  // namespace narrowgauge::idx_test
