// SPDX-License-Identifier: Apache-2.0
// The file beside an engine, with a head that fits what follows: hashes would refuse the rest.
#include <cstring>

#include "api/model/engine_cache_file.h"
#include "base/hash/xxh64.h"
#include "fuzz/fuzz.h"

using namespace narrowgauge;

namespace {

// Places of the head's numbers, as engine_cache_file.h has them.
constexpr std::size_t head_bytes = 64, text_bytes_at = 16, text_hash_at = 24, file_bytes_at = 32;

void put(std::string& file, std::size_t at, std::uint64_t number) {
  std::memcpy(file.data() + at, &number, sizeof number);
}

std::string with_true_head(std::string file) {
  if (file.size() < head_bytes) return file;
  std::uint64_t text_bytes = 0;
  std::memcpy(&text_bytes, file.data() + text_bytes_at, sizeof text_bytes);
  put(file, file_bytes_at, file.size());
  if (text_bytes > file.size() - head_bytes) return file;
  const std::string_view text = std::string_view(file).substr(head_bytes, text_bytes);
  put(file, text_hash_at, xxh64(std::as_bytes(std::span(text))));
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string path =
      fuzz::write("engine.cache", with_true_head(std::string(fuzz::text_of(data, size))));
  const std::string again = fuzz::folder() + "/again.cache";
  fuzz::take([&] {
    const EngineCacheContent content = read_engine_cache(path, "fuzz", "engine");
    write_engine_cache(again, "fuzz", content);
    fuzz::must(read_engine_cache(again, "fuzz", "engine").packed.size() == content.packed.size());
  });
  return 0;
}
