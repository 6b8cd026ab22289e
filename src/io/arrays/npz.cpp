// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/npz.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <set>

#include "base/files/atomic_file.h"
#include "io/arrays/npy_header.h"
#include "io/arrays/tensor_bytes.h"
#include "io/arrays/zip.h"
#include "io/files/input_file.h"
#include "tensor/values.h"

namespace narrowgauge {

static_assert(std::endian::native == std::endian::little);

namespace {

constexpr std::string_view ending = ".npy";

void swap_bytes(std::span<std::byte> bytes, std::size_t each) {
  for (std::size_t i = 0; i < bytes.size(); i += each) std::ranges::reverse(bytes.subspan(i, each));
}

// The places in the tensor of a file's elements in turn; in Fortran's order the first index runs
// fastest.
class ElementOrder {
 public:
  ElementOrder(const Dims& dims, bool fortran_order) : dims_(dims), strides_(dense_strides(dims)) {
    for (std::size_t axis = 0; axis < dims.size(); ++axis) axes_.push_back(axis);
    if (!fortran_order) std::ranges::reverse(axes_);
    index_.resize(dims.size());
  }
  std::int64_t next() {
    const std::int64_t place = place_;
    for (const std::size_t axis : axes_) {
      place_ += strides_[axis];
      if (++index_[axis] < dims_[axis]) break;
      place_ -= strides_[axis] * dims_[axis];
      index_[axis] = 0;
    }
    return place;
  }

 private:
  Dims dims_, strides_, index_;
  std::vector<std::size_t> axes_;  // that running fastest first
  std::int64_t place_ = 0;
};

// Fills the tensor from a file with another layout, in strips, so that it is held only once.
// Returns how many bytes there were.
std::int64_t read_in_strips(const ReadBytes& read, const NpyHeader& header, Tensor& tensor) {
  const auto each = static_cast<std::size_t>(header.element_bytes);
  std::vector<std::byte> strip(std::size_t{1} << 20);  // whole elements of any size
  ElementOrder places(header.dims, header.fortran_order);
  std::int64_t done = 0;
  while (done < header.bytes) {
    const auto wanted = std::min(std::ssize(strip), header.bytes - done);
    const std::size_t got = read(std::span(strip).first(static_cast<std::size_t>(wanted)));
    for (std::size_t i = 0; i + each <= got; i += each) {
      const std::int64_t place = places.next();
      if (header.one_a_byte)  // in the low bits: ml_dtypes leaves the high ones open
        copy_element(bits(header.dtype), &strip[i], 0, tensor.data(), place);
      else
        std::memcpy(tensor.data() + static_cast<std::size_t>(place) * each, &strip[i], each);
    }
    done += static_cast<std::int64_t>(got);
    if (static_cast<std::int64_t>(got) < wanted) break;
  }
  return done;
}

void check_truth(const std::string& who, const Tensor& tensor) {
  if (tensor.dtype() != DType::boolean) return;
  for (const std::byte b : bytes_of(tensor))  // any other byte read as bool is undefined behaviour
    require<DataError>(b <= std::byte{1}, who, ": expected 0 or 1 as bool, found ",
                       std::to_integer<int>(b));
}

// `room` is the most bytes that header and elements can have.
Tensor read_array(const std::string& who, const ReadBytes& read, std::int64_t room,
                  const NumpyReading& reading) {
  const NpyHeader header = read_npy_header(who, read, room, reading);
  const bool columns = header.fortran_order && header.dims.size() > 1;
  Tensor tensor(header.dtype, header.dims);
  const std::int64_t got = columns || header.one_a_byte
                               ? read_in_strips(read, header, tensor)
                               : static_cast<std::int64_t>(read(bytes_of(tensor)));
  require<DataError>(got == header.bytes, who, ": expected ", header.bytes, " bytes for ",
                     header.dtype, header.dims, ", found ", got);
  if (header.swapped && !header.one_a_byte)
    swap_bytes(bytes_of(tensor), static_cast<std::size_t>(header.element_bytes));
  check_truth(who, tensor);
  return tensor;
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
