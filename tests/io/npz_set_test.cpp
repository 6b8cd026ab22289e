// SPDX-License-Identifier: Apache-2.0
// Archives of NumPy arrays as data sets, of any shape and format.
#include <gtest/gtest.h>

#include "io/files.h"
#include "narrowgauge/data.h"
#include "narrowgauge/npz.h"

namespace narrowgauge {
namespace {

using testing_files::TemporaryFolder;

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

TEST(npz_set, arrays_are_taken_as_they_are_and_whole_numbers_as_labels) {
  const Tensor x = Tensor::from<std::int16_t>({4, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const DataSplit set = load(x, labels({0, 1, 2, 1}, {4, 1}), labels({2}, {1, 1}));
  EXPECT_TRUE(set.train.input().same_bits(x));
  EXPECT_EQ(set.train.target().type(), TensorType::parse("i64[4]"));
  EXPECT_EQ(set.train.classes, 3);
  EXPECT_EQ(set.test.size(), 1);
  EXPECT_EQ(set.test.name, "set/test");
}

TEST(npz_set, real_targets_are_no_classes) {
  const DataSplit set =
      load(Tensor(DType::f32, {2, 3}), Tensor(DType::f32, {2}), Tensor(DType::f32, {1}));
  EXPECT_EQ(set.train.classes, 0);
}

TEST(npz_set, networks_of_several_inputs_have_an_array_for_each) {
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

TEST(npz_set, what_does_not_fit_is_refused) {
  const Tensor x(DType::f32, {2, 3});
  EXPECT_THROW(load(x, labels({0, 1, 1}, {3}), labels({0}, {1})), DataError);
  EXPECT_THROW(load(x, labels({0, 1}, {2}), labels({5}, {1})), DataError);
  EXPECT_THROW(load(x, labels({0, -1}, {2}), labels({0}, {1})), DataError);
  EXPECT_THROW(load(x, labels({0, 1}, {2}), Tensor(DType::f32, {1})), DataError);
  const TemporaryFolder folder;
  write_npz(folder / "part.npz", std::vector<NamedTensor>{{"x_train", x}});
  EXPECT_THROW(load_data(folder / "part.npz"), DataError);
}

}  // namespace
}  // namespace narrowgauge
