// SPDX-License-Identifier: Apache-2.0
#include "api/model/onnx_memory.h"

#include <algorithm>

#include "api/model/model_implementation.h"
#include "base/text/printable.h"
#include "io/onnx/read.h"

namespace narrowgauge {

namespace {

// A copy in memory that is aligned as a tensor's, so that tensors may lie in it.
SharedBytes copy_of(std::span<const std::byte> bytes, Mapping mapping) {
  if (bytes.empty()) return {};
  auto memory = std::make_shared<Tensor>(DType::u8, Dims{std::ssize(bytes)});
  std::ranges::copy(bytes, memory->data());
  const std::span<char> copy(reinterpret_cast<char*>(memory->data()), bytes.size());
  if (mapping == Mapping::change_copy) return SharedBytes::changeable(std::move(memory), copy);
  return {std::move(memory), {copy.data(), copy.size()}};
}

}  // namespace

onnx::Model read_onnx(std::span<const std::byte> bytes, const OnnxMemory& memory, Mapping mapping) {
  onnx::ExternalFiles external([&](const std::string& location) {
    const std::string shown = printable(location, onnx::most_of_a_name);
    require<DataError>(memory.external != nullptr, "external data '", shown,
                       "': the model lies in memory, and nothing gives its other files");
    return copy_of(memory.external(location), mapping);
  });
  return onnx::read_model(copy_of(bytes, mapping), memory.name, std::move(external));
}

Model Model::from_onnx(std::span<const std::byte> bytes, const OnnxMemory& memory,
                       const KnownInputs& known, const OnnxTraining& training) {
  return ModelAccess::from_onnx(memory.name, read_onnx(bytes, memory), known, training);
}

}  // namespace narrowgauge
