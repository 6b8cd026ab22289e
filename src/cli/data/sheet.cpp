// SPDX-License-Identifier: Apache-2.0
#include "cli/data/sheet.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/files/atomic_file.h"
#include "base/text/base64.h"
#include "cli/common/svg.h"
#include "cli/common/text.h"
#include "io/images/encode_png.h"
#include "io/images/resize.h"
#include "io/pictures/image.h"
#include "narrowgauge/error.h"

namespace narrowgauge::cli {
namespace {

constexpr std::int64_t side = 96, gap = 4;  // pixels of a picture, and between two
constexpr std::size_t in_a_row = 8, most_classes = 100;

// Pictures u8 [side, side, 3] of a class.
struct SheetRow {
  std::string name;
  std::int64_t samples = 0;
  std::vector<Tensor> pictures{};
};

Tensor thumbnail(const Tensor& picture) {
  const Dims& dims = picture.dims();
  const ImageBox box = middle_box(dims[0], dims[1], side, side);
  const Tensor floats = resized_image(picture, box, side, side);
  Tensor bytes(DType::u8, floats.dims());
  std::ranges::transform(
      floats.values<float>(), bytes.values<std::uint8_t>().begin(), [](float value) {
        return static_cast<std::uint8_t>(std::lround(std::clamp(value, 0.0f, 255.0f)));
      });
  return bytes;
}

std::vector<SheetRow> rows_of(const ImageFolder& folder) {
  std::vector<SheetRow> rows;
  for (const std::string& name : folder.classes) rows.push_back({name});
  const auto add = [&](const ImageFile& file) {
    SheetRow& row = rows[static_cast<std::size_t>(file.label)];
    ++row.samples;
    if (row.pictures.size() == in_a_row) return;
    try {
      row.pictures.push_back(thumbnail(read_image(file.path, ImageColours::rgb)));
    } catch (const DataError&) {
      // The survey names damaged pictures.
    }
  };
  std::ranges::for_each(folder.training, add);
  std::ranges::for_each(folder.test, add);
  return rows;
}

// Pictures, and under them what their masks call anything but 0.
std::vector<SheetRow> rows_of(const SegmentationFolder& folder) {
  constexpr std::uint8_t white = 255, step = 40;
  std::vector<SheetRow> rows{{"pictures", std::ssize(folder.training)},
                             {"masks", std::ssize(folder.training)}};
  for (const MaskedImage& pair : folder.training) {
    if (rows[0].pictures.size() == in_a_row) break;
    try {
      const Tensor picture = read_image(pair.path, ImageColours::rgb);
      const Tensor mask = read_mask_of(pair.path, pair.mask, picture.dims()[0], picture.dims()[1]);
      Tensor seen(DType::u8, {mask.dims()[0], mask.dims()[1], 3});
      std::uint8_t* to = seen.values<std::uint8_t>().data();
      for (const std::uint8_t number : mask.values<std::uint8_t>()) {
        const int shade = number == 0 ? 0 : white - (folder.foreground ? 0 : (number - 1) * step);
        to = std::fill_n(to, 3, static_cast<std::uint8_t>(shade));
      }
      rows[0].pictures.push_back(thumbnail(picture));
      rows[1].pictures.push_back(thumbnail(seen));
    } catch (const DataError&) {
      // The survey names damaged pairs.
    }
  }
  return rows;
}

// Image `index` of u8 [N, C, H, W] as RGB.
Tensor picture_of(const Tensor& images, std::int64_t index) {
  const Dims& dims = images.dims();
  const std::int64_t area = dims[2] * dims[3];
  Tensor picture(DType::u8, {dims[2], dims[3], 3});
  const std::uint8_t* const from = images.values<std::uint8_t>().data() + index * dims[1] * area;
  std::uint8_t* to = picture.values<std::uint8_t>().data();
  for (std::int64_t i = 0; i < area; ++i)
    for (std::int64_t c = 0; c < 3; ++c) *to++ = from[(dims[1] == 3 ? c : 0) * area + i];
  return picture;
}

std::vector<SheetRow> rows_of(const DataSet& set, const std::string& name) {
  const bool images = set.inputs.size() == 1 && set.input().dtype() == DType::u8 &&
                      set.input().dims().size() == 4 && set.classes > 0;
  require<DataError>(images, name, ": has no images in bytes with labels to put on a sheet");
  const bool last = image_layout(set.input().dims()) == ImageLayout::nhwc;
  const Tensor pictures = last ? channels_first(set.input()) : set.input();
  std::vector<SheetRow> rows;
  for (std::int64_t label = 0; label < set.classes; ++label) {
    const auto place = static_cast<std::size_t>(label);
    rows.push_back(
        {place < set.class_names.size() ? set.class_names[place] : std::to_string(label)});
  }
  for (std::int64_t i = 0; i < set.size(); ++i) {
    SheetRow& row = rows.at(static_cast<std::size_t>(set.target().at(i)));
    ++row.samples;
    if (row.pictures.size() < in_a_row) row.pictures.push_back(thumbnail(picture_of(pictures, i)));
  }
  return rows;
}

std::string png_sheet(const std::vector<SheetRow>& rows) {
  constexpr std::int64_t pitch = side + gap;
  const auto columns = static_cast<std::int64_t>(in_a_row);
  Tensor sheet(DType::u8, {std::ssize(rows) * pitch + gap, columns * pitch + gap, 3});
  std::ranges::fill(sheet.values<std::uint8_t>(), std::uint8_t{255});
  const std::int64_t width = sheet.dims()[1];
  std::int64_t top = gap;
  for (const SheetRow& row : rows) {
    std::int64_t left = gap;
    for (const Tensor& picture : row.pictures) {
      const std::uint8_t* from = picture.values<std::uint8_t>().data();
      for (std::int64_t y = 0; y < side; ++y, from += side * 3)
        std::copy_n(from, side * 3,
                    sheet.values<std::uint8_t>().data() + ((top + y) * width + left) * 3);
      left += pitch;
    }
    top += pitch;
  }
  return encode_png(sheet);
}

std::string html_sheet(const std::vector<SheetRow>& rows, const std::string& name) {
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n<title>{0}</title>\n"
      "<style>:root{{color-scheme:light dark}}body{{font:16px sans-serif;margin:1em}}"
      "img{{margin:2px;border-radius:4px}}h2{{font-size:1em;margin:1em 0 .2em}}</style>\n"
      "</head><body>\n<h1>{0}</h1>\n",
      svg_escaped(name));
  for (const SheetRow& row : rows) {
    page += fmt::format("<h2>{} ({})</h2>\n", svg_escaped(row.name), grouped(row.samples));
    for (const Tensor& picture : row.pictures)
      page += fmt::format(
          "<img width=\"{0}\" height=\"{0}\" alt=\"{1}\" src=\"data:image/png;base64,{2}\"/>\n",
          side, svg_escaped(row.name), base64(encode_png(picture)));
  }
  return page + "</body></html>\n";
}

}  // namespace

void check_sheet_name(const std::string& path) {
  require(path.ends_with(".html") || path.ends_with(".png"),
          "--sheet: expected a file ending in .png or .html, got ", path);
}

void write_sheet(const std::string& path, const Data& data, const std::string& name) {
  check_sheet_name(path);
  const bool page = path.ends_with(".html");
  std::vector<SheetRow> rows;
  if (const auto* const folder = std::get_if<ImageFolder>(&data))
    rows = rows_of(*folder);
  else if (const auto* const masked = std::get_if<SegmentationFolder>(&data))
    rows = rows_of(*masked);
  else
    rows = rows_of(std::get<DataSplit>(data).train, name);
  rows.resize(std::min(rows.size(), most_classes));
  write_file_atomically(path, page ? html_sheet(rows, name) : png_sheet(rows));
}

}  // namespace narrowgauge::cli
