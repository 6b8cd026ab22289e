// SPDX-License-Identifier: Apache-2.0
// PNG, by libpng.
#include <png.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "io/images/c_errors.h"
#include "io/images/codecs.h"
#include "narrowgauge/error.h"

namespace narrowgauge {

namespace {

class PngReader {
 public:
  explicit PngReader(std::string_view bytes, bool numbers = false)
      : rest_(bytes), size_(bytes.size()), numbers_(numbers) {}
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  Tensor decode(std::int64_t most_pixels) {
    errors_.run([this] { read_header(); });
    const std::int64_t width = png_get_image_width(png_, info_);
    const std::int64_t height = png_get_image_height(png_, info_);
    require_image_size(width, height, most_pixels);
    // Deflate packs at most 1032 bytes into one.
    const auto packed = static_cast<std::int64_t>(png_get_rowbytes(png_, info_)) * height / 1032;
    require<DataError>(packed <= static_cast<std::int64_t>(size_), "it says that it has ", width,
                       " x ", height, " pixels, more than ", size_, " bytes can hold");
    if (numbers_) require_numbers();
    errors_.run([this] { choose_output(); });
    const std::int64_t channels = png_get_channels(png_, info_);
    NG_INVARIANT(std::int64_t(png_get_rowbytes(png_, info_)) == width * channels);
    Tensor pixels(DType::u8, {height, width, channels});
    std::uint8_t* const first = pixels.values<std::uint8_t>().data();
    errors_.run([this, first] { read_rows(first); });
    return pixels;
  }

 private:
  static void read(png_structp png, png_bytep to, std::size_t count) {
    auto* const reader = static_cast<PngReader*>(png_get_io_ptr(png));
    if (count > reader->rest_.size()) png_error(png, "the file ends too early");
    std::memcpy(to, reader->rest_.data(), count);
    reader->rest_.remove_prefix(count);
  }
  static void failed(png_structp png, const char* message) {
    static_cast<CErrors*>(png_get_error_ptr(png))->fail(message);
  }
  static void ignore(png_structp, const char*) {}

  static png_voidp memory(png_structp png, png_alloc_size_t size) {
    void* const taken = std::malloc(size);
    if (!taken) static_cast<CErrors*>(png_get_mem_ptr(png))->note_lack_of_memory();
    return taken;
  }
  static void give_back(png_structp, png_voidp memory) { std::free(memory); }

  void read_header() {
    png_ = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &errors_, failed, ignore, &errors_,
                                    memory, give_back);
    info_ = png_ ? png_create_info_struct(png_) : nullptr;
    if (!info_) errors_.fail("there is no memory for it");
    // Texts, colour profiles and chunks of programs are nothing to us.
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
    png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_read_fn(png_, this, read);
    png_read_info(png_, info_);
  }

  void require_numbers() const {
    const int colours = png_get_color_type(png_, info_);
    require<DataError>(colours == PNG_COLOR_TYPE_PALETTE || colours == PNG_COLOR_TYPE_GRAY ||
                           colours == PNG_COLOR_TYPE_GRAY_ALPHA,
                       "it has colours, and not one number a pixel");
    require<DataError>(png_get_bit_depth(png_, info_) <= 8, "its numbers have 16 bits, not 8");
  }

  // Bytes of grey or RGB, whatever the file has; or its own numbers.
  void choose_output() {
    if (numbers_)
      png_set_packing(png_);
    else
      png_set_expand(png_);
    png_set_strip_16(png_);
    png_set_strip_alpha(png_);
    passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
  }

  void read_rows(std::uint8_t* first) {
    const std::size_t row_bytes = png_get_rowbytes(png_, info_);
    const png_uint_32 height = png_get_image_height(png_, info_);
    for (int pass = 0; pass < passes_; ++pass)
      for (png_uint_32 row = 0; row < height; ++row)
        png_read_row(png_, first + row * row_bytes, nullptr);
    png_read_end(png_, nullptr);
  }

  std::string_view rest_;
  std::size_t size_;
  bool numbers_;
  CErrors errors_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  int passes_ = 1;
};

}  // namespace

Tensor decode_png(std::string_view bytes, std::int64_t most_pixels) {
  return PngReader(bytes).decode(most_pixels);
}

Tensor decode_png_numbers(std::string_view bytes, std::int64_t most_pixels) {
  return PngReader(bytes, true).decode(most_pixels);
}

}  // namespace narrowgauge
