// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text/base64.h"
#include "cli/common/text.h"
#include "cli/report/drawing.h"
#include "cli/report/page.h"
#include "cli/report/results.h"
#include "io/images/encode_png.h"
#include "narrowgauge/error.h"

namespace narrowgauge::cli {
namespace {

class GuessCollector : public MetricAccumulator {
 public:
  explicit GuessCollector(std::shared_ptr<std::vector<SampleGuess>> guesses)
      : guesses_(std::move(guesses)) {}

  // Scores [N, classes] with labels i64 [N], one for each sample; others are passed over.
  void add(const MetricBatch& batch) override {
    const Dims& dims = batch.prediction.dims();
    const bool fits = dims.size() == 2 && batch.target.dtype() == DType::i64 &&
                      batch.target.dims() == Dims{dims[0]} && std::ssize(batch.indices) == dims[0];
    for (std::int64_t i = 0; fits && i < dims[0]; ++i) add_row(batch, i, dims[1]);
  }
  MetricResult result() const override { return {}; }

 private:
  void add_row(const MetricBatch& batch, std::int64_t row, std::int64_t classes) {
    const auto score = [&](std::int64_t c) { return batch.prediction.at(row * classes + c); };
    const auto label = batch.target.values<std::int64_t>()[static_cast<std::size_t>(row)];
    if (label < 0 || label >= classes) return;
    std::int64_t predicted = 0;
    for (std::int64_t c = 1; c < classes; ++c)
      if (score(c) > score(predicted)) predicted = c;
    double sum = 0;
    for (std::int64_t c = 0; c < classes; ++c) sum += std::exp(score(c) - score(predicted));
    const std::int64_t sample = batch.indices[static_cast<std::size_t>(row)];
    if (std::isfinite(sum)) guesses_->push_back({sample, label, predicted, 1 / sum});
  }

  std::shared_ptr<std::vector<SampleGuess>> guesses_;
};

// Samples as pictures: pixels of the data, or where these are not known shades from the smallest
// number to the largest.
class Pictures {
 public:
  explicit Pictures(const Task& task) : task_(task) {
    const TensorType type = task.test->sample_types().front();
    type_ = type;
    Dims dims = known_dims(type.shape);
    if (task.images) {
      const ImageShape image = task.images->image();
      const Dims seen{image.channels, image.height, image.width};
      if (element_count(seen) == element_count(dims)) dims = seen;
    }
    if (dims.size() == 2) dims.insert(dims.begin(), 1);
    const bool picture = dims.size() == 3 && (dims[0] == 1 || dims[0] == 3) && dims[1] > 1 &&
                         dims[2] > 1 && std::max(dims[1], dims[2]) <= most_side;
    require<DataError>(picture, "samples of ", type, " are no pictures in grey or in colour");
    dims_ = dims;
  }

  std::string of(std::int64_t sample, const std::string& what) {
    Drawing drawing(static_cast<double>(dims_[2]), static_cast<double>(dims_[1]), what);
    drawing.add(
        fmt::format("<image width=\"{}\" height=\"{}\" href=\"data:image/png;base64,{}\"/>\n",
                    dims_[2], dims_[1], base64(encode_png(pixels(read(sample))))));
    return std::move(drawing).finish();
  }

 private:
  static constexpr std::int64_t most_side = 256;  // so that the page stays small

  // The numbers of a sample [C, H, W].
  Tensor read(std::int64_t sample) {
    std::vector<Tensor> batch;
    for (const TensorType& type : task_.test->sample_types()) {
      Dims dims = known_dims(type.shape);
      dims.insert(dims.begin(), 1);
      batch.emplace_back(type.dtype, dims);
    }
    const std::int64_t indices[] = {sample};
    task_.test->read(indices, batch);
    return batch.front().reshaped(dims_);
  }

  // Undoes what normalized the pixels.
  Tensor pixels(const Tensor& numbers) const {
    double low = numbers.at(0), high = low;
    for (std::int64_t i = 0; i < numbers.size(); ++i) {
      low = std::min(low, numbers.at(i));
      high = std::max(high, numbers.at(i));
    }
    const std::int64_t area = dims_[1] * dims_[2];
    Tensor result(DType::u8, {dims_[1], dims_[2], dims_[0]});
    for (std::int64_t c = 0; c < dims_[0]; ++c)
      for (std::int64_t i = 0; i < area; ++i) {
        const double number = numbers.at(c * area + i);
        const double shade = task_.images ? drawn(number, static_cast<std::size_t>(c))
                                          : (number - low) / std::max(high - low, 1e-30);
        result.set(i * dims_[0] + c, std::clamp(255 * shade, 0.0, 255.0));
      }
    return result;
  }

  double drawn(double number, std::size_t channel) const {
    const ImageTransform& transform = task_.images->transform;
    const auto of_channel = [&](const std::vector<float>& all) {
      return static_cast<double>(all[all.size() > 1 ? channel : 0]);
    };
    return number * of_channel(transform.deviation) + of_channel(transform.mean);
  }

  const Task& task_;
  TensorType type_;
  Dims dims_;
};

constexpr std::size_t most_samples = 12;

std::string gallery(const std::vector<SampleGuess>& guesses, Pictures& pictures,
                    const ClassNames& names) {
  const auto share_of = [](const SampleGuess& guess) {
    return fmt::format("{:.2f}\xC2\xA0%", 100 * guess.share);  // a blank that ends no line
  };
  std::string out = "<div class=\"samples\">\n";
  for (const SampleGuess& guess : guesses) {
    const bool right = guess.label == guess.predicted;
    const std::string what = right
                                 ? fmt::format("{}, {}", names.brief(guess.label), share_of(guess))
                                 : fmt::format("{}, taken for {}, {}", names.brief(guess.label),
                                               names.brief(guess.predicted), share_of(guess));
    const std::string sample = fmt::format("Test sample {}: {}", grouped(guess.sample), what);
    out += html_figure("", pictures.of(guess.sample, sample), what);
  }
  return out + "</div>\n";
}

// The guesses with the largest share, of equal ones the first.
std::vector<SampleGuess> most_certain(std::vector<SampleGuess> guesses, bool right) {
  std::erase_if(guesses,
                [&](const SampleGuess& each) { return (each.label == each.predicted) != right; });
  std::ranges::stable_sort(guesses, std::greater{}, &SampleGuess::share);
  guesses.resize(std::min(guesses.size(), most_samples));
  return guesses;
}

}  // namespace

OwnMetric collect_guesses(const std::shared_ptr<std::vector<SampleGuess>>& guesses) {
  return {.name = guesses_name, .begin = [guesses] {
            guesses->clear();
            return std::make_unique<GuessCollector>(guesses);
          }};
}

std::string samples_html(const std::vector<SampleGuess>& guesses, const Task& task,
                         const ClassNames& names) {
  require<DataError>(!guesses.empty(), "no sample has one label of a class and finite scores");
  Pictures pictures(task);
  const std::vector<SampleGuess> right = most_certain(guesses, true),
                                 wrong = most_certain(guesses, false);
  std::string out;
  if (!wrong.empty())
    out += "<h3>Most certain, and wrong</h3>\n" + gallery(wrong, pictures, names);
  else
    out += html_paragraph("No sample of the test set was taken for another class.");
  if (!right.empty()) out += "<h3>Most certain, and right</h3>\n" + gallery(right, pictures, names);
  return out + html_paragraph("Percentages are the softmax of the network's outputs.");
}

}  // namespace narrowgauge::cli
