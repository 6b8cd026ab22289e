// SPDX-License-Identifier: Apache-2.0
#include "io/files/input_file.h"

#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <new>
#include <vector>

#include "base/files/open_file.h"
#include "narrowgauge/error.h"

namespace narrowgauge {
namespace {

class PlainFile : public InputFile {
 public:
  explicit PlainFile(const std::string& path) : InputFile(path) {
    Descriptor file = open_regular_file(path);
    struct stat status {};
    NG_INVARIANT(fstat(file.get(), &status) == 0);
    size_ = status.st_size;
    file_ = fdopen(file.get(), "rb");
    if (!file_) throw std::bad_alloc();
    file.release();
  }
  ~PlainFile() override { std::fclose(file_); }
  PlainFile(const PlainFile&) = delete;
  PlainFile& operator=(const PlainFile&) = delete;

  std::size_t read(std::span<std::byte> bytes) override {
    const std::size_t got = std::fread(bytes.data(), 1, bytes.size(), file_);
    const int error = errno;
    require<DataError>(got == bytes.size() || !std::ferror(file_), path(), ": ",
                       std::strerror(error));
    return got;
  }
  std::int64_t largest_size() const override { return size_; }
  bool is_packed() const override { return false; }
  void rewind() { std::rewind(file_); }

 private:
  std::FILE* file_ = nullptr;
  std::int64_t size_ = 0;
};

class GzipFile : public InputFile {
 public:
  explicit GzipFile(std::unique_ptr<PlainFile> packed)
      : InputFile(packed->path()), packed_(std::move(packed)), input_(std::size_t{1} << 16) {
    constexpr int gzip_only = 16 + MAX_WBITS;
    const int result = inflateInit2(&stream_, gzip_only);
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    NG_INVARIANT(result == Z_OK);
  }
  ~GzipFile() override { inflateEnd(&stream_); }
  GzipFile(const GzipFile&) = delete;
  GzipFile& operator=(const GzipFile&) = delete;

  std::size_t read(std::span<std::byte> bytes) override {
    std::size_t done = 0;
    while (done < bytes.size() && !ended_) done += unpack(bytes.subspan(done));
    return done;
  }
  std::int64_t largest_size() const override {
    // Deflate packs at most 1032 bytes into one: 258 into two bits, and no shorter code exists.
    constexpr std::int64_t best_ratio = 1032;
    return std::min(packed_->largest_size(),
                    std::numeric_limits<std::int64_t>::max() / best_ratio) *
           best_ratio;
  }
  bool is_packed() const override { return true; }

 private:
  std::size_t unpack(std::span<std::byte> bytes) {
    if (stream_.avail_in == 0) refill();
    const std::size_t room = std::min<std::size_t>(bytes.size(), std::size_t{1} << 30);
    stream_.next_out = reinterpret_cast<Bytef*>(bytes.data());
    stream_.avail_out = static_cast<uInt>(room);
    const int result = inflate(&stream_, Z_NO_FLUSH);
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    require<DataError>(result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR, path(),
                       ": the gzip data is corrupt (", stream_.msg ? stream_.msg : zError(result),
                       ")");
    if (result == Z_STREAM_END) begin_next_member();
    return room - stream_.avail_out;
  }

  void refill() {
    const std::size_t got = packed_->read(input_);
    require<DataError>(got > 0, path(), ": the gzip data is truncated after ",
                       packed_->largest_size(), " bytes");
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(got);
  }

  // A gzip file may hold several members, one after another; zlib checks the sum of each.
  void begin_next_member() {
    if (stream_.avail_in == 0) {
      const std::size_t got = packed_->read(input_);
      stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
      stream_.avail_in = static_cast<uInt>(got);
    }
    ended_ = stream_.avail_in == 0;
    if (!ended_) NG_INVARIANT(inflateReset(&stream_) == Z_OK);
  }

  std::unique_ptr<PlainFile> packed_;
  std::vector<std::byte> input_;
  z_stream stream_{};
  bool ended_ = false;
};

class Memory : public InputFile {
 public:
  Memory(std::span<const std::byte> bytes, const std::string& name)
      : InputFile(name), bytes_(bytes) {}

  std::size_t read(std::span<std::byte> to) override {
    const std::size_t count = std::min(to.size(), bytes_.size() - at_);
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(at_), count, to.begin());
    at_ += count;
    return count;
  }
  std::int64_t largest_size() const override { return std::ssize(bytes_); }
  bool is_packed() const override { return false; }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

}  // namespace

std::unique_ptr<InputFile> open_memory(std::span<const std::byte> bytes, const std::string& name) {
  return std::make_unique<Memory>(bytes, name);
}

std::unique_ptr<InputFile> open_file(const std::string& path) {
  return std::make_unique<PlainFile>(path);
}

std::unique_ptr<InputFile> open_maybe_gzip(const std::string& path) {
  auto plain = std::make_unique<PlainFile>(path);
  std::byte magic[2]{};
  const bool gzip =
      plain->read(magic) == 2 && magic[0] == std::byte{0x1f} && magic[1] == std::byte{0x8b};
  plain->rewind();
  if (!gzip) return plain;
  return std::make_unique<GzipFile>(std::move(plain));
}

}  // namespace narrowgauge
