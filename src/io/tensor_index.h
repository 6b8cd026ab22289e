// SPDX-License-Identifier: Apache-2.0
// The tensors of a file by name, for whoever looks many of them up.
#pragma once

#include <string_view>
#include <unordered_map>

#include "narrowgauge/safetensors.h"

namespace narrowgauge {

// The file must not change while it is used.
class TensorIndex {
 public:
  explicit TensorIndex(const TensorFile& file) {
    for (const NamedTensor& each : file.tensors) tensors_.try_emplace(each.name, &each.tensor);
  }
  const Tensor* find(std::string_view name) const {  // nullptr: none
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : found->second;
  }

 private:
  std::unordered_map<std::string_view, const Tensor*> tensors_;
};

}  // namespace narrowgauge
