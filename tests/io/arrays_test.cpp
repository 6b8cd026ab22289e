// SPDX-License-Identifier: Apache-2.0
// Archives of NumPy arrays and files of safetensors as data sets, of any shape and format.
#include <gtest/gtest.h>

#include <algorithm>
#include <variant>

#include "io/files.h"
#include "narrowgauge/data.h"
#include "narrowgauge/images.h"
#include "narrowgauge/npz.h"
#include "narrowgauge/safetensors.h"

namespace narrowgauge::arrays_test {
namespace {

using testing_files::read_file;
using testing_files::TemporaryFolder;
using testing_files::write_file;

Tensor labels(std::vector<std::int64_t> values, Dims dims) {
  return Tensor::from<std::int64_t>(std::move(dims), values);
}

DataSplit load(const Tensor& x, const Tensor& y, const Tensor& other_y) {
  const TemporaryFolder folder;
  const std::string path = folder / "set.npz";
  write_npz(path, std::vector<NamedTensor>{{"x_train", x},
                                           {"y_train", y},
                                           {"x_test", Tensor(x.dtype(), {1, 3})},
                                           {"y_test", other_y}});
  return load_data(path);
}

TEST(arrays, arrays_are_taken_as_they_are_and_whole_numbers_as_labels) {
  const Tensor x = Tensor::from<std::int16_t>({4, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const DataSplit set = load(x, labels({0, 1, 2, 1}, {4, 1}), labels({2}, {1, 1}));
  EXPECT_TRUE(set.train.input().same_bits(x));
  EXPECT_EQ(set.train.target().type(), TensorType::parse("i64[4]"));
  EXPECT_EQ(set.train.classes, 3);
  EXPECT_EQ(set.test.size(), 1);
  EXPECT_EQ(set.test.name, "set/test");
}

TEST(arrays, real_targets_are_no_classes) {
  const DataSplit set =
      load(Tensor(DType::f32, {2, 3}), Tensor(DType::f32, {2}), Tensor(DType::f32, {1}));
  EXPECT_EQ(set.train.classes, 0);
}

TEST(arrays, networks_of_several_inputs_have_an_array_for_each) {
  const TemporaryFolder folder;
  const std::string path = folder / "texts.npz";
  const Tensor ids(DType::i64, {2, 3}), mask(DType::f32, {2, 3}), y(DType::f32, {2});
  std::vector<NamedTensor> arrays{{"ids_train", ids}, {"mask_train", mask}, {"y_train", y}};
  write_npz(path, arrays);
  EXPECT_THROW(load_data(path), DataError);  // there is nothing to test on
  for (std::size_t i = 0; i < 3; ++i)
    arrays.push_back(
        {arrays[i].name.substr(0, arrays[i].name.rfind('_')) + "_test", arrays[i].tensor});
  write_npz(path, arrays);
  const DataSplit set = load_data(path);
  ASSERT_EQ(set.train.inputs.size(), 2U);
  EXPECT_EQ(set.train.inputs[1].name, "mask");
  EXPECT_EQ(set.test.target().type(), y.type());
  EXPECT_EQ(set.train.classes, 0);
}

TEST(arrays, what_does_not_fit_is_refused) {
  const Tensor x(DType::f32, {2, 3});
  EXPECT_THROW(load(x, labels({0, 1, 1}, {3}), labels({0}, {1})), DataError);
  EXPECT_THROW(load(x, labels({0, 1}, {2}), labels({5}, {1})), DataError);
  EXPECT_THROW(load(x, labels({0, -1}, {2}), labels({0}, {1})), DataError);
  EXPECT_THROW(load(x, labels({0, 1}, {2}), Tensor(DType::f32, {1})), DataError);
  const TemporaryFolder folder;
  write_npz(folder / "part.npz", std::vector<NamedTensor>{{"x_train", x}});
  EXPECT_THROW(load_data(folder / "part.npz"), DataError);
}

// Ten samples: x counts up, y is 0 and 1 by turns.
std::vector<NamedTensor> one_part() {
  Tensor x(DType::f32, {10, 2});
  Tensor y(DType::u8, {10, 1});
  for (std::int64_t i = 0; i < 20; ++i) x.set(i, static_cast<double>(i));
  for (std::int64_t i = 0; i < 10; ++i) y.set(i, static_cast<double>(i % 2));
  return {{"x", x}, {"y", y}};
}

TEST(arrays, a_set_in_one_part_is_divided_by_a_share) {
  const TemporaryFolder folder;
  write_npz(folder / "one.npz", one_part());
  const DataSplit set = std::get<DataSplit>(open_data(folder / "one.npz", {.test_share = 0.3}));
  EXPECT_EQ(set.train.size(), 7);
  EXPECT_EQ(set.test.size(), 3);
  EXPECT_EQ(set.train.classes, 2);
  std::vector<double> seen;
  for (const DataSet* part : {&set.train, &set.test})
    for (std::int64_t i = 0; i < part->size(); ++i) {
      const double x = part->input().at(2 * i);
      EXPECT_EQ(part->input().at(2 * i + 1), x + 1);
      EXPECT_EQ(part->target().at(i), static_cast<std::int64_t>(x / 2) % 2);
      seen.push_back(x / 2);
    }
  std::ranges::sort(seen);
  EXPECT_EQ(seen, (std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));

  const DataSplit whole = std::get<DataSplit>(open_data(folder / "one.npz", {.test_share = 1}));
  EXPECT_EQ(whole.train.size(), 10);
  EXPECT_EQ(whole.test.size(), 10);
  EXPECT_THROW(open_data(folder / "one.npz", {.test_share = 0.01}), DataError);
}

TEST(arrays, safetensors_are_read_as_archives_are) {
  const TemporaryFolder folder;
  write_safetensors(folder / "one.safetensors", {one_part(), {}});
  write_npz(folder / "one.npz", one_part());
  const DataSplit set = load_data(folder / "one.safetensors"), same = load_data(folder / "one.npz");
  EXPECT_EQ(set.train.name, "one/train");
  EXPECT_TRUE(set.train.input().same_bits(same.train.input()));
  EXPECT_TRUE(set.test.target().same_bits(same.test.target()));
  EXPECT_EQ(set.train.classes, 2);

  write_safetensors(folder / "none.safetensors", {{{"weight", Tensor(DType::f32, {2})}}, {}});
  try {
    load_data(folder / "none.safetensors");
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("expected arrays x_train"), std::string::npos)
        << error.what();
  }
  write_file(folder / "cut.safetensors", read_file(folder / "one.safetensors").substr(0, 60));
  EXPECT_THROW(load_data(folder / "cut.safetensors"), DataError);
}

}  // namespace
}  // namespace narrowgauge::arrays_test
