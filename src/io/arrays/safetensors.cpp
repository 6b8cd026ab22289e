// SPDX-License-Identifier: Apache-2.0
// Layout: header length (u64, little-endian), the header as JSON, then the tensors' bytes.
#include "narrowgauge/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <set>

#include "base/files/memory.h"
#include "io/arrays/foreign_weights.h"
#include "io/arrays/safetensors_header.h"
#include "io/arrays/safetensors_stream.h"
#include "io/arrays/tensor_bytes.h"

namespace narrowgauge {

static_assert(std::endian::native == std::endian::little);

namespace {

constexpr std::int64_t length_bytes = 8;

SafetensorsHeader read_header(InputFile& file) {
  const std::int64_t size = file.largest_size();
  std::array<std::byte, length_bytes> raw{};
  const std::size_t got = file.read(raw);
  const auto refuse_foreign = [&] {
    const std::string other = foreign_weights_text(file.path(), std::span(raw).first(got));
    require<DataError>(other.empty(), file.path(), ": ", other);
  };
  const auto length = std::bit_cast<std::uint64_t>(raw);
  // In a file of another format, a possible length may be followed by anything.
  if (got < raw.size() || length > largest_safetensors_header) refuse_foreign();
  require<DataError>(got == raw.size(), file.path(), ": expected at least ", length_bytes,
                     " bytes, found ", got);
  require<DataError>(length <= largest_safetensors_header, file.path(),
                     ": expected a header of at most ", largest_safetensors_header,
                     " bytes, found ", length);
  const std::int64_t data_bytes = size - length_bytes - static_cast<std::int64_t>(length);
  require<DataError>(data_bytes >= 0, file.path(), ": expected a header of ", length,
                     " bytes, found ", size - length_bytes);
  std::string json(length, '\0');
  const std::size_t header_got = file.read(std::as_writable_bytes(std::span(json)));
  require<DataError>(header_got == length, file.path(), ": expected a header of ", length,
                     " bytes, found ", header_got);
  if (!json.starts_with('{')) refuse_foreign();
  return parse_safetensors_header(file.path(), json, data_bytes);
}

Tensor read_tensor(InputFile& file, const SafetensorsEntry& entry) {
  Tensor tensor(entry.dtype, entry.dims);
  const std::span<std::byte> bytes = bytes_of(tensor);
  const std::size_t got = file.read(bytes);
  require<DataError>(got == bytes.size(), file.path(), ": tensor ", entry.name, ": expected ",
                     bytes.size(), " bytes, found ", got);
  if (entry.dtype == DType::boolean)  // any other byte read as bool is undefined behaviour
    for (const std::byte b : bytes)
      require<DataError>(b <= std::byte{1}, file.path(), ": tensor ", entry.name,
                         ": expected 0 or 1 as bool, found ", std::to_integer<int>(b));
  return tensor;
}

// Orders by dtype and name, as the reference does.
std::vector<const NamedTensor*> in_file_order(const std::vector<NamedTensor>& tensors) {
  std::vector<const NamedTensor*> order;
  std::set<std::string_view> names;
  for (const NamedTensor& tensor : tensors) {
    require(!tensor.name.empty() && tensor.name != safetensors_metadata_key, "safetensors: \"",
            tensor.name, "\" cannot be a tensor's name");
    require(names.insert(tensor.name).second, "safetensors: expected different names, got ",
            tensor.name, " twice");
    order.push_back(&tensor);
  }
  std::ranges::sort(order, {}, [](const NamedTensor* tensor) {
    return std::pair(safetensors_place(tensor->tensor.dtype()), std::string_view(tensor->name));
  });
  return order;
}

}  // namespace

const Tensor* TensorFile::find(std::string_view name) const {
  const auto found = std::ranges::find(tensors, name, &NamedTensor::name);
  return found == tensors.end() ? nullptr : &found->tensor;
}

TensorFile read_safetensors(InputFile& file) {
  SafetensorsHeader header = read_header(file);
  TensorFile content;
  content.metadata = std::move(header.metadata);
  MemoryNeed need{file.path(), {}};
  for (const SafetensorsEntry& entry : header.entries)
    need.parts.emplace_back("", entry.end - entry.begin);
  require_memory(need);
  for (const SafetensorsEntry& entry : header.entries)
    content.tensors.push_back({entry.name, read_tensor(file, entry)});
  return content;
}

TensorFile read_safetensors(const std::string& path) { return read_safetensors(*open_file(path)); }

TensorFile read_safetensors(std::span<const std::byte> bytes, const std::string& name) {
  return read_safetensors(*open_memory(bytes, name));
}

namespace {

// Gives the parts of the file to `write`, one after another, after `announce` was told how many
// bytes they are.
void write_parts(const TensorFile& content, const auto& announce, const auto& write) {
  const std::vector<const NamedTensor*> order = in_file_order(content.tensors);
  SafetensorsHeader header{.entries = {}, .metadata = content.metadata};
  std::int64_t end = 0;
  for (const NamedTensor* tensor : order) {
    const std::int64_t begin = end;
    end += tensor->tensor.bytes();
    header.entries.push_back(
        {tensor->name, tensor->tensor.dtype(), tensor->tensor.dims(), begin, end});
  }
  const std::string json = format_safetensors_header(header);
  require(static_cast<std::int64_t>(json.size()) <= largest_safetensors_header,
          "safetensors: the header would be ", json.size(), " bytes, more than ",
          largest_safetensors_header);
  announce(static_cast<std::uint64_t>(length_bytes + end) + json.size());
  const auto length =
      std::bit_cast<std::array<std::byte, length_bytes>>(std::uint64_t{json.size()});
  write(std::as_bytes(std::span(length)));
  write(std::as_bytes(std::span(json)));
  for (const NamedTensor* tensor : order) write(bytes_of(tensor->tensor));
}

}  // namespace

void write_safetensors(AtomicFile& file, const TensorFile& content) {
  write_parts(
      content, [&](std::uint64_t bytes) { file.announce(bytes); },
      [&](std::span<const std::byte> part) { file.write(part); });
  file.commit();
}

void write_safetensors(const std::string& path, const TensorFile& content) {
  AtomicFile file(path);
  write_safetensors(file, content);
}

std::vector<std::byte> safetensors_bytes(const TensorFile& content) {
  std::vector<std::byte> bytes;
  write_parts(
      content, [&](std::uint64_t count) { bytes.reserve(static_cast<std::size_t>(count)); },
      [&](std::span<const std::byte> part) {
        bytes.insert(bytes.end(), part.begin(), part.end());
      });
  return bytes;
}

}  // namespace narrowgauge
