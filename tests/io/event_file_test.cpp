// SPDX-License-Identifier: Apache-2.0
// Event files, read back by a parser of its own: framing, checksums bit by bit, and protocol
// buffers.
#include "narrowgauge/event_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>

#include "io/files.h"
#include "narrowgauge/error.h"

namespace narrowgauge::event_file_test {
namespace {

using testing_files::read_file;
using testing_files::TemporaryFolder;

// The remainder of the bits by the polynomial of Castagnoli, one after another.
std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char byte : bytes)
    for (int bit = 0; bit < 8; ++bit) {
      const bool one = (crc ^ static_cast<unsigned char>(byte) >> bit) & 1;
      crc = one ? crc >> 1 ^ 0x82F63B78 : crc >> 1;
    }
  return ~crc;
}

template <class T>
T number_at(std::string_view bytes, std::size_t place) {
  T value;
  std::memcpy(&value, bytes.substr(place, sizeof value).data(), sizeof value);
  return value;
}

bool matches(std::uint32_t stored, std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return stored == (crc >> 15 | crc << 17) + 0xA282EAD8;
}

std::vector<std::string> records_of(const std::string& file) {
  std::vector<std::string> records;
  for (std::size_t at = 0; at < file.size();) {
    const auto length = number_at<std::uint64_t>(file, at);
    EXPECT_TRUE(matches(number_at<std::uint32_t>(file, at + 8), file.substr(at, 8)));
    records.push_back(file.substr(at + 12, length));
    EXPECT_TRUE(matches(number_at<std::uint32_t>(file, at + 12 + length), records.back()));
    at += 16 + length;
  }
  return records;
}

// The fields of a message: numbers as their bits, all else as bytes.
using Fields = std::multimap<int, std::string>;

std::uint64_t varint(std::string_view bytes, std::size_t& at) {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes[at++]);
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
}

Fields fields_of(const std::string& message) {
  Fields fields;
  for (std::size_t at = 0; at < message.size();) {
    const std::uint64_t key = varint(message, at);
    std::size_t length = key % 8 == 1 ? 8 : 4;
    if (key % 8 == 0) {
      const std::uint64_t value = varint(message, at);
      fields.emplace(key / 8, std::string(reinterpret_cast<const char*>(&value), 8));
      continue;
    }
    if (key % 8 == 2) length = varint(message, at);
    fields.emplace(key / 8, message.substr(at, length));
    at += length;
  }
  return fields;
}

std::string one(const Fields& fields, int number) {
  EXPECT_EQ(fields.count(number), 1u) << number;
  return fields.count(number) ? fields.find(number)->second : std::string(8, '\0');
}

std::vector<double> doubles(const std::string& bytes) {
  std::vector<double> values;
  for (std::size_t at = 0; at < bytes.size(); at += 8)
    values.push_back(number_at<double>(bytes, at));
  return values;
}

TEST(event_file, checksum_of_the_test_is_that_of_rfc_3720) {
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);
}

TEST(event_file, scalars_have_tag_step_and_value) {
  const TemporaryFolder folder;
  EventFile events(folder / "new/events");
  EXPECT_TRUE(
      std::filesystem::path(events.path()).filename().string().starts_with("events.out.tfevents."));
  events.scalar("train/loss", 300, 0.25);
  events.scalar("train/loss", 301, NAN);
  const auto records = records_of(read_file(events.path()));
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(one(fields_of(records[0]), 3), "brain.Event:2");
  const Fields event = fields_of(records[1]);
  EXPECT_GT(number_at<double>(one(event, 1), 0), 1.7e9);  // seconds since 1970
  EXPECT_EQ(number_at<std::int64_t>(one(event, 2), 0), 300);
  const Fields value = fields_of(one(fields_of(one(event, 5)), 1));
  EXPECT_EQ(one(value, 1), "train/loss");
  EXPECT_EQ(number_at<float>(one(value, 2), 0), 0.25f);
  const Fields second = fields_of(one(fields_of(one(fields_of(records[2]), 5)), 1));
  EXPECT_TRUE(std::isnan(number_at<float>(one(second, 2), 0)));
}

TEST(event_file, histograms_count_each_element_in_the_bucket_that_holds_it) {
  const TemporaryFolder folder;
  EventFile events(folder / "events");
  const std::vector<float> all{0, 0, 1, -1, 2.5f, -3e-7f, 1e-20f, 1e30f, 1.05f};
  events.histogram("weights/fc", 7, Tensor::from<float>({9}, all));
  const auto records = records_of(read_file(events.path()));
  ASSERT_EQ(records.size(), 2u);
  const Fields value = fields_of(one(fields_of(one(fields_of(records[1]), 5)), 1));
  const Fields histogram = fields_of(one(value, 5));
  EXPECT_EQ(doubles(one(histogram, 1)), std::vector<double>{-1});
  EXPECT_EQ(doubles(one(histogram, 2)), std::vector<double>{1e30f});
  EXPECT_EQ(doubles(one(histogram, 3)), std::vector<double>{9});
  const auto limits = doubles(one(histogram, 6)), counts = doubles(one(histogram, 7));
  ASSERT_EQ(limits.size(), counts.size());
  for (std::size_t b = 0; b < limits.size(); ++b) {
    const double low = b == 0 ? -INFINITY : limits[b - 1];
    EXPECT_LT(low, limits[b]);
    const auto inside = std::ranges::count_if(
        all, [&](float x) { return static_cast<double>(x) >= low && x < limits[b]; });
    EXPECT_EQ(counts[b], static_cast<double>(inside)) << low << " to " << limits[b];
  }
}

TEST(event_file, values_that_are_not_finite_are_counted_apart) {
  const TemporaryFolder folder;
  EventFile events(folder / "events");
  events.histogram("w", 1, Tensor::from<float>({3}, {1, NAN, INFINITY}));
  events.histogram("none", 1, Tensor::from<float>({1}, {NAN}));
  const auto records = records_of(read_file(events.path()));
  ASSERT_EQ(records.size(), 4u);
  const Fields count = fields_of(one(fields_of(one(fields_of(records[1]), 5)), 1));
  EXPECT_EQ(one(count, 1), "w/not_finite");
  EXPECT_EQ(number_at<float>(one(count, 2), 0), 2);
}

TEST(event_file, restart_is_a_start_of_the_session_at_its_step) {
  const TemporaryFolder folder;
  EventFile events(folder / "events");
  events.restart(21);
  const Fields event = fields_of(records_of(read_file(events.path())).at(1));
  EXPECT_EQ(number_at<std::int64_t>(one(event, 2), 0), 21);
  EXPECT_EQ(number_at<std::int64_t>(one(fields_of(one(event, 7)), 1), 0), 1);
}

TEST(event_file, a_folder_that_cannot_be_made_is_refused_by_name) {
  const TemporaryFolder folder;
  testing_files::write_file(folder / "file", "");
  try {
    EventFile events(folder / "file/events");
    ADD_FAILURE();
  } catch (const DataError& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with(folder / "file/events: cannot be"))
        << error.what();
  }
}

}  // namespace
}  // namespace narrowgauge::event_file_test
