// SPDX-License-Identifier: Apache-2.0
// The files beside a model that hold its external tensors.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "io/onnx/tensor.h"

namespace narrowgauge::onnx {

class ExternalFiles {
 public:
  explicit ExternalFiles(std::filesystem::path folder, Mapping mapping = Mapping::read)
      : folder_(std::move(folder)), mapping_(mapping) {}

  // The bytes of an external tensor: a view into the file that it names, which is mapped once.
  // Throws DataError for a path that is absolute, has "..", or leads out of the folder by symbolic
  // links, for what is no regular file, and for bytes that the file lacks or the tensor does not
  // need.
  SharedBytes bytes_of(const TensorData& tensor);

 private:
  const SharedBytes& file(const std::string& location);

  std::filesystem::path folder_;
  Mapping mapping_;
  std::map<std::string, SharedBytes> files_;
};

}  // namespace narrowgauge::onnx
