// SPDX-License-Identifier: Apache-2.0
// Pictures in files: the pixels that Pillow reads, and every way in which a file can be broken.
#include <gtest/gtest.h>
#include <zlib.h>

#include <string>
#include <string_view>
#include <vector>

#include "io/files.h"
#include "io/pictures/image.h"
#include "io/small_images.h"
#include "narrowgauge/error.h"

namespace narrowgauge::images_test {
namespace {

using namespace std::string_literals;
using testing_support::bytes_of;
using testing_support::small_image;
using testing_support::small_images;

std::string pixels_of(const Tensor& image) {
  return {reinterpret_cast<const char*>(image.data()), static_cast<std::size_t>(image.bytes())};
}

Tensor decoded(const std::string& bytes, ImageColours colours = ImageColours::rgb) {
  return decode_image(bytes, "a", colours);
}

// What is wrong with the bytes, or "" where a picture is read.
std::string refusal_of(const std::string& bytes, std::int64_t most_pixels = most_pixels_of_image) {
  try {
    decode_image(bytes, "a.jpg", ImageColours::rgb, most_pixels);
    return "";
  } catch (const DataError& error) {
    return error.what();
  }
}

void expect_refused(const std::string& bytes, const std::string& message) {
  EXPECT_NE(refusal_of(bytes).find(message), std::string::npos) << refusal_of(bytes);
}

TEST(images, have_the_pixels_that_pillow_reads) {
  for (const auto& [name, file, rgb, grey] : small_images) {
    const Tensor in_rgb = decoded(bytes_of(file));
    EXPECT_EQ(in_rgb.type(), TensorType::parse("u8[3,5,3]")) << name;
    EXPECT_EQ(pixels_of(in_rgb), bytes_of(rgb)) << name;
    const Tensor in_grey = decoded(bytes_of(file), ImageColours::grey);
    EXPECT_EQ(in_grey.type(), TensorType::parse("u8[3,5,1]")) << name;
    EXPECT_EQ(pixels_of(in_grey), bytes_of(grey)) << name;
    std::string bgr = bytes_of(rgb);
    for (std::size_t i = 0; i < bgr.size(); i += 3) std::swap(bgr[i], bgr[i + 2]);
    EXPECT_EQ(pixels_of(decoded(bytes_of(file), ImageColours::bgr)), bgr) << name;
  }
}

TEST(images, of_netpbm_are_scaled_to_255) {
  const auto grey = [](const std::string& bytes) {
    return pixels_of(decoded(bytes, ImageColours::grey));
  };
  EXPECT_EQ(grey("P1\n3 2 # a comment\n101\n0 1 0"), "\0\xff\0\xff\0\xff"s);
  EXPECT_EQ(grey("P2 3 1 1000 0 500 999"), "\0\x80\xff"s);  // 127.5 becomes even
  EXPECT_EQ(grey("P4 10 1 \xaa\x80"s), "\0\xff\0\xff\0\xff\0\xff\0\xff"s);
  EXPECT_EQ(grey("P5 2 1 6\n\1\5"), "\x2a\xd4"s);
  EXPECT_EQ(grey("P5 2 1 65535\n\x80\0\1\1"s), "\x80\1"s);
  EXPECT_EQ(pixels_of(decoded("P3 1 1 7 0 1 7")), "\0\x24\xff"s);
  EXPECT_EQ(pixels_of(decoded("P6 1 1 255\nabc")), "abc");
  expect_refused("P5 1 1 6 \7", "a sample is 7, the largest is to be 6");
  expect_refused("P5 1 1 0 \7", "its largest sample is 0");
  expect_refused("P2 1 x 5 \7", "expected a number");
}

// Refused, or nothing that matters was cut off (the padding of the last row).
TEST(images, that_are_cut_off_anywhere_are_refused) {
  for (const auto& [name, file, rgb, grey] : small_images) {
    const std::string whole = bytes_of(file);
    const bool is_bmp = whole.starts_with("BM");
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const std::string cut = whole.substr(0, size);
      if (const std::string refusal = refusal_of(cut); !refusal.empty())
        EXPECT_TRUE(refusal.starts_with("a.jpg: ")) << refusal;
      else
        EXPECT_TRUE(is_bmp && size + 4 > whole.size() && pixels_of(decoded(cut)) == bytes_of(rgb))
            << name << " of " << size << " bytes";
    }
  }
}

TEST(images, with_any_byte_changed_are_read_or_refused) {
  for (const auto& [name, file, rgb, grey] : small_images) {
    const std::string whole = bytes_of(file);
    for (std::size_t at = 0; at < whole.size(); ++at)
      for (const int change : {0xff, 1, 0x80}) {
        std::string changed = whole;
        changed[at] = static_cast<char>(changed[at] ^ change);
        refusal_of(changed, 1 << 20);
      }
  }
}

TEST(images, of_other_formats_are_named) {
  EXPECT_EQ(refusal_of(""),
            "a.jpg: expected a picture (JPEG, PNG, WebP, BMP and PNM) or a sound (WAV, FLAC, Ogg "
            "and MP3)");
  expect_refused("hello", "expected a picture");
  expect_refused("GIF89a", "a picture in GIF, and only JPEG");
  expect_refused("II*\0"s, "a picture in TIFF");
  expect_refused("\xff\x4f\xff\x51", "a picture in JPEG 2000");
  expect_refused("\xff\xd8\xff", "a.jpg: the JPEG cannot be read (");
}

// Widths and heights with the sum that PNG's header has.
std::string png_of_size(std::string size) {
  std::string file = small_image("png_in_colours").replace(16, 8, size);
  const auto sum = crc32(0, reinterpret_cast<const Bytef*>(file.data()) + 12, 17);
  for (int i = 0; i < 4; ++i) file[29 + static_cast<std::size_t>(i)] = char(sum >> (24 - 8 * i));
  return file;
}

TEST(images, that_say_they_are_huge_are_refused_before_memory_is_taken) {
  const std::int64_t before = testing_files::most_memory();
  expect_refused(png_of_size("\x7f\xff\xff\xff\x7f\xff\xff\xff"), "268435456 is the most");
  expect_refused(png_of_size("\0\0\x3f\xff\0\0\x3f\xff"s), "more than 116 bytes can hold");
  expect_refused(png_of_size("\0\0\0\0\0\0\0\1"s), "the PNG cannot be read");
  for (const char* name : {"jpeg_in_colours", "jpeg_progressive"}) {
    std::string jpeg = small_image(name);
    const std::size_t frame = jpeg.find(name == "jpeg_in_colours"s ? "\xff\xc0" : "\xff\xc2");
    expect_refused(jpeg.replace(frame + 5, 4, "\xff\0\xff\0"s), "268435456 is the most");
    expect_refused(jpeg.replace(frame + 5, 4, "\x3f\xff\x3f\xff"), "bytes can hold");
  }
  expect_refused(small_image("bmp_in_colours").replace(18, 8, "\xff\xff\xff\x7f\xff\xff\xff\x7f"),
                 "268435456 is the most");
  expect_refused(small_image("bmp_in_colours").replace(18, 8, "\xff\x3f\0\0\xff\x3f\0\0"s),
                 "the file ends too early");
  expect_refused(small_image("bmp_in_colours").replace(22, 4, "\0\0\0\x80"s), "is the most");
  expect_refused("P6 100000 100000 255\n", "268435456 is the most");
  expect_refused("P6 16000 16000 255\n", "the file ends too early");
  EXPECT_NE(refusal_of(small_image("webp_lossy"), 14).find("5 x 3 pixels, and 14 is the most"),
            std::string::npos);
  EXPECT_LT(testing_files::most_memory() - before, 64 << 10);  // KiB
}

TEST(images, are_read_from_files_whatever_their_names) {
  const testing_files::TemporaryFolder folder;
  testing_files::write_file(folder / "a.txt", small_image("png_in_colours"));
  EXPECT_EQ(pixels_of(read_image(folder / "a.txt", ImageColours::rgb)),
            pixels_of(decoded(small_image("png_in_colours"))));
  EXPECT_THROW(read_image(folder / "none.png", ImageColours::rgb), DataError);
  EXPECT_THROW(read_image(folder.path(), ImageColours::rgb), DataError);
}

}  // namespace
}  // namespace narrowgauge::images_test
