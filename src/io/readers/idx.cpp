// SPDX-License-Identifier: Apache-2.0
#include "io/readers/idx.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <vector>

#include "io/arrays/tensor_bytes.h"
#include "io/files/input_file.h"
#include "io/readers/labels.h"
#include "io/readers/reader.h"

namespace narrowgauge {
namespace {

std::string hex(std::span<const std::byte> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const std::byte b : bytes) {
    if (!text.empty()) text += ' ';
    text += digits[std::to_integer<std::size_t>(b >> 4)];
    text += digits[std::to_integer<std::size_t>(b & std::byte{15})];
  }
  return text;
}

void read_magic(InputFile& file, int rank) {
  std::array<std::byte, 4> magic{};
  const std::size_t got = file.read(magic);
  require<DataError>(got == magic.size(), file.path(), ": expected a header of ", 4 + 4 * rank,
                     " bytes, found ", got);
  const std::array<std::byte, 4> expected{std::byte{0}, std::byte{0}, std::byte{8},
                                          static_cast<std::byte>(rank)};
  require<DataError>(magic == expected, file.path(), ": expected the idx magic ", hex(expected),
                     " (bytes of rank ", rank, "), found ", hex(magic));
}

Dims read_sizes(InputFile& file, int rank) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(rank) * 4);
  const std::size_t got = file.read(bytes);
  require<DataError>(got == bytes.size(), file.path(), ": expected a header of ", 4 + 4 * rank,
                     " bytes, found ", 4 + got);
  Dims sizes;
  for (std::size_t i = 0; i < bytes.size(); i += 4) {
    std::int64_t size = 0;
    for (std::size_t k = 0; k < 4; ++k)
      size = size << 8 | std::to_integer<std::int64_t>(bytes[i + k]);
    sizes.push_back(size);
  }
  return sizes;
}

// The number of bytes that the header promises, unless no file could hold them.
std::optional<std::int64_t> payload_size(const Dims& sizes) {
  std::int64_t product = 1;
  for (const std::int64_t size : sizes)
    if (__builtin_mul_overflow(product, std::max<std::int64_t>(size, 1), &product))
      return std::nullopt;
  return std::ranges::find(sizes, 0) == sizes.end() ? product : 0;
}

std::string describe(const Dims& sizes) {
  std::string text;
  for (const std::int64_t size : sizes) text += concat(text.empty() ? "" : "x", size);
  return text;
}

// An IDX file whose header is read: its payload may be of any size.
class IdxFile {
 public:
  IdxFile(const std::string& path, int rank) : file_(open_maybe_gzip(path)) {
    read_magic(*file_, rank);
    sizes_ = read_sizes(*file_, rank);
    header_bytes_ = 4 + 4 * rank;
    const std::optional<std::int64_t> wanted = payload_size(sizes_);
    const std::int64_t room = file_->largest_size() - header_bytes_;
    expected_ = concat(path, ": expected ", wanted ? std::to_string(*wanted) : "more",
                       " bytes for ", describe(sizes_), ", found ");
    require<DataError>(wanted && *wanted <= room, expected_, file_->is_packed() ? "at most " : "",
                       room);
    payload_ = *wanted;
  }

  const Dims& sizes() const { return sizes_; }

  Tensor read() {
    // The promised size of a compressed file is checked before memory is allocated for it.
    constexpr std::int64_t worth_counting = std::int64_t{64} << 20;
    if (file_->is_packed() && payload_ > worth_counting) count_payload();
    Tensor result(DType::u8, sizes_);
    const std::size_t got = file_->read(bytes_of(result));
    require<DataError>(static_cast<std::int64_t>(got) == payload_, expected_, got);
    std::byte more{};
    require<DataError>(file_->read({&more, 1}) == 0, expected_, "more");
    return result;
  }

 private:
  void count_payload() const {
    const std::unique_ptr<InputFile> again = open_maybe_gzip(file_->path());
    std::vector<std::byte> part(std::size_t{1} << 20);
    std::int64_t found = -header_bytes_;
    while (const std::size_t got = again->read(part)) {
      found += static_cast<std::int64_t>(got);
      require<DataError>(found <= payload_, expected_, "more");
    }
    require<DataError>(found == payload_, expected_, found);
  }

  std::unique_ptr<InputFile> file_;
  Dims sizes_;
  std::int64_t header_bytes_ = 0, payload_ = 0;
  std::string expected_;
};

// The file of this name in the folder, or its gzipped form.
std::string find_file(const std::filesystem::path& folder, const std::string& name) {
  std::error_code ignored;
  for (const char* ending : {"", ".gz"}) {
    const std::filesystem::path path = folder / (name + ending);
    if (std::filesystem::exists(path, ignored)) return path.string();
  }
  throw DataError(concat(folder.string(), ": expected ", name, " or ", name,
                         ".gz in this folder, found neither"));
}

struct IdxPair {
  DataSet set;
  std::string image_path, label_path;
};

IdxPair read_part(const std::filesystem::path& folder, const std::string& prefix) {
  IdxPair part;
  part.image_path = find_file(folder, prefix + "-images-idx3-ubyte");
  part.label_path = find_file(folder, prefix + "-labels-idx1-ubyte");
  IdxFile image_file(part.image_path, 3), label_file(part.label_path, 1);
  const Dims sizes = image_file.sizes();
  const std::int64_t labels = label_file.sizes()[0];
  require<DataError>(std::ranges::find(sizes, 0) == sizes.end(), part.image_path,
                     ": expected at least one image, found ", describe(sizes));
  require<DataError>(labels == sizes[0], part.label_path, ": expected ", sizes[0],
                     " labels, as many as there are images in ", part.image_path, ", found ",
                     labels);
  part.set.inputs = {{"images", image_file.read().reshaped({sizes[0], 1, sizes[1], sizes[2]})}};
  part.set.targets = {{"labels", label_file.read()}};
  return part;
}

void check_test(const IdxPair& train, const IdxPair& test) {
  const Dims &a = train.set.input().dims(), &b = test.set.input().dims();
  require<DataError>(a[2] == b[2] && a[3] == b[3], test.image_path, ": expected images of ", a[2],
                     "x", a[3], " as in the training set, found ", b[2], "x", b[3]);
  check_labels(test.set.target(), train.set.classes, test.label_path);
}

}  // namespace

Tensor read_idx(const std::string& path, int rank) { return IdxFile(path, rank).read(); }

DataSplit read_idx_folder(const std::string& folder) {
  std::error_code ignored;
  require<DataError>(std::filesystem::exists(folder, ignored), folder, ": no such folder");
  require<DataError>(std::filesystem::is_directory(folder, ignored), folder,
                     ": expected a folder of idx files, found a file");
  IdxPair train = read_part(folder, "train"), test = read_part(folder, "t10k");
  train.set.classes = test.set.classes = count_classes(train.set.target(), train.label_path);
  check_test(train, test);
  const std::string name = std::filesystem::canonical(folder).filename().string();
  train.set.name = name + "/train";
  test.set.name = name + "/test";
  return {std::move(train.set), std::move(test.set)};
}

namespace {

bool takes_idx(const DataPlace& place) {
  return place.holds("train-images-idx3-ubyte") || place.holds("train-labels-idx1-ubyte") ||
         place.holds("t10k-images-idx3-ubyte") || place.holds("t10k-labels-idx1-ubyte");
}

Data read_idx_data(const std::string& folder, const DataOptions&) {
  return read_idx_folder(folder);
}

}  // namespace
}  // namespace narrowgauge

NG_READER(idx, "idx", "a folder of IDX files", takes_idx, read_idx_data)
