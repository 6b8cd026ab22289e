// SPDX-License-Identifier: Apache-2.0
#include "cli/predict/predict_masks.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/files/atomic_file.h"
#include "base/log.h"
#include "cli/common/json.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/predict/picture_answers.h"
#include "cli/task/image_task.h"
#include "io/images/encode_png.h"
#include "io/pictures/image.h"

namespace narrowgauge::cli {
namespace {

// The class of each pixel, [height, width] of the picture, each the nearest of the scores
// [1, classes, H, W].
Tensor classes_of(const Tensor& scores, std::int64_t height, std::int64_t width) {
  const std::int64_t classes = scores.dims()[1], rows = scores.dims()[2];
  const std::int64_t columns = scores.dims()[3], area = rows * columns;
  Tensor mask(DType::u8, {height, width, 1});
  std::uint8_t* to = mask.values<std::uint8_t>().data();
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x) {
      const std::int64_t place = y * rows / height * columns + x * columns / width;
      std::int64_t best = 0;
      for (std::int64_t c = 1; c < classes; ++c)
        if (scores.at(c * area + place) > scores.at(best * area + place)) best = c;
      *to++ = static_cast<std::uint8_t>(best);
    }
  return mask;
}

std::vector<double> shares_in(const Tensor& mask, std::int64_t classes) {
  std::vector<double> shares(static_cast<std::size_t>(classes));
  for (const std::uint8_t label : mask.values<std::uint8_t>()) shares[label] += 1;
  for (double& share : shares) share /= static_cast<double>(mask.size());
  return shares;
}

struct MaskResult {
  std::string file, mask;  // mask: its path, where it was saved
  std::vector<double> shares;
};

void write_mask(const std::string& path, Tensor mask, std::int64_t classes) {
  constexpr std::uint8_t white = 255;
  if (classes == 2)
    for (std::uint8_t& label : mask.values<std::uint8_t>()) label = label != 0 ? white : 0;
  write_file_atomically(path, encode_png(mask));
}

std::string csv_of_masks(const std::vector<MaskResult>& results, std::int64_t classes) {
  std::string text = "file";
  for (std::int64_t c = 0; c < classes; ++c) text += concat(",share_", c);
  text += '\n';
  for (const MaskResult& result : results) {
    text += csv_field(result.file);
    for (const double share : result.shares) text += fmt::format(",{:.6f}", share);
    text += '\n';
  }
  return text;
}

void report_masks(const std::vector<MaskResult>& results, const PictureOptions& options,
                  std::int64_t classes) {
  constexpr std::size_t least = 16;
  std::vector<Column> columns{folding("file", least)};
  for (std::int64_t c = 0; c < classes; ++c)
    columns.push_back(numbers(concat("class ", c), static_cast<int>(c)));
  TextTable table(std::move(columns));
  for (const MaskResult& result : results) {
    if (options.json) {
      JsonObject line;
      line.add("file", result.file).add("shares", result.shares);
      if (!result.mask.empty()) line.add("mask", result.mask);
      print(line.line());
      continue;
    }
    std::vector<std::string> row{result.file};
    for (const double share : result.shares) row.push_back(percent_text(share));
    table.add(std::move(row));
  }
  if (!options.json) print(table.text(output_width()));
}

// The input of the network for one picture; nothing for a damaged one.
std::optional<Tensor> input_for(const ImageFile& file, const ImageInput& input) {
  ImageSource source({file}, input);
  std::vector<Tensor> batch{Tensor(DType::f32, {1, input.channels, input.height, input.width}),
                            Tensor(DType::i64, {1})};
  const std::int64_t first = 0;
  if (!source.read_epoch({&first, 1}, 0, batch).empty()) return std::nullopt;
  return batch[0];
}

}  // namespace

void predict_masks(const Predict& predict, const std::vector<ImageFile>& files,
                   const ImageFacts& facts, const PictureOptions& options) {
  ImageInput input = input_of(facts);
  input.strict = options.strict;
  std::optional<PictureNames> names = options.names();
  std::vector<MaskResult> results;
  for (const ImageFile& file : files) {
    const std::optional<Tensor> picture = input_for(file, input);
    if (!picture) continue;
    const Dims size = read_image(file.path, ImageColours::grey).dims();
    const Tensor mask = classes_of(predict(*picture), size[0], size[1]);
    MaskResult result{file.path, "", shares_in(mask, facts.classes)};
    if (names) {
      result.mask = names->for_file(file.path);
      write_mask(result.mask, mask, facts.classes);
    }
    results.push_back(std::move(result));
    show_status(concat("predicted ", results.size(), " of ", files.size()));
  }
  show_status("");
  require<DataError>(!results.empty(), "predict: none of the pictures can be read");
  tell_left_out(std::ssize(files), std::ssize(results));
  if (options.is_table())
    write_file_atomically(*options.save, csv_of_masks(results, facts.classes));
  if (!options.quiet) report_masks(results, options, facts.classes);
}

}  // namespace narrowgauge::cli
