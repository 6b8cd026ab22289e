// SPDX-License-Identifier: Apache-2.0
// Arrays in an .npz or safetensors file, called as Keras calls those of its sets: x_train, y_train,
// x_test and y_test, or x and y for a set in one part. Whole numbers [N] or [N,1] as y are labels
// of classes. For networks with several inputs each has an array, ids_train and mask_train; y and
// labels are what a loss takes.
#include <algorithm>
#include <filesystem>

#include "io/readers/labels.h"
#include "io/readers/reader.h"
#include "io/readers/test_share.h"
#include "narrowgauge/npz.h"

namespace narrowgauge {
namespace {

bool is_safetensors(const std::string& path) { return path.ends_with(".safetensors"); }

// The arrays of a file. Those of an archive are read one by one, as they are asked for.
class ArrayFile {
 public:
  explicit ArrayFile(std::string path) : path_(std::move(path)) {
    if (is_safetensors(path_)) {
      tensors_ = read_safetensors(path_).tensors;
      for (const NamedTensor& tensor : tensors_) names_.push_back(tensor.name);
    } else {
      names_ = npz_names(path_);
    }
  }
  const std::string& path() const { return path_; }
  const std::vector<std::string>& names() const { return names_; }
  bool has(const std::string& name) const {
    return std::ranges::find(names_, name) != names_.end();
  }
  Tensor read(const std::string& name) const {
    if (tensors_.empty()) return read_npz(path_, name);
    const auto found = std::ranges::find(tensors_, name, &NamedTensor::name);
    require<DataError>(found != tensors_.end(), path_, ": has no array ", name);
    return found->tensor;
  }
  std::string set_name(const std::string& part) const {
    return concat(std::filesystem::path(path_).stem().string(), '/', part);
  }

 private:
  std::string path_;
  std::vector<std::string> names_;
  std::vector<NamedTensor> tensors_;
};

// All arrays whose names end in `end`, which they lose.
DataSet read_named(const ArrayFile& file, const std::string& end) {
  DataSet set;
  for (const std::string& name : file.names()) {
    if (!name.ends_with(end)) continue;
    NamedTensor array{name.substr(0, name.size() - end.size()), file.read(name)};
    const bool target = array.name == "y" || array.name == "labels";
    require<DataError>(!array.tensor.dims().empty(), file.path(), ": ", name, " is ",
                       array.tensor.type(), ", expected a row for each sample");
    (target ? set.targets : set.inputs).push_back(std::move(array));
  }
  require<DataError>(!set.inputs.empty(), file.path(), ": has no array called *", end);
  return set;
}

DataSet read_x_and_y(const ArrayFile& file, const std::string& end) {
  DataSet set;
  Tensor x = file.read("x" + end), y = file.read("y" + end);
  const Dims& dims = y.dims();
  require<DataError>(!x.dims().empty() && !dims.empty() && x.dims()[0] == dims[0], file.path(),
                     ": y", end, " is ", y.type(), ", expected as many rows as x", end, " of ",
                     x.type(), " has");
  if (dims.size() == 2 && dims[1] == 1) y = y.reshaped({dims[0]});
  if (!is_floating(y.dtype()) && y.dims().size() == 1) y = y.cast(DType::i64);
  set.inputs = {{"x", std::move(x)}};
  set.targets = {{"y", std::move(y)}};
  return set;
}

Tensor rows_of(const Tensor& from, const std::vector<std::int64_t>& rows) {
  Dims dims = from.dims();
  dims[0] = std::ssize(rows);
  Tensor to(from.dtype(), dims);
  TensorSource({from}).read(rows, std::span(&to, 1));
  return to;
}

// Both parts of a set in one; a share of 1 makes each of them the whole.
DataSplit divided_set(const DataSet& set, double share, const std::string& path) {
  DataSplit split{set, set};
  if (share == 1) return split;
  const std::int64_t count = set.size(), tests = tests_before(count, share);
  require<DataError>(tests >= 1 && tests < count, path, ": expected samples for training and test,",
                     " of which the test gets a share of ", share, ", found ", count);
  std::vector<std::int64_t> of_train, of_test;
  for (std::int64_t row = 0; row < count; ++row)
    (is_for_test(row, share) ? of_test : of_train).push_back(row);
  const auto keep = [](DataSet& part, const std::vector<std::int64_t>& rows) {
    for (std::vector<NamedTensor>* const arrays : {&part.inputs, &part.targets})
      for (NamedTensor& array : *arrays) array.tensor = rows_of(array.tensor, rows);
  };
  keep(split.train, of_train);
  keep(split.test, of_test);
  return split;
}

// The classes of both parts, where the target of both is labels.
void find_label_classes(DataSplit& split, const std::string& path) {
  const Tensor &labels = split.train.target(), &others = split.test.target();
  require<DataError>(others.dtype() == labels.dtype(), path, ": y of the test is ", others.type(),
                     ", that of the training ", labels.type());
  if (labels.dtype() != DType::i64 || labels.dims().size() != 1) return;
  split.train.classes = split.test.classes = count_classes(labels, path + ": y of the training");
  check_labels(others, split.train.classes, path + ": y of the test");
}

DataSplit read_split(const ArrayFile& file, double test_share) {
  const auto is_part = [](const std::string& name) { return name.ends_with("_train"); };
  const bool in_parts = std::ranges::any_of(file.names(), is_part);
  DataSplit split;
  if (!in_parts && file.has("x") && file.has("y")) {
    split = divided_set(read_x_and_y(file, ""), test_share, file.path());
    find_label_classes(split, file.path());
  } else if (file.has("x_train")) {
    split = {read_x_and_y(file, "_train"), read_x_and_y(file, "_test")};
    find_label_classes(split, file.path());
  } else {
    require<DataError>(in_parts, file.path(),
                       ": expected arrays x_train, y_train, x_test and y_test",
                       ", x and y, or *_train and *_test for several inputs");
    split = {read_named(file, "_train"), read_named(file, "_test")};
  }
  split.train.name = file.set_name("train");
  split.test.name = file.set_name("test");
  return split;
}

Data read_arrays(const std::string& path, const DataOptions& options) {
  return read_split(ArrayFile(path), options.test_share);
}

bool takes_arrays(const DataPlace& place) {
  return place.is_file && (place.name.ends_with(".npz") || is_safetensors(place.name) ||
                           place.head.starts_with("PK\3\4"));
}

}  // namespace
}  // namespace narrowgauge

NG_READER(arrays, "arrays",
          "an .npz or .safetensors file with x_train, y_train, x_test and y_test (or x and y, or an"
          " array for each input)",
          takes_arrays, read_arrays)
