// SPDX-License-Identifier: Apache-2.0
// The files that hold the external tensors of a model: beside it, or wherever its reader has them.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "io/onnx/tensor.h"

namespace narrowgauge::onnx {

class ExternalFiles {
 public:
  // The bytes of the file of this name. Throws DataError.
  using Find = std::function<SharedBytes(const std::string& location)>;
  explicit ExternalFiles(Find find) : find_(std::move(find)) {}
  // The files of a folder, which are mapped. Refused are a path that is absolute, has "..", or
  // leads out of the folder by symbolic links, and what is no regular file.
  explicit ExternalFiles(std::filesystem::path folder, Mapping mapping = Mapping::read);

  // The bytes of an external tensor: a view into the file that it names, which is asked for once.
  // Throws DataError for bytes that the file lacks or the tensor does not need.
  SharedBytes bytes_of(const TensorData& tensor);

 private:
  const SharedBytes& file(const std::string& location);

  Find find_;
  std::map<std::string, SharedBytes> files_;
};

}  // namespace narrowgauge::onnx
