// SPDX-License-Identifier: Apache-2.0
#include "io/onnx/tensor.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/text/printable.h"
#include "io/onnx/texts.h"
#include "io/onnx/wire.h"

namespace narrowgauge::onnx {

static_assert(std::endian::native == std::endian::little);

namespace {

constexpr std::int64_t most_elements = Tensor::most_elements / 2;  // of up to 128 bits

std::int64_t checked_count(const Dims& dims) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) {
    require<DataError>(dim >= 0, "expected dimensions that are not negative, found ", dims);
    require<DataError>(!__builtin_mul_overflow(count, dim, &count) && count <= most_elements,
                       "dimensions ", dims, " are too large");
  }
  return count;
}

struct Payload {
  NumberList list{};       // none for raw bytes
  std::int64_t count = 0;  // numbers, or raw bytes
};

std::vector<Payload> payloads(const TensorData& tensor) {
  const auto fixed = [](const auto& numbers, std::size_t each) {
    return static_cast<std::int64_t>(numbers.wire.size() / each);
  };
  const auto varints = [](const auto& numbers) {
    return static_cast<std::int64_t>(varints_in(numbers.wire.view()));
  };
  std::vector<Payload> all{{NumberList::floats, fixed(tensor.float_data, sizeof(float))},
                           {NumberList::doubles, fixed(tensor.double_data, sizeof(double))},
                           {NumberList::int32s, varints(tensor.int32_data)},
                           {NumberList::int64s, varints(tensor.int64_data)},
                           {NumberList::uint64s, varints(tensor.uint64_data)},
                           {NumberList::strings, std::ssize(tensor.string_data)}};
  if (tensor.raw_data)
    all.push_back({NumberList::none, static_cast<std::int64_t>(tensor.raw_data->size())});
  std::erase_if(all, [](const Payload& payload) { return payload.count == 0; });
  return all;
}

// How many numbers of its list hold the elements: two for a complex one, and several elements of
// two or four bits share one.
std::int64_t numbers_for(std::int64_t elements, DataType type) {
  const bool complex = type == DataType::complex64 || type == DataType::complex128;
  const int bits = facts_of(type)->bits;
  if (bits == 2 || bits == 4) return bytes_for(elements, bits);
  return complex ? 2 * elements : elements;
}

// Elements whose bits are in the low bytes of varints, one after another.
void unpack(std::string_view wire, std::span<std::byte> elements, std::size_t each) {
  const auto bits = static_cast<int>(8 * each);
  for (std::byte* to = elements.data(); !wire.empty(); to += each) {
    const std::uint64_t number = take_varint(wire);
    const auto value = static_cast<std::int64_t>(number);
    // Bits may stand as a signed or an unsigned number.
    require<DataError>(bits == 64 || (value >= -(std::int64_t{1} << (bits - 1)) &&
                                      value < std::int64_t{1} << bits),
                       "the number ", value, " does not fit ", bits, " bits");
    std::memcpy(to, &number, each);
  }
}

void fill(const TensorData& data, Tensor& tensor) {
  const std::span<std::byte> bytes(tensor.data(), static_cast<std::size_t>(tensor.bytes()));
  const auto copy = [&](std::string_view from) {
    if (!from.empty()) std::memcpy(bytes.data(), from.data(), from.size());
  };
  if (bytes.empty()) return;
  if (data.raw_data && !data.raw_data->empty()) return copy(data.raw_data->view());
  const auto each = static_cast<std::size_t>(std::max(8, bits(tensor.dtype())) / 8);
  switch (facts_of(data.data_type)->list) {
    case NumberList::floats:
      return copy(data.float_data.wire.view());
    case NumberList::doubles:
      return copy(data.double_data.wire.view());
    case NumberList::int64s:
      return unpack(data.int64_data.wire.view(), bytes, each);
    case NumberList::uint64s:
      return unpack(data.uint64_data.wire.view(), bytes, each);
    default:
      return unpack(data.int32_data.wire.view(), bytes, each);
  }
}

// A tensor over the raw bytes, where they can be those of a tensor.
std::optional<Tensor> in_place(const TensorData& data, DType dtype) {
  if (!data.raw_data || data.raw_data->empty()) return {};
  auto memory = data.raw_data->memory();
  const auto address = reinterpret_cast<std::uintptr_t>(memory.get());
  if (!memory || address % Tensor::alignment != 0) return {};
  return Tensor::over(std::move(memory), dtype, data.dims);
}

Tensor copied(const TensorData& data, DType dtype) {
  Tensor tensor(dtype, data.dims);
  fill(data, tensor);
  return tensor;
}

Tensor converted(const TensorData& data) {
  const DataTypeFacts* const facts = facts_of(data.data_type);
  require<DataError>(facts && facts->dtype, name_of(data.data_type), " has no counterpart here");
  require<DataError>(data.data_location == DataLocation::inside || data.raw_data,
                     "its data are in a file beside the model, which was read from memory");
  check_payload(data);
  const auto lying = in_place(data, *facts->dtype);
  Tensor tensor = lying ? *lying : copied(data, *facts->dtype);
  if (*facts->dtype == DType::boolean)  // any other byte read as bool is undefined behaviour
    for (const std::byte b : std::span(tensor.data(), static_cast<std::size_t>(tensor.bytes())))
      require<DataError>(b <= std::byte{1}, "expected 0 or 1 as bool, found ",
                         std::to_integer<int>(b));
  return tensor;
}

}  // namespace

std::string description(const TensorData& tensor) {
  return tensor.name.empty() ? "tensor"
                             : concat("tensor '", printable(tensor.name, most_of_a_name), "'");
}

std::optional<std::int64_t> raw_bytes(const TensorData& tensor) {
  const std::int64_t count = checked_count(tensor.dims);
  const DataTypeFacts* const facts = facts_of(tensor.data_type);
  if (!facts || facts->bits == 0) return {};
  return bytes_for(count, facts->bits);
}

void check_payload(const TensorData& tensor) {
  const std::vector<Payload> filled = payloads(tensor);
  require<DataError>(filled.size() <= 1, "expected elements in one field, found ", filled.size());
  const std::optional<std::int64_t> bytes = raw_bytes(tensor);
  const DataTypeFacts* const facts = facts_of(tensor.data_type);
  if (!facts || (tensor.data_location == DataLocation::external && !tensor.raw_data)) return;
  const std::string type = concat(facts->name, tensor.dims);
  if (!filled.empty() && filled[0].list == NumberList::none) {
    require<DataError>(bytes == filled[0].count, "expected ", bytes.value_or(0), " raw bytes for ",
                       type, ", found ", filled[0].count);
    return;
  }
  require<DataError>(filled.empty() || filled[0].list == facts->list, "the elements of ", type,
                     " are in a field of another type");
  const std::int64_t wanted = facts->list == NumberList::none
                                  ? 0
                                  : numbers_for(element_count(tensor.dims), tensor.data_type);
  const std::int64_t found = filled.empty() ? 0 : filled[0].count;
  require<DataError>(wanted == found, "expected ", wanted, " numbers for ", type, ", found ",
                     found);
}

Tensor tensor_of(const TensorData& tensor) {
  try {
    return converted(tensor);
  } catch (const DataError& error) {
    throw DataError(concat(description(tensor), ": ", error.what()));
  }
}

TensorData with_raw_bytes(TensorData tensor) {
  const DataTypeFacts* const facts = facts_of(tensor.data_type);
  if (tensor.raw_data || tensor.data_location == DataLocation::external) return tensor;
  if (!facts || !facts->dtype) return tensor;
  tensor.raw_data = tensor_data_of(tensor_of(tensor)).raw_data;
  tensor.float_data = {};
  tensor.int32_data = {};
  tensor.int64_data = {};
  tensor.double_data = {};
  tensor.uint64_data = {};
  return tensor;
}

TensorData tensor_data_of(const Tensor& tensor, std::string name) {
  TensorData data;
  data.name = std::move(name);
  data.dims = tensor.dims();
  data.data_type = data_type_of(tensor.dtype());
  const auto owner = std::make_shared<const Tensor>(tensor);
  data.raw_data.emplace(owner, std::string_view(reinterpret_cast<const char*>(owner->data()),
                                                static_cast<std::size_t>(owner->bytes())));
  return data;
}

Texts texts_of(const TensorData& tensor) {
  require<DataError>(tensor.data_type == DataType::string, description(tensor),
                     ": expected texts, found ", name_of(tensor.data_type));
  check_payload(tensor);
  Texts texts{tensor.dims, {}};
  for (const SharedBytes& bytes : tensor.string_data) texts.values.emplace_back(bytes.view());
  return texts;
}

}  // namespace narrowgauge::onnx
