// SPDX-License-Identifier: Apache-2.0
#include "api/model/engine_cache_file.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/files/atomic_file.h"
#include "base/hash/xxh64.h"
#include "base/text/json_reading.h"
#include "base/text/json_writing.h"
#include "base/threads/parallel.h"
#include "io/files/shared_bytes.h"

namespace narrowgauge {
namespace {

using Json = nlohmann::json;
using Bytes = std::span<const std::byte>;

constexpr std::uint64_t engine_cache_version = 1, alignment = 64;

struct CacheHead {
  std::array<char, 8> magic{'N', 'G', 'C', 'A', 'C', 'H', 'E', '\n'};
  std::uint64_t version = engine_cache_version;
  std::uint64_t text_bytes = 0, text_hash = 0;  // of the JSON
  std::uint64_t file_bytes = 0;
  std::array<std::uint64_t, 3> zeros{};
  bool operator==(const CacheHead&) const = default;
};
static_assert(sizeof(CacheHead) == alignment);

constexpr std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

std::string hex(std::uint64_t number) {
  std::array<char, 16> digits{};
  const char* const end =
      std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
  return {digits.data(), static_cast<std::size_t>(end - digits.data())};
}

Bytes cached_bytes(const SharedBytes& file) { return std::as_bytes(std::span(file.view())); }
Bytes cached_bytes(const PackedBlock& block) {
  return {block.bytes.get(), static_cast<std::size_t>(block.key.bytes)};
}

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path), file_(map_file(path)) {}

  EngineCacheContent read(const std::string& machine, const std::string& engine) {
    const std::string text = header_text();
    EngineCacheContent content;
    content.kernels = parse_kernel_records(text, path_, machine);
    try {
      const auto json = parse_json<Json>(text, path_);
      content.engine = json.at("engine").get<std::string>();
      require<DataError>(content.engine == engine, path_, ": was written for another network");
      for (const Json& entry : json.at("packed")) content.packed.push_back(block_of(entry));
      check_blocks();
    } catch (const Json::exception& error) {
      throw DataError(concat(path_, ": is damaged: ", error.what()));
    }
    return content;
  }

 private:
  void check(bool condition, std::string_view what) const {
    require<DataError>(condition, path_, ": is damaged: ", what);
  }

  // The JSON, of a file that is as long as it says.
  std::string header_text() {
    CacheHead head;
    const Bytes all = cached_bytes(file_);
    check(all.size() >= sizeof head, "it breaks off in its head");
    std::memcpy(&head, all.data(), sizeof head);
    check(head.magic == CacheHead{}.magic, "it is no cache of an engine");
    require<DataError>(head.version == engine_cache_version, path_, ": is of another version");
    check(head.zeros == CacheHead{}.zeros, "expected zeros in its head");
    require<DataError>(head.file_bytes == all.size(), path_, ": is damaged: expected ",
                       head.file_bytes, " bytes, found ", all.size());
    const Bytes rest = all.subspan(sizeof head);
    check(head.text_bytes <= rest.size() && head.text_bytes % alignment == 0,
          "its table is longer than the file");
    const Bytes text = rest.first(head.text_bytes);
    check(xxh64(text) == head.text_hash, "its table was changed");
    next_ = sizeof head + head.text_bytes;
    return {reinterpret_cast<const char*>(text.data()), text.size()};
  }

  PackedBlock block_of(const Json& entry) {
    const Bytes all = cached_bytes(file_);
    const auto bytes = whole_number<std::int64_t>(entry, "bytes", path_);
    const auto size = static_cast<std::uint64_t>(bytes);
    check(bytes > 0 && size <= all.size() - next_ && aligned(size) <= all.size() - next_,
          "a block is longer than the file");
    const std::byte* const begin = all.data() + next_;
    blocks_.push_back({all.subspan(next_, size), entry.at("hash").get<std::string>()});
    const Bytes behind = all.subspan(next_ + size, aligned(size) - size);
    check(std::ranges::count(behind, std::byte{}) == std::ssize(behind),
          "expected zeros behind a block");
    next_ += aligned(size);
    return {PackedKey{entry.at("name").get<std::string>(),
                      number_of(entry.at("sources").get<std::string>()), bytes},
            PackedBytes(std::make_shared<SharedBytes>(file_), begin)};
  }

  std::uint64_t number_of(const std::string& digits) const {
    std::uint64_t number = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, number, 16);
    check(error == std::errc() && stop == end, "expected a hash");
    return number;
  }

  void check_blocks() const {
    check(next_ == file_.size(), "bytes follow its last block");
    std::atomic<bool> whole = true;
    parallel_for(std::ssize(blocks_), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const auto& [bytes, hash] = blocks_[static_cast<std::size_t>(i)];
        if (hex(xxh64(bytes)) != hash) whole = false;
      }
    });
    check(whole, "packed weights were changed");
  }

  const std::string& path_;
  SharedBytes file_;
  std::uint64_t next_ = 0;                               // where the next block begins
  std::vector<std::pair<Bytes, std::string>> blocks_{};  // with their hashes
};

// The records of kernels with what else the file has to say, up to where blocks begin.
std::string engine_cache_text(const std::string& machine, const EngineCacheContent& content) {
  const auto quoted = [](const std::string& words) {
    return json_text<Json>(words, Json::error_handler_t::replace);
  };
  std::string text = kernel_records_text(content.kernels, machine);
  text.resize(text.rfind('}') - 1);  // goes on within its object
  text += concat(",\n \"engine\": ", quoted(content.engine), ",\n \"packed\": [");
  for (const char* comma = ""; const PackedBlock& block : content.packed) {
    text += concat(comma, "\n  {\"name\": ", quoted(block.key.name), ", \"sources\": \"",
                   hex(block.key.sources), "\", \"bytes\": ", block.key.bytes, ", \"hash\": \"",
                   hex(xxh64(cached_bytes(block))), "\"}");
    comma = ",";
  }
  text += "\n ]\n}\n";
  text.resize(aligned(text.size()), ' ');
  return text;
}

}  // namespace

std::string file_digest(const std::string& path) {
  const SharedBytes file = map_file(path);
  return concat(file.size(), '-', hex(xxh64(cached_bytes(file))));
}

EngineCacheContent read_engine_cache(const std::string& path, const std::string& machine,
                                     const std::string& engine) {
  return Reader(path).read(machine, engine);
}

void write_engine_cache(const std::string& path, const std::string& machine,
                        const EngineCacheContent& content) {
  const std::string text = engine_cache_text(machine, content);
  CacheHead head;
  head.text_bytes = text.size();
  head.text_hash = xxh64(std::as_bytes(std::span(text)));
  head.file_bytes = sizeof head + text.size();
  for (const PackedBlock& block : content.packed)
    head.file_bytes += aligned(cached_bytes(block).size());
  AtomicFile file(path);
  file.announce(head.file_bytes);
  file.write(std::as_bytes(std::span(&head, 1)));
  file.write(text);
  for (const PackedBlock& block : content.packed) {
    const Bytes bytes = cached_bytes(block);
    const std::array<std::byte, alignment> zeros{};
    file.write(bytes);
    file.write(Bytes(zeros).first(aligned(bytes.size()) - bytes.size()));
  }
  file.commit();
}

}  // namespace narrowgauge
