// SPDX-License-Identifier: Apache-2.0
// An archive of NumPy arrays called as Keras calls those of its sets: x_train, y_train, x_test and
// y_test. Whole numbers [N] or [N,1] as y are labels of classes. For networks with several inputs
// each has an array, ids_train and mask_train; y and labels are what a loss takes.
#include <algorithm>
#include <filesystem>

#include "io/readers/labels.h"
#include "io/readers/reader.h"
#include "narrowgauge/npz.h"

namespace narrowgauge {
namespace {

std::string name_of(const std::string& path, const std::string& part) {
  return concat(std::filesystem::path(path).stem().string(), '/', part);
}

DataSet read_named_part(const std::string& path, const std::string& part) {
  DataSet set;
  set.name = name_of(path, part);
  for (NamedTensor& array : read_npz(path)) {
    if (!array.name.ends_with('_' + part)) continue;
    array.name.resize(array.name.size() - part.size() - 1);
    const bool target = array.name == "y" || array.name == "labels";
    require<DataError>(!array.tensor.dims().empty(), path, ": ", array.name, '_', part, " is ",
                       array.tensor.type(), ", expected a row for each sample");
    (target ? set.targets : set.inputs).push_back(std::move(array));
  }
  require<DataError>(!set.inputs.empty(), path, ": has no array called *_", part);
  return set;
}

DataSet read_part(const std::string& path, const std::string& part) {
  DataSet set;
  set.name = name_of(path, part);
  Tensor x = read_npz(path, "x_" + part), y = read_npz(path, "y_" + part);
  const Dims& dims = y.dims();
  require<DataError>(!x.dims().empty() && !dims.empty() && x.dims()[0] == dims[0], path, ": y_",
                     part, " is ", y.type(), ", expected as many rows as x_", part, " of ",
                     x.type(), " has");
  if (dims.size() == 2 && dims[1] == 1) y = y.reshaped({dims[0]});
  if (!is_floating(y.dtype()) && y.dims().size() == 1) y = y.cast(DType::i64);
  set.inputs = {{"x", std::move(x)}};
  set.targets = {{"y", std::move(y)}};
  return set;
}

bool has_named_inputs(const std::string& path) {
  const std::vector<std::string> names = npz_names(path);
  const auto is_part = [](const std::string& name) { return name.ends_with("_train"); };
  return std::ranges::find(names, "x_train") == names.end() && std::ranges::any_of(names, is_part);
}

DataSplit read_split(const std::string& path) {
  if (has_named_inputs(path))
    return {read_named_part(path, "train"), read_named_part(path, "test")};
  DataSplit split{read_part(path, "train"), read_part(path, "test")};
  const Tensor &labels = split.train.target(), &others = split.test.target();
  require<DataError>(others.dtype() == labels.dtype(), path, ": y_test is ", others.type(),
                     ", y_train is ", labels.type());
  if (labels.dtype() != DType::i64 || labels.dims().size() != 1) return split;
  split.train.classes = split.test.classes = count_classes(labels, path + ": y_train");
  check_labels(others, split.train.classes, path + ": y_test");
  return split;
}

Data read(const std::string& path, const DataOptions&) { return read_split(path); }

bool takes(const DataPlace& place) {
  return place.is_file && (place.name.ends_with(".npz") || place.head.starts_with("PK\3\4"));
}

}  // namespace
}  // namespace narrowgauge

NG_READER(npz, "npz",
          "an .npz file with x_train, y_train, x_test and y_test (or an array for each input)",
          takes, read)
