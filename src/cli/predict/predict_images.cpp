// SPDX-License-Identifier: Apache-2.0
#include "cli/predict/predict_images.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/files/atomic_file.h"
#include "cli/common/json.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/task/image_task.h"
#include "io/images/encode_png.h"

namespace narrowgauge::cli {
namespace {

struct ImageResult {
  std::string sample, picture;  // picture: the path of the image, where it was saved
  double error = 0;
};

// f32 [N, C, H, W]: image `row` in both.
double error_between(const Tensor& given, const Tensor& made, std::int64_t row) {
  const std::int64_t size = given.size() / given.dims()[0];
  double squares = 0;
  for (std::int64_t i = row * size; i < (row + 1) * size; ++i)
    squares += std::pow(given.at(i) - made.at(i), 2);
  return std::sqrt(squares / static_cast<double>(size));
}

// Pixels u8 [H, W, C] of an image that was normalized; of other channels than 1 or 3 the first.
Tensor pixels_of(const Tensor& images, std::int64_t row, const ChannelStatistics& statistics) {
  constexpr double most_bright = 255;
  const Dims& dims = images.dims();
  const std::int64_t area = dims[2] * dims[3], channels = dims[1] == 3 ? 3 : 1;
  Tensor pixels(DType::u8, {dims[2], dims[3], channels});
  const auto of = [](const std::vector<float>& numbers, std::int64_t c) {
    return numbers[numbers.size() == 1 ? 0 : static_cast<std::size_t>(c)];
  };
  std::uint8_t* to = pixels.values<std::uint8_t>().data();
  for (std::int64_t i = 0; i < area; ++i)
    for (std::int64_t c = 0; c < channels; ++c) {
      const double number = images.at((row * dims[1] + c) * area + i);
      const double light = number * of(statistics.deviation, c) + of(statistics.mean, c);
      const double pixel = std::isfinite(light) ? std::clamp(light, 0.0, 1.0) * most_bright : 0;
      *to++ = static_cast<std::uint8_t>(std::lround(pixel));
    }
  return pixels;
}

std::string csv_of_images(const std::vector<ImageResult>& results, const char* sample) {
  std::string text = concat(sample, ",error\n");
  for (const ImageResult& result : results)
    text += fmt::format("{},{:.9g}\n", csv_field(result.sample), result.error);
  return text;
}

void report_images(const std::vector<ImageResult>& results, const char* sample, bool json) {
  constexpr std::size_t least = 16;
  TextTable table({folding(sample, least), numbers("error")});
  for (const ImageResult& result : results) {
    if (!json) {
      table.add({result.sample, number_text(result.error)});
      continue;
    }
    JsonObject line;
    line.add(sample, result.sample).add("error", result.error);
    if (!result.picture.empty()) line.add("picture", result.picture);
    print(line.line());
  }
  if (!json) print(table.text(output_width()));
}

// What is known of the samples of a batch, and what the network makes of them.
struct Answered {
  const Tensor &given, &made;                // f32 [N, C, H, W]
  const std::vector<std::int64_t>& samples;  // N, of the source
  const std::vector<ImageFile>& files;       // of all samples, or none
};

// Saves where there are `names`.
ImageResult result_of(const Answered& batch, std::int64_t row, const ChannelStatistics& statistics,
                      std::optional<PictureNames>& names) {
  const auto sample = static_cast<std::size_t>(batch.samples[static_cast<std::size_t>(row)]);
  ImageResult result{std::to_string(sample), "", error_between(batch.given, batch.made, row)};
  if (!batch.files.empty()) result.sample = batch.files[sample].path;
  if (names) {
    result.picture = names->for_file(result.sample);
    write_file_atomically(result.picture, encode_png(pixels_of(batch.made, row, statistics)));
  }
  return result;
}

}  // namespace

void predict_images(const Predict& predict, const std::shared_ptr<DataSource>& source,
                    const std::vector<ImageFile>& files, std::int64_t count, std::int64_t batch,
                    const ImageFacts& facts, const PictureOptions& options) {
  const ChannelStatistics statistics = input_of(facts).statistics;
  std::optional<PictureNames> names = options.names();
  BatchLoader loader(
      source, {.batch = std::min(batch, count), .shuffle = false, .keep_last = true, .epochs = 1});
  std::vector<ImageResult> results;
  while (const std::optional<Batch> next = loader.next()) {
    const Tensor& given = next->tensors.front();
    const Tensor made = predict(given);
    const Answered answered{given, made, next->samples, files};
    for (std::int64_t row = 0; row < given.dims()[0] && std::ssize(results) < count; ++row)
      results.push_back(result_of(answered, row, statistics, names));
    show_status(concat("predicted ", results.size(), " of ", count));
    if (std::ssize(results) == count) break;
  }
  show_status("");
  require<DataError>(!results.empty(), "predict: none of the samples can be read");
  tell_left_out(count, std::ssize(results));
  const char* const sample = files.empty() ? "sample" : "file";
  if (options.is_table()) write_file_atomically(*options.save, csv_of_images(results, sample));
  if (!options.quiet) report_images(results, sample, options.json);
  const bool finite = std::ranges::all_of(
      results, [](const ImageResult& result) { return std::isfinite(result.error); });
  require<DivergedError>(finite, "predict: some outputs are not finite");
}

}  // namespace narrowgauge::cli
