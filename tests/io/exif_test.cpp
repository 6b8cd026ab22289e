// SPDX-License-Identifier: Apache-2.0
// Pictures are turned as EXIF says, in all formats that can say so, and damaged notes do no harm.
#include "io/images/exif.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "io/files.h"
#include "io/images/encode_png.h"
#include "io/pictures/image.h"
#include "io/small_images.h"
#include "narrowgauge/images.h"

namespace narrowgauge::exif_test {
namespace {

using namespace std::string_literals;
using testing_files::TemporaryFolder;
using testing_files::write_file;
using testing_support::small_image;

std::string number(std::uint32_t value, int bytes, bool big) {
  std::string text;
  for (int i = 0; i < bytes; ++i)
    text += static_cast<char>(value >> (8 * (big ? bytes - 1 - i : i)));
  return text;
}

// A TIFF file of one directory with another tag before the one that matters.
std::string tiff(std::uint32_t orientation, bool big, std::uint32_t type = 3) {
  const auto entry = [&](std::uint32_t tag, std::uint32_t value) {
    const int width = type == 3 ? 2 : 4;
    return number(tag, 2, big) + number(type, 2, big) + number(1, 4, big) +
           number(value, width, big) + std::string(static_cast<std::size_t>(4 - width), '\0');
  };
  return (big ? "MM"s : "II"s) + number(42, 2, big) + number(8, 4, big) + number(2, 2, big) +
         entry(0x0100, 7) + entry(0x0112, orientation) + number(0, 4, big);
}

std::string jpeg_with(const std::string& note) {
  const std::string file = small_image("jpeg_in_colours"), segment = "Exif\0\0"s + note;
  return file.substr(0, 2) + "\xff\xe1" +
         number(static_cast<std::uint32_t>(segment.size() + 2), 2, true) + segment + file.substr(2);
}

std::uint32_t crc_of(const std::string& bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc;
}

// The note stands behind the pixels, as some programs put it.
std::string png_with(const std::string& note, std::string file = small_image("png_in_colours")) {
  constexpr std::size_t end_chunk = 12;
  const std::string chunk = "eXIf" + note;
  return file.insert(file.size() - end_chunk,
                     number(static_cast<std::uint32_t>(note.size()), 4, true) + chunk +
                         number(crc_of(chunk), 4, true));
}

// VP8X says that there is a note, and how large the picture is.
std::string webp_with(const std::string& note) {
  const std::string file = small_image("webp_lossless");
  const auto chunk = [](const std::string& name, const std::string& data) {
    return name + number(static_cast<std::uint32_t>(data.size()), 4, false) + data +
           std::string(data.size() % 2, '\0');
  };
  const std::string chunks =
      chunk("VP8X", number(8, 4, false) + number(4, 3, false) + number(2, 3, false)) +
      file.substr(12) + chunk("EXIF", note);
  return "RIFF" + number(static_cast<std::uint32_t>(chunks.size() + 4), 4, false) + "WEBP" + chunks;
}

std::vector<int> values(const Tensor& tensor) {
  const auto all = tensor.values<std::uint8_t>();
  return {all.begin(), all.end()};
}

TEST(exif, turns_as_the_standard_says) {
  const std::vector<std::vector<int>> expected{
      {1, 2, 3, 4, 5, 6}, {3, 2, 1, 6, 5, 4}, {6, 5, 4, 3, 2, 1}, {4, 5, 6, 1, 2, 3},
      {1, 4, 2, 5, 3, 6}, {4, 1, 5, 2, 6, 3}, {6, 3, 5, 2, 4, 1}, {3, 6, 2, 5, 1, 4}};
  Tensor picture(DType::u8, {2, 3, 1});
  for (int i = 0; i < 6; ++i) picture.set(i, i + 1);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const Tensor found = upright(picture, orientation);
    EXPECT_EQ(values(found), expected[static_cast<std::size_t>(orientation - 1)]) << orientation;
    EXPECT_EQ(found.dims(), orientation < 5 ? (Dims{2, 3, 1}) : (Dims{3, 2, 1})) << orientation;
  }
}

TEST(exif, is_found_in_every_format_and_order_of_bytes) {
  for (const bool big : {false, true})
    for (std::uint32_t orientation = 1; orientation <= 8; ++orientation)
      for (const std::uint32_t type : {3u, 4u}) {
        const std::string note = tiff(orientation, big, type);
        for (const std::string& file :
             {jpeg_with(note), png_with(note), webp_with(note), webp_with("Exif\0\0"s + note)}) {
          EXPECT_EQ(exif_orientation(file), static_cast<int>(orientation)) << file.substr(0, 4);
          const Tensor stored = decode_image(file, "a", ImageColours::rgb);
          EXPECT_EQ(values(decode_upright(file, "a", ImageColours::rgb)),
                    values(upright(stored, static_cast<int>(orientation))));
          EXPECT_EQ(stored.dims(), (Dims{3, 5, 3}));
        }
      }
}

TEST(exif, without_a_note_or_with_a_damaged_one_leaves_the_picture) {
  for (const char* name : {"jpeg_in_colours", "png_in_colours", "webp_lossy", "bmp_bits"})
    EXPECT_EQ(exif_orientation(small_image(name)), 1) << name;
  EXPECT_EQ(exif_orientation(""), 1);
  const std::string note = tiff(6, true);
  for (std::size_t end = 0; end < note.size() - 4; ++end)
    for (const std::string& file : {jpeg_with(note.substr(0, end)), png_with(note.substr(0, end)),
                                    webp_with(note.substr(0, end))}) {
      const int orientation = exif_orientation(file);
      EXPECT_TRUE(orientation == 1 || end > 30) << end;
      EXPECT_EQ(decode_upright(file, "a", ImageColours::rgb).size(), 45);
    }
  for (const std::uint32_t wrong : {0u, 9u, 255u, 65535u})
    EXPECT_EQ(exif_orientation(jpeg_with(tiff(wrong, false))), 1);
  EXPECT_EQ(exif_orientation(jpeg_with(tiff(6, false, 2))), 1);
  std::string far = tiff(6, true);
  far.replace(4, 4, "\xff\xff\xff\xff");
  EXPECT_EQ(exif_orientation(jpeg_with(far)), 1);
  const std::string whole = jpeg_with(note);
  for (std::size_t end = 0; end < whole.size(); ++end)
    EXPECT_GE(exif_orientation(whole.substr(0, end)), 1);
}

// A picture 4 high and 8 wide of numbers that tell each pixel, as it is stored.
Tensor counted(std::int64_t height, std::int64_t width) {
  Tensor picture(DType::u8, {height, width, 1});
  for (std::int64_t i = 0; i < picture.size(); ++i) picture.set(i, static_cast<double>(i));
  return picture;
}

TEST(exif, turns_pictures_and_masks_on_their_way_into_a_batch) {
  const TemporaryFolder folder;
  const Tensor stored = counted(4, 8), seen = upright(stored, 6);
  const std::string picture = folder / "p.png", mask = folder / "m.png";
  write_file(picture, png_with(tiff(6, false), encode_png(stored)));
  EXPECT_EQ(values(read_image(picture, ImageColours::grey)), values(seen));
  const Tensor numbers = upright(counted(4, 8), 6);
  const std::string masks[] = {encode_png(numbers),        // drawn upright
                               encode_png(counted(4, 8)),  // as it is stored
                               png_with(tiff(6, false), encode_png(counted(4, 8)))};  // says so
  for (const std::string& file : masks) {
    write_file(mask, file);
    ImageSource source(std::vector<MaskedImage>{{picture, mask}}, false,
                       {.channels = 1, .height = 8, .width = 4, .strict = true});
    std::vector<Tensor> batch{Tensor(DType::f32, {1, 1, 8, 4}), Tensor(DType::i64, {1, 8, 4})};
    const std::int64_t first = 0;
    source.read({&first, 1}, batch);
    for (std::int64_t i = 0; i < 32; ++i) {
      EXPECT_NEAR(batch[0].at(i) * 255, seen.at(i), 1e-3);
      EXPECT_EQ(batch[1].at(i), numbers.at(i));
    }
  }
  write_file(mask, encode_png(counted(4, 7)));
  EXPECT_THROW(read_mask_of(picture, mask, 8, 4), DataError);
}

}  // namespace
}  // namespace narrowgauge::exif_test
