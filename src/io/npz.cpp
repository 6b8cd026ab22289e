// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/npz.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <set>

#include "base/atomic_file.h"
#include "io/input_file.h"
#include "io/npy_header.h"
#include "io/zip.h"

namespace narrowgauge {

static_assert(std::endian::native == std::endian::little);

namespace {

constexpr std::string_view ending = ".npy";

std::span<std::byte> bytes_of(Tensor& tensor) {
  return {tensor.data(), static_cast<std::size_t>(tensor.bytes())};
}
std::span<const std::byte> bytes_of(const Tensor& tensor) {
  return {tensor.data(), static_cast<std::size_t>(tensor.bytes())};
}

void swap_bytes(std::span<std::byte> bytes, std::size_t each) {
  for (std::size_t i = 0; i < bytes.size(); i += each) std::ranges::reverse(bytes.subspan(i, each));
}

// From the first index running fastest to the last.
Tensor to_row_major(const Tensor& columns, const Dims& dims) {
  const std::size_t each = static_cast<std::size_t>(bits(columns.dtype())) / 8;
  Tensor rows(columns.dtype(), dims);
  Dims strides(dims.size(), 1);  // of the columns
  for (std::size_t axis = 1; axis < dims.size(); ++axis)
    strides[axis] = strides[axis - 1] * dims[axis - 1];
  Dims index(dims.size(), 0);
  std::int64_t from = 0;
  for (std::int64_t to = 0; to < rows.size(); ++to) {
    std::memcpy(rows.data() + static_cast<std::size_t>(to) * each,
                columns.data() + static_cast<std::size_t>(from) * each, each);
    for (std::size_t axis = dims.size(); axis-- > 0;) {
      from += strides[axis];
      if (++index[axis] < dims[axis]) break;
      from -= strides[axis] * dims[axis];
      index[axis] = 0;
    }
  }
  return rows;
}

// Two to a byte from one to a byte; ml_dtypes leaves what the high bits are open.
Tensor pack_halves(const Tensor& bytes, DType dtype) {
  Tensor packed(dtype, bytes.dims());
  for (std::int64_t i = 0; i < bytes.size(); ++i) {
    const std::byte low = bytes.data()[i] & std::byte{15};
    packed.data()[i / 2] |= i % 2 ? low << 4 : low;
  }
  return packed;
}

void check_truth(const std::string& who, const Tensor& tensor) {
  if (tensor.dtype() != DType::boolean) return;
  for (const std::byte b : bytes_of(tensor))  // any other byte read as bool is undefined behaviour
    require<DataError>(b <= std::byte{1}, who, ": expected 0 or 1 as bool, found ",
                       std::to_integer<int>(b));
}

// `room`: the most bytes that header and elements can have.
Tensor read_array(const std::string& who, const ReadBytes& read, std::int64_t room,
                  const NumpyReading& reading) {
  const NpyHeader header = read_npy_header(who, read, room, reading);
  const DType stored = header.one_a_byte ? DType::u8 : header.dtype;
  const bool columns = header.fortran_order && header.dims.size() > 1;
  Tensor tensor(stored, header.dims);
  const std::size_t got = read(bytes_of(tensor));
  require<DataError>(static_cast<std::int64_t>(got) == header.bytes, who, ": expected ",
                     header.bytes, " bytes for ", header.dtype, header.dims, ", found ", got);
  if (header.swapped) swap_bytes(bytes_of(tensor), static_cast<std::size_t>(bits(stored)) / 8);
  check_truth(who, tensor);
  if (columns) tensor = to_row_major(tensor, header.dims);
  return header.one_a_byte ? pack_halves(tensor, header.dtype) : tensor;
}

std::string entry_name(const std::string& name) { return name + std::string(ending); }

std::string array_name(const ZipReader& zip, const ZipEntry& entry) {
  require<DataError>(entry.name.ends_with(ending), zip.path(), ": expected arrays (*.npy), found ",
                     entry.name);
  return entry.name.substr(0, entry.name.size() - ending.size());
}

Tensor read_entry(const ZipReader& zip, const ZipEntry& entry, const NumpyReading& reading) {
  ZipReader::Stream stream(zip, entry);
  const auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  Tensor tensor = read_array(
      concat(zip.path(), ": ", array_name(zip, entry)),
      [&](std::span<std::byte> bytes) { return stream.read(bytes); },
      static_cast<std::int64_t>(std::min(entry.size, most)), reading);
  stream.finish();
  return tensor;
}

}  // namespace

Tensor read_npy(const std::string& path, const NumpyReading& reading) {
  const std::unique_ptr<InputFile> file = open_file(path);
  Tensor tensor = read_array(
      path, [&](std::span<std::byte> bytes) { return file->read(bytes); }, file->largest_size(),
      reading);
  std::byte more{};
  require<DataError>(file->read({&more, 1}) == 0, path, ": goes on after its array");
  return tensor;
}

void write_npy(const std::string& path, const Tensor& tensor) {
  const std::string header = npy_header(tensor);
  AtomicFile file(path);
  file.write(header);
  file.write(bytes_of(tensor));
  file.commit();
}

std::vector<std::string> npz_names(const std::string& path) {
  const ZipReader zip(path);
  std::vector<std::string> names;
  for (const ZipEntry& entry : zip.entries()) names.push_back(array_name(zip, entry));
  return names;
}

Tensor read_npz(const std::string& path, const std::string& name, const NumpyReading& reading) {
  const ZipReader zip(path);
  const ZipEntry* const entry = zip.find(entry_name(name));
  require<DataError>(entry != nullptr, path, ": has no array ", name);
  return read_entry(zip, *entry, reading);
}

std::vector<NamedTensor> read_npz(const std::string& path, const NumpyReading& reading) {
  const ZipReader zip(path);
  std::vector<NamedTensor> tensors;
  for (const ZipEntry& entry : zip.entries())
    tensors.push_back({array_name(zip, entry), read_entry(zip, entry, reading)});
  return tensors;
}

void write_npz(const std::string& path, std::span<const NamedTensor> tensors,
               Compression compression) {
  std::set<std::string_view> names;
  std::vector<std::string> headers;
  for (const NamedTensor& tensor : tensors) {
    require(!tensor.name.empty(), "npz: expected names of arrays, got an empty one");
    require(names.insert(tensor.name).second, "npz: expected different names, got ", tensor.name,
            " twice");
    headers.push_back(npy_header(tensor.tensor));
  }
  AtomicFile file(path);
  ZipWriter zip(file);
  for (std::size_t i = 0; i < headers.size(); ++i) {
    const std::array<std::span<const std::byte>, 2> parts{std::as_bytes(std::span(headers[i])),
                                                          bytes_of(tensors[i].tensor)};
    zip.add(entry_name(tensors[i].name), parts, compression == Compression::deflated);
  }
  zip.finish();
  file.commit();
}

}  // namespace narrowgauge
