// SPDX-License-Identifier: Apache-2.0
// Packs what kernels want packed, unless it is known already.
#include "base/hash/xxh64.h"
#include "compile/plan.h"

namespace narrowgauge {

namespace {

using Input = std::variant<std::monostate, Tensor, std::size_t>;

const Tensor* source_of(const Input& input, std::span<const Tensor> states) {
  if (const auto* state = std::get_if<std::size_t>(&input)) return &states[*state];
  return std::get_if<Tensor>(&input);
}

std::uint64_t hash_of(const std::vector<Input>& inputs, std::span<const Tensor> states) {
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor* const source = source_of(inputs[i], states);
    if (!source) continue;
    const std::string type = concat(i, ' ', source->type());
    hash = xxh64(std::as_bytes(std::span(type)), hash);
    hash = xxh64({source->data(), static_cast<std::size_t>(source->bytes())}, hash);
  }
  return hash;
}

}  // namespace

void PlanPacking::make(std::span<const Tensor> values, std::byte* packed) const {
  std::vector<View> views(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (const Tensor* const source = source_of(inputs[i], values))
      views[i].data = const_cast<std::byte*>(source->data());
  packing.run(views, packed);
}

std::shared_ptr<std::byte> PlanPacking::room() const {
  const auto tensor = std::make_shared<Tensor>(DType::u8, Dims{packing.bytes});
  return {tensor, tensor->data()};
}

PackedBytes PlanPacking::find_or_make(std::span<const Tensor> values) const {
  PackedKey key;
  if (memory) key = {name, hash_of(inputs, values), packing.bytes};
  if (PackedBytes found = memory ? memory->find(key) : nullptr) return found;
  const std::shared_ptr<std::byte> packed = room();
  make(values, packed.get());
  if (memory) memory->keep(key, packed);
  return packed;
}

}  // namespace narrowgauge
