// SPDX-License-Identifier: Apache-2.0
#include "quantize/calibration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/threads/parallel.h"
#include "io/files.h"
#include "quantize/values.h"

namespace narrowgauge::calibration_test {
namespace {

using namespace testing_values;
using testing_files::TemporaryFolder;

Tensor tensor_of(Dims dims, unsigned seed) {
  const auto count = static_cast<std::size_t>(element_count(dims));
  return Tensor::from(std::move(dims), normal(count, 1, seed));
}

TEST(calibration, sees_sizes_and_means_of_channels) {
  Calibration calibration({"x"});
  Floats all;
  std::vector<double> sums(3);
  for (unsigned batch = 0; batch < 4; ++batch) {
    const Tensor x = tensor_of({2, 3, 5, 7}, batch);
    calibration.observe("x", x);
    for (std::int64_t i = 0; i < x.size(); ++i) {
      sums[static_cast<std::size_t>(i / 35 % 3)] += x.at(i);
      all.push_back(static_cast<float>(x.at(i)));
    }
  }
  const ValueStatistics& seen = calibration.of("x");
  EXPECT_EQ(seen.histogram, histogram_of(all));
  ASSERT_EQ(seen.channels.means().size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(seen.channels.means()[i], sums[i] / 280, 1e-15);
}

TEST(calibration, channels_of_few_axes) {
  Calibration calibration({"matrix", "list", "scalar", "nothing"});
  calibration.observe("matrix", Tensor::from<float>({2, 3}, Floats{1, 2, 3, 5, 6, 7}));
  calibration.observe("list", Tensor::from<float>({3}, Floats{1, 2, 6}));
  calibration.observe("scalar", Tensor::scalar(DType::f32, 5));
  calibration.observe("nothing", Tensor(DType::f32, {0, 2, 4}));
  using Means = std::vector<double>;
  EXPECT_EQ(calibration.of("matrix").channels.means(), Means({3, 4, 5}));
  EXPECT_EQ(calibration.of("list").channels.means(), Means({3}));
  EXPECT_EQ(calibration.of("scalar").channels.means(), Means({5}));
  EXPECT_EQ(calibration.of("nothing").channels.means(), Means({0, 0}));
}

TEST(calibration, channels_of_any_axis) {
  const Tensor x = tensor_of({20, 3, 2}, 1);
  for (const auto& [axis, stride] :
       {std::pair(0, 6), std::pair(1, 2), std::pair(2, 1), std::pair(-1, 1)}) {
    const std::int64_t count = x.dims()[static_cast<std::size_t>(axis < 0 ? axis + 3 : axis)];
    std::vector<double> sums(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < x.size(); ++i)
      sums[static_cast<std::size_t>(i / stride % count)] += x.at(i);
    Calibration calibration({"x"});
    calibration.observe("x", x, axis);
    const std::vector<double> means = calibration.of("x").channels.means();
    ASSERT_EQ(means.size(), sums.size());
    for (std::size_t i = 0; i < sums.size(); ++i)
      EXPECT_NEAR(means[i], sums[i] * static_cast<double>(count) / 120, 1e-15) << axis;
  }
  Calibration without({"x"});
  without.observe("x", x, 3);
  EXPECT_EQ(without.of("x").channels.sums().size(), 1u);
}

TEST(calibration, narrow_tensors_are_seen_as_the_f32_that_they_are) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const Tensor narrow = tensor_of({4, 2, 6}, 3).cast(dtype);
    Calibration a({"x"}), b({"x"});
    a.observe("x", narrow);
    b.observe("x", narrow.cast(DType::f32));
    EXPECT_EQ(a, b);
  }
}

TEST(calibration, does_not_depend_on_threads_or_on_the_order_of_parts) {
  // More values than one thread takes at a time.
  const std::vector<std::string> names{"x", "y"};
  const Tensor large = Tensor::from({2, 5, 300, 300}, any_bits(900000));
  std::vector<Calibration> by_threads;
  for (const int threads : {1, 3}) {
    const ThreadScope scope(threads);
    by_threads.emplace_back(names).observe("x", large);
  }
  EXPECT_EQ(by_threads[0], by_threads[1]);

  Calibration whole(names);
  std::vector<Calibration> parts;
  for (unsigned batch = 0; batch < 6; ++batch) {
    const Tensor x = tensor_of({1 + batch % 2, 4, 9}, batch);
    Calibration& part = parts.emplace_back(names);
    for (Calibration* each : {&whole, &part}) {
      each->observe("x", x);
      if (batch > 2) each->observe("y", x);
      each->count_samples(x.dims()[0]);
    }
  }
  std::mt19937 dice(1);
  for (int round = 0; round < 4; ++round) {
    std::shuffle(parts.begin(), parts.end(), dice);
    Calibration merged(names);
    for (const Calibration& part : parts) merged.merge(part);
    EXPECT_EQ(merged, whole);
  }
  EXPECT_EQ(whole.samples(), 9);
}

TEST(calibration, channels_that_differ_have_no_means_whatever_the_order) {
  std::vector<Calibration> parts(3, Calibration({"x"}));
  parts[0].observe("x", tensor_of({2, 3}, 1));
  parts[1].observe("x", tensor_of({2, 4}, 2));
  parts[2].observe("x", tensor_of({2, 3}, 3));
  parts[2].observe("x", tensor_of({3, 3}, 3), 0);
  std::vector<std::size_t> order{0, 1, 2};
  do {
    Calibration merged({"x"});
    for (const std::size_t i : order) merged.merge(parts[i]);
    EXPECT_TRUE(merged.of("x").channels.differ());
    EXPECT_TRUE(merged.of("x").channels.means().empty());
    EXPECT_EQ(merged.of("x").histogram.count(), 29);
    EXPECT_EQ(merged.of("x").channels.axis(), 1);
  } while (std::ranges::next_permutation(order).found);
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(calibration, refuses_what_it_does_not_observe) {
  Calibration calibration({"x"});
  EXPECT_EQ(error_of([&] { calibration.observe("y", Tensor()); }),
            "calibration: there is no value 'y' among the 1 that are observed");
  EXPECT_EQ(error_of([&] { calibration.observe("x", Tensor(DType::i64, {2})); }),
            "calibration: expected f32, f16 or bf16 as 'x', got i64");
  EXPECT_EQ(error_of([&] { calibration.merge(Calibration({"y"})); }),
            "calibration: expected a part that observed the same values");
  EXPECT_EQ(error_of([] { Calibration({"a", "b", "a"}); }), "calibration: value 'a' stands twice");
}

Calibration various() {
  Calibration calibration({"z", "image/1 \"quoted\"", "empty", "last", "list", "differ"});
  calibration.observe("z", Tensor::from({4, 3, 100}, any_bits(1200)));
  calibration.observe("image/1 \"quoted\"", tensor_of({2, 8, 5, 5}, 1));
  calibration.observe("last", tensor_of({2, 8, 3}, 1), -1);
  calibration.observe("list", Tensor::from<float>({3}, Floats{-0.0f, 0.1f, NAN}));
  calibration.observe("differ", tensor_of({2, 3}, 1));
  calibration.observe("differ", tensor_of({2, 2}, 1));
  calibration.count_samples(17);
  calibration.set_network({.equalized = true, .weights = {{"conv \"1\"", 0.1}, {"fc", 0}}});
  return calibration;
}

TEST(calibration, is_read_back_from_its_file) {
  const TemporaryFolder folder;
  const Calibration calibration = various();
  calibration.save(folder / "a");
  const Calibration loaded = Calibration::load(folder / "a");
  EXPECT_EQ(loaded, calibration);
  EXPECT_EQ(loaded.names(), calibration.names());
  loaded.save(folder / "b");
  EXPECT_EQ(testing_files::read_file(folder / "a"), testing_files::read_file(folder / "b"));
  Calibration().save(folder / "nothing");
  EXPECT_EQ(Calibration::load(folder / "nothing"), Calibration());
}

// What is wrong with a file that holds the text.
std::string refusal(const std::string& text) {
  const TemporaryFolder folder;
  const std::string path = folder / "c";
  testing_files::write_file(path, text);
  try {
    Calibration::load(path);
  } catch (const DataError& error) {
    const std::string message = error.what();
    EXPECT_TRUE(message.starts_with(path + ": is ")) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message.substr(std::min(message.size(), path.size() + 2));
  }
  return "none";
}

std::string saved(const Calibration& calibration) {
  const TemporaryFolder folder;
  calibration.save(folder / "c");
  return testing_files::read_file(folder / "c");
}

TEST(calibration, file_of_another_kind_is_refused) {
  for (const char* text :
       {"{}", "[]", "3", "{\"format\": 3}", "{\"format\": \"narrowgauge kernels\"}"})
    EXPECT_EQ(refusal(text), "is no calibration: expected \"format\": \"narrowgauge calibration\"");
  for (const char* text : {"", "GIF89a", "\xff\xfe", "{\"format\": \"narrowgauge calib"})
    EXPECT_TRUE(refusal(text).starts_with("is damaged: ")) << text;
  EXPECT_EQ(refusal("{\"format\": \"narrowgauge calibration\", \"version\": 2}"),
            "is of version 2 of calibrations, expected 1");
}

TEST(calibration, damaged_file_is_refused) {
  Calibration calibration({"x"});
  calibration.observe("x", Tensor::from<float>({2, 2}, Floats{1, 2, 1, 0.25f}));
  const std::string text = saved(calibration);
  ASSERT_EQ(refusal(text), "none");
  const auto damaged = [&](const std::string& old, const std::string& now) {
    std::string changed = text;
    const std::size_t at = changed.find(old);
    EXPECT_NE(at, std::string::npos) << old << " in " << text;
    if (at != std::string::npos) changed.replace(at, old.size(), now);
    const std::string found = refusal(changed);
    EXPECT_NE(found, "none") << changed;
    return found;
  };
  EXPECT_EQ(damaged("\"least\":0.25", "\"least\":0.1"),
            "is damaged: expected an f32 as least, found 0.1");
  damaged("\"least\":0.25", "\"least\":0.5");
  damaged("\"least\":0.25", "\"least\":\"0.25\"");
  damaged("\"most\":2.0", "\"most\":1e400");
  damaged("\"nans\":0", "\"nans\":-1");
  damaged("\"nans\":0", "\"nans\":0.5");
  damaged("\"infinities\":0,", "");
  damaged("\"samples\": 0", "\"samples\": -1");
  damaged("\"bins\":[[", "\"bins\":[[1,");
  damaged("\"bins\":[[", "\"bins\":[[-99999999999,1],[");
  damaged("\"bins\":[[", "\"bins\":[[],[");
  damaged(",1],[", ",2],[");
  damaged(",1],[", ",18446744073709551615],[");
  damaged(",1],[", ",\"1\"],[");
  damaged("\"channels\":[[2,\"", "\"channels\":[[1,\"");
  damaged("\"channels\":[[2,\"", "\"channels\":[[2,\"0");
  damaged("\"channels\":[[2,", "\"channels\":[[-2,");
  damaged("\"channels_differ\":false", "\"channels_differ\":true");
  damaged("\"channels_differ\":false", "\"channels_differ\":0");
  damaged("\"equalized\": false", "\"equalized\": 0");
  damaged("\"weights\": {}", "\"weights\": {\"fc\":-1}");
  damaged("\"weights\": {}", "\"weights\": {\"fc\":\"1\"}");
  damaged("\"name\":\"x\",", "");
  damaged("\"axis\":1,", "");
  damaged("\"axis\":1,", "\"axis\":99999999999,");
  for (std::size_t size = 0; size + 2 < text.size(); ++size)
    EXPECT_NE(refusal(text.substr(0, size)), "none") << size;
}

TEST(calibration, parts_of_different_networks_do_not_merge) {
  const CalibratedNetwork network{.equalized = true, .weights = {{"conv", 0.25}, {"fc", 0.5}}};
  const auto refusal_of = [&](const CalibratedNetwork& other) {
    Calibration whole({"x"}), part({"x"});
    whole.set_network(network);
    part.set_network(other);
    const std::string error = error_of([&] { whole.merge(part); });
    const std::string difference = narrowgauge::difference(other, network);
    EXPECT_EQ(error, difference.empty()
                         ? "no error"
                         : "calibration: a part is of another network: " + difference);
    return difference;
  };
  EXPECT_EQ(refusal_of(network), "");
  EXPECT_EQ(refusal_of({true, {{"conv", 0.25 * (1 + 1e-6)}, {"fc", 0.5}}}), "");
  EXPECT_EQ(refusal_of({false, network.weights}), "its channels are not equalized");
  EXPECT_EQ(refusal_of({true, {{"conv", 0.25}, {"fc", 0.501}}}), "the weights of 'fc' are others");
  EXPECT_EQ(refusal_of({true, {{"conv", 0.25}}}), "it has no op 'fc'");
  EXPECT_EQ(refusal_of({true, {{"conv", 0.25}, {"fc", 0.5}, {"end", 1}}}), "it has an op 'end'");
}

TEST(calibration, file_that_names_a_value_twice_is_refused) {
  const std::string text = saved(Calibration({"a", "b"}));
  std::string twice = text;
  twice.replace(twice.find("\"b\""), 3, "\"a\"");
  EXPECT_EQ(refusal(twice), "is damaged: calibration: value 'a' stands twice");
}

}  // namespace
}  // namespace narrowgauge::calibration_test
