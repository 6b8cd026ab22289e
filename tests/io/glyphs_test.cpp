// SPDX-License-Identifier: Apache-2.0
#include "io/readers/glyphs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <numeric>

#include "base/random.h"
#include "base/threads/parallel.h"
#include "io/arrays/permutation.h"
#include "narrowgauge/data.h"

namespace narrowgauge::glyphs_test {
namespace {

constexpr std::size_t area = 28 * 28;

std::uint64_t hash_of(const Tensor& images) {
  const std::span<const std::uint8_t> bytes = images.values<std::uint8_t>();
  return stable_hash({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

TEST(glyphs, an_image_depends_on_seed_part_and_index_only) {
  const DataSplit few = draw_glyphs(7, 150, 50);
  const DataSplit more = [] {
    const ThreadScope one(1);
    return draw_glyphs(7, 300, 80);
  }();
  const auto a = few.train.input().values<std::uint8_t>();
  const auto b = more.train.input().values<std::uint8_t>();
  EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin()));
  EXPECT_FALSE(
      std::ranges::equal(a.first(area), few.test.input().values<std::uint8_t>().first(area)));
  EXPECT_NE(hash_of(few.train.input()), hash_of(draw_glyphs(8, 150, 0).train.input()));
}

TEST(glyphs, images_are_the_same_on_every_machine) {
  EXPECT_EQ(hash_of(draw_glyphs(1, 1000, 0).train.input()), 4990076529944890795u);
}

TEST(glyphs, labels_are_balanced_and_types_are_those_of_an_image_set) {
  const DataSplit split = draw_glyphs(1, 1000, 200);
  EXPECT_EQ(split.train.input().type(), TensorType::parse("u8[1000,1,28,28]"));
  EXPECT_EQ(split.test.target().type(), TensorType::parse("i64[200]"));
  EXPECT_EQ(split.train.classes, 10);
  std::array<int, 10> count{};
  for (const std::int64_t label : split.train.target().values<std::int64_t>())
    ++count.at(static_cast<std::size_t>(label));
  for (const int c : count) EXPECT_EQ(c, 100);
  EXPECT_THROW(draw_glyphs(1, -1, 0), UsageError);
}

// A picture for people: one row a class, in the build folder.
TEST(glyphs, a_contact_sheet_can_be_written) {
  const char* folder = std::getenv("NARROWGAUGE_BUILD");
  if (!folder) GTEST_SKIP() << "NARROWGAUGE_BUILD is not set";
  constexpr std::size_t columns = 24;
  const DataSplit split = draw_glyphs(1, columns * 10, 0);
  const auto pixels = split.train.input().values<std::uint8_t>();
  std::ofstream file(std::string(folder) + "/glyphs.pgm", std::ios::binary);
  file << "P5 " << columns * 28 << " 280 255\n";
  for (std::size_t y = 0; y < 280; ++y)
    for (std::size_t x = 0; x < columns * 28; ++x)
      file.put(static_cast<char>(pixels[((x / 28) * 10 + y / 28) * area + (y % 28) * 28 + x % 28]));
  EXPECT_TRUE(file.flush());
}

// Softmax regression by stochastic gradient descent, in plain loops.
class LinearModel {
 public:
  LinearModel(float mean, float deviation) : mean_(mean), deviation_(deviation) {}

  std::size_t predict(const std::uint8_t* image) {
    scores_ = bias_;
    for (std::size_t i = 0; i < area; ++i) {
      const float x = input(image[i]);
      for (std::size_t c = 0; c < lanes; ++c) scores_[c] += x * weights_[i][c];
    }
    return static_cast<std::size_t>(std::max_element(scores_.begin(), scores_.begin() + 10) -
                                    scores_.begin());
  }

  void learn(const std::uint8_t* image, std::size_t label, float rate) {
    const float largest = scores_[predict(image)];
    std::array<float, lanes> step{};
    float sum = 0;
    for (std::size_t c = 0; c < 10; ++c) sum += step[c] = std::exp(scores_[c] - largest);
    for (std::size_t c = 0; c < 10; ++c) step[c] = rate * ((c == label) - step[c] / sum);
    for (std::size_t i = 0; i < area; ++i) {
      const float x = input(image[i]);
      for (std::size_t c = 0; c < lanes; ++c) weights_[i][c] += x * step[c];
    }
    for (std::size_t c = 0; c < lanes; ++c) bias_[c] += step[c];
  }

 private:
  static constexpr std::size_t lanes = 16;  // 10 classes, and zeros up to a vector
  float input(std::uint8_t pixel) const {
    return (static_cast<float>(pixel) / 255.0f - mean_) / deviation_;
  }

  float mean_, deviation_;
  std::array<std::array<float, lanes>, area> weights_{};
  std::array<float, lanes> bias_{}, scores_{};
};

double accuracy(LinearModel& model, const DataSet& set) {
  const auto pixels = set.input().values<std::uint8_t>();
  const auto labels = set.target().values<std::int64_t>();
  std::size_t right = 0;
  for (std::size_t i = 0; i < labels.size(); ++i)
    right += model.predict(&pixels[i * area]) == static_cast<std::size_t>(labels[i]);
  return static_cast<double>(right) / static_cast<double>(labels.size());
}

TEST(glyphs, a_linear_model_stays_under_90_percent) {
  const DataSplit split = draw_glyphs();
  ASSERT_EQ(split.train.target().size(), 20000);
  ASSERT_EQ(split.test.target().size(), 4000);
  const ChannelStatistics statistics = channel_statistics(split.train.input());
  LinearModel model(statistics.mean[0], statistics.deviation[0]);
  const auto pixels = split.train.input().values<std::uint8_t>();
  for (int epoch = 0; epoch < 4; ++epoch) {
    const float rate = 2e-4f / static_cast<float>(1 << epoch);
    for (const std::int64_t i : permutation(20000, 1, epoch))
      model.learn(&pixels[static_cast<std::size_t>(i) * area],
                  static_cast<std::size_t>(glyph_label(i)), rate);
  }
  const double result = accuracy(model, split.test);
  RecordProperty("accuracy", std::to_string(result));
  EXPECT_GT(result, 0.60);  // it did learn
  EXPECT_LT(result, 0.88);
}

}  // namespace
}  // namespace narrowgauge::glyphs_test
