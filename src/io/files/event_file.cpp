// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/event_file.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <vector>

#include "base/files/append_file.h"
#include "base/files/output_path.h"
#include "narrowgauge/error.h"

namespace narrowgauge {
namespace {

static_assert(std::endian::native == std::endian::little, "the framing is little-endian");

// Numbers of the fields of event.proto and summary.proto.
enum EventField { wall_time = 1, step_number = 2, file_version = 3, summary = 5, session_log = 7 };
enum SummaryField { summary_value = 1 };
enum ValueField { tag_name = 1, simple_value = 2, histogram_value = 5 };
enum HistogramField { minimum = 1, maximum, count, sum, sum_squares, bucket_limit, bucket };
constexpr int session_status = 1, session_start = 1;

// CRC-32C (Castagnoli, RFC 3720), reflected, bit by bit into a table.
constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78u : 0);
    table[byte] = crc;
  }
  return table;
}

// The checksum as TFRecord stores it: rotated, so that a checksum of data with checksums stays
// useful.
std::uint32_t masked_crc(std::string_view bytes) {
  static constexpr auto table = crc_table();
  std::uint32_t crc = ~0u;
  for (const char byte : bytes)
    crc = crc >> 8 ^ table[(crc ^ static_cast<unsigned char>(byte)) & 0xFF];
  return std::rotr(~crc, 15) + 0xA282EAD8u;
}

template <class T>
void append_bytes(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string record_of(const std::string& event) {
  std::string length, record;
  append_bytes(length, static_cast<std::uint64_t>(event.size()));
  record = length;
  append_bytes(record, masked_crc(length));
  record += event;
  append_bytes(record, masked_crc(event));
  return record;
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 && name[0] ? name.data() : "localhost";
}

// events.out.tfevents.SECONDS.HOST.DIGITS: the newest has the highest number.
std::string new_path(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  require<DataError>(!error, folder, ": cannot be made a folder: ", error.message());
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  const std::string name =
      concat("events.out.tfevents.", seconds, '.', host_name(), '.', random_digits());
  return (std::filesystem::path(folder) / name).string();
}

constexpr double least = 1e-12, growth = 1.1;

// The upper limit of the bucket of a value: 0, or 1e-12 times a power of 1.1, with either sign.
double limit_for(double value) {
  if (std::abs(value) < least) return value < 0 ? 0 : least;
  const double power = std::log(std::abs(value) / least) / std::log(growth);
  if (value > 0) return least * std::pow(growth, std::floor(power) + 1);
  const double below = std::ceil(power) - 1;
  return below < 0 ? 0 : -least * std::pow(growth, below);
}

// The limit of the bucket below.
double limit_before(double limit) {
  if (limit == 0) return -least;
  if (limit < 0) return limit * growth;
  return limit > least * std::sqrt(growth) ? limit / growth : 0;
}

struct Spread {
  double low = INFINITY, high = -INFINITY, sum = 0, squares = 0;
  std::int64_t finite = 0, not_finite = 0;
  std::map<double, double> buckets;  // counts by upper limit
};

Spread spread_of(const Tensor& values) {
  Spread spread;
  for (std::int64_t i = 0; i < values.size(); ++i) {
    const double value = values.at(i);
    if (!std::isfinite(value)) {
      ++spread.not_finite;
      continue;
    }
    ++spread.finite;
    spread.low = std::min(spread.low, value);
    spread.high = std::max(spread.high, value);
    spread.sum += value;
    spread.squares += value * value;
    ++spread.buckets[limit_for(value)];
  }
  return spread;
}

// Readers take a bucket to begin where the one before it ends, so that gaps need empty buckets.
void add_buckets(protozero::pbf_writer& writer, const Spread& spread) {
  std::vector<double> limits, counts;
  for (const auto& [limit, here] : spread.buckets) {
    const double before = limit_before(limit);
    if (limits.empty() || limits.back() < before - 1e-9 * std::abs(before)) {
      limits.push_back(before);
      counts.push_back(0);
    }
    limits.push_back(limit);
    counts.push_back(here);
  }
  writer.add_packed_double(bucket_limit, limits.begin(), limits.end());
  writer.add_packed_double(bucket, counts.begin(), counts.end());
}

std::string histogram_of(const Spread& spread) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_double(minimum, spread.low);
  writer.add_double(maximum, spread.high);
  writer.add_double(count, static_cast<double>(spread.finite));
  writer.add_double(sum, spread.sum);
  writer.add_double(sum_squares, spread.squares);
  add_buckets(writer, spread);
  return bytes;
}

}  // namespace

struct EventFile::Implementation {
  AppendFile file;

  void write(std::int64_t step, int field, const std::string& content) {
    std::string event;
    protozero::pbf_writer writer(event);
    const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
    writer.add_double(wall_time, now.count());
    writer.add_int64(step_number, step);
    writer.add_string(static_cast<protozero::pbf_tag_type>(field), content);
    file.append(record_of(event));
  }

  // A value of a summary, by whatever adds it behind its tag.
  void write_value(std::string_view tag, std::int64_t step, const auto& add) {
    std::string value, all;
    protozero::pbf_writer writer(value);
    writer.add_string(tag_name, tag.data(), tag.size());
    add(writer);
    protozero::pbf_writer(all).add_message(summary_value, value);
    write(step, summary, all);
  }
};

EventFile::EventFile(const std::string& folder)
    : implementation_(
          std::unique_ptr<Implementation>(new Implementation{AppendFile(new_path(folder))})) {
  implementation_->write(0, file_version, "brain.Event:2");
}

EventFile::~EventFile() = default;
EventFile::EventFile(EventFile&&) noexcept = default;
EventFile& EventFile::operator=(EventFile&&) noexcept = default;

const std::string& EventFile::path() const { return implementation_->file.path(); }

void EventFile::scalar(std::string_view tag, std::int64_t step, double value) {
  implementation_->write_value(tag, step, [&](protozero::pbf_writer& writer) {
    writer.add_float(simple_value, static_cast<float>(value));
  });
}

void EventFile::histogram(std::string_view tag, std::int64_t step, const Tensor& values) {
  const Spread spread = spread_of(values);
  if (spread.not_finite > 0)
    scalar(concat(tag, "/not_finite"), step, static_cast<double>(spread.not_finite));
  if (spread.finite == 0) return;
  implementation_->write_value(tag, step, [&](protozero::pbf_writer& writer) {
    writer.add_message(histogram_value, histogram_of(spread));
  });
}

void EventFile::restart(std::int64_t step) {
  std::string content;
  protozero::pbf_writer(content).add_enum(session_status, session_start);
  implementation_->write(step, session_log, content);
}

}  // namespace narrowgauge
