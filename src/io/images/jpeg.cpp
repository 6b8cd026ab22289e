// SPDX-License-Identifier: Apache-2.0
// JPEG, by libjpeg-turbo with its defaults, which ONNX's ImageDecoder asks for: the accurate
// inverse transform in integers, and smooth upsampling of colours.
// clang-format off
#include <cstdio>  // jpeglib.h needs it first
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "io/images/c_errors.h"
#include "io/images/codecs.h"
#include "narrowgauge/error.h"

namespace narrowgauge {

namespace {

constexpr int most_scans = 100;                       // encoders make about ten
constexpr std::int64_t most_pixels_in_a_byte = 4096;  // Huffman's codes need a bit for 64

// Whether a warning leaves the pixels as they are meant.
bool is_harmless(int warning) {
  return warning == JWRN_EXTRANEOUS_DATA || warning == JWRN_ADOBE_XFORM ||
         warning == JWRN_JFIF_MAJOR || warning == JWRN_BOGUS_ICC ||
         warning == JWRN_BOGUS_PROGRESSION;
}

class JpegReader {
 public:
  explicit JpegReader(std::string_view bytes) : bytes_(bytes) {
    decoder_.err = jpeg_std_error(&manager_);
    decoder_.client_data = this;
    manager_.error_exit = failed;
    manager_.emit_message = warned;
    progress_.progress_monitor = counted;
  }
  ~JpegReader() { jpeg_destroy_decompress(&decoder_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  Tensor decode(std::int64_t most_pixels) {
    errors_.run([this] { read_header(); });
    const std::int64_t width = decoder_.image_width, height = decoder_.image_height;
    require_image_size(width, height, most_pixels);
    const auto size = static_cast<std::int64_t>(bytes_.size());
    require<DataError>(decoder_.arith_code || width * height / most_pixels_in_a_byte <= size,
                       "it says that it has ", width, " x ", height, " pixels, more than ", size,
                       " bytes can hold");
    choose_output();
    const bool is_cmyk = decoder_.out_color_space == JCS_CMYK;
    const std::int64_t channels = decoder_.out_color_space == JCS_GRAYSCALE ? 1 : 3;
    Tensor pixels(DType::u8, {height, width, channels});
    std::uint8_t* row = pixels.values<std::uint8_t>().data();
    std::vector<std::uint8_t> inks(is_cmyk ? static_cast<std::size_t>(width) * 4 : 0);
    errors_.run([this] { jpeg_start_decompress(&decoder_); });
    for (std::int64_t i = 0; i < height; ++i, row += width * channels) {
      JSAMPROW to = is_cmyk ? inks.data() : row;
      errors_.run([this, to] { read_row(to); });
      if (is_cmyk) to_rgb(inks, row);
    }
    errors_.run([this] { jpeg_finish_decompress(&decoder_); });
    return pixels;
  }

 private:
  static JpegReader& of(j_common_ptr decoder) {
    return *static_cast<JpegReader*>(decoder->client_data);
  }
  static void failed(j_common_ptr decoder) {
    if (decoder->err->msg_code == JERR_OUT_OF_MEMORY) of(decoder).errors_.note_lack_of_memory();
    char message[JMSG_LENGTH_MAX];
    decoder->err->format_message(decoder, message);
    of(decoder).errors_.fail(message);
  }
  static void warned(j_common_ptr decoder, int level) {
    if (level < 0 && !is_harmless(decoder->err->msg_code)) failed(decoder);
  }
  static void counted(j_common_ptr decoder) {
    JpegReader& reader = of(decoder);
    if (reader.decoder_.input_scan_number > most_scans)
      reader.errors_.fail("it has too many scans");
  }

  void read_header() {
    jpeg_create_decompress(&decoder_);
    decoder_.progress = &progress_;
    jpeg_mem_src(&decoder_, reinterpret_cast<const unsigned char*>(bytes_.data()), bytes_.size());
    jpeg_read_header(&decoder_, TRUE);
  }

  void choose_output() {
    const J_COLOR_SPACE in_file = decoder_.jpeg_color_space;
    const bool is_cmyk = in_file == JCS_CMYK || in_file == JCS_YCCK;
    require<DataError>(
        is_cmyk || in_file == JCS_GRAYSCALE || in_file == JCS_YCbCr || in_file == JCS_RGB,
        "it has ", decoder_.num_components, " colours that are not known");
    decoder_.out_color_space = is_cmyk                    ? JCS_CMYK
                               : in_file == JCS_GRAYSCALE ? JCS_GRAYSCALE
                                                          : JCS_RGB;
  }

  void read_row(JSAMPROW to) {
    if (jpeg_read_scanlines(&decoder_, &to, 1) != 1) errors_.fail("the file ends too early");
  }

  // Inks are stored as what is left of white, as Adobe's programs do and all readers expect.
  static void to_rgb(std::span<const std::uint8_t> inks, std::uint8_t* to) {
    for (std::size_t i = 0; i < inks.size(); i += 4)
      for (std::size_t channel = 0; channel < 3; ++channel)
        *to++ = static_cast<std::uint8_t>((inks[i + channel] * inks[i + 3] + 127) / 255);
  }

  std::string_view bytes_;
  CErrors errors_;
  jpeg_error_mgr manager_{};
  jpeg_progress_mgr progress_{};
  jpeg_decompress_struct decoder_{};
};

}  // namespace

Tensor decode_jpeg(std::string_view bytes, std::int64_t most_pixels) {
  return JpegReader(bytes).decode(most_pixels);
}

}  // namespace narrowgauge
