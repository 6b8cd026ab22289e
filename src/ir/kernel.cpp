// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/kernel.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "base/unloading.h"

namespace narrowgauge {

namespace {
constexpr std::array<std::string_view, 9> math_names{"none", "ieee",   "f32",    "f16",  "bf16",
                                                     "tf32", "tf32x3", "bf16x3", "dfp16"};
}

namespace {

// The texts of all simulated modes, made once.
const std::string& simulated_name(Math math) {
  using Names = std::map<Math, std::string>;
  static const auto& names = immortal<Names>([] {
    Names all;
    for (int unit = 0; unit < matrix_unit_count; ++unit)
      for (int format = 0; format < unit_format_count; ++format) {
        const auto u = static_cast<MatrixUnit>(unit);
        const auto f = static_cast<UnitFormat>(format);
        std::string text = concat("sim:", name(u));
        if (f != UnitFormat::automatic) text += concat(':', name(f));
        all.emplace(simulated(u, f), std::move(text));
      }
    return all;
  }());
  return names.at(math);
}

std::string list_of(std::span<const std::string_view> names) {
  std::string text;
  for (const std::string_view name : names) text += concat(text.empty() ? "" : ", ", name);
  return text;
}

Math parse_simulated(std::string_view text) {
  namespace tables = matrix_unit_tables;
  const std::string_view rest = text.substr(text.find(':') + 1);
  const std::size_t colon = rest.find(':');
  const auto unit = parse_matrix_unit(rest.substr(0, colon));
  require(unit.has_value(), "math: unknown matrix unit in '", text, "', expected one of ",
          list_of(tables::unit_names));
  if (colon == std::string_view::npos) return simulated(*unit);
  const auto format = parse_unit_format(rest.substr(colon + 1));
  require(format.has_value(), "math: unknown format in '", text, "', expected one of ",
          list_of(tables::format_names));
  return simulated(*unit, *format);
}

}  // namespace

std::string_view name(Math math) {
  if (is_simulated(math)) return simulated_name(math);
  return math_names.at(static_cast<std::size_t>(math));
}

Math parse_math(std::string_view text) {
  if (text.starts_with("sim:")) return parse_simulated(text);
  const auto found = std::find(math_names.begin(), math_names.end(), text);
  require(found != math_names.end(), "math: unknown mode '", text, "'");
  return static_cast<Math>(found - math_names.begin());
}

bool is_f32_math(Math math) {
  return math == Math::ieee || math == Math::f32 || math == Math::tf32 || math == Math::tf32x3 ||
         math == Math::bf16x3 || math == Math::dfp16 || is_simulated(math);
}

Offer Offer::decline(std::string reason) {
  Offer offer;
  offer.reason = std::move(reason);
  return offer;
}

Storage Storage::channels_last(std::int64_t rank) {
  Storage storage;
  storage.order.push_back(0);
  for (std::int64_t axis = 2; axis < rank; ++axis) storage.order.push_back(axis);
  storage.order.push_back(1);
  return storage;
}

Storage Storage::channels_blocked(std::int64_t rank, std::int64_t block) {
  Storage storage;
  storage.order.resize(static_cast<std::size_t>(rank));
  std::iota(storage.order.begin(), storage.order.end(), 0);
  storage.blocks = {{1, block}};
  return storage;
}

Storage Storage::batch_inner() {
  Storage storage;
  storage.order = {0, 2, 3, 1};
  storage.blocks = {{0, 32}, {1, 32}};
  return storage;
}

void append_text(std::string& out, const Storage& storage) {
  if (storage.is_plain()) {
    out += "plain";
    return;
  }
  for (const std::int64_t axis : storage.order) out += static_cast<char>('0' + axis);
  for (const auto& block : storage.blocks) {
    out += '|';
    append_text(out, block.axis);
    out += ':';
    append_text(out, block.size);
  }
  if (!storage.encoding.empty()) out += '!' + storage.encoding;
}

namespace {

std::int64_t parse_digits(std::string_view& text, std::string_view whole) {
  std::int64_t value = 0;
  std::size_t used = 0;
  while (used < text.size() && used < 9 && text[used] >= '0' && text[used] <= '9')
    value = value * 10 + (text[used++] - '0');
  require(used > 0, "storage: expected a number in '", whole, "'");
  text.remove_prefix(used);
  return value;
}

}  // namespace

Storage Storage::parse(std::string_view whole) {
  Storage storage;
  std::string_view text = whole;
  if (text == "plain") return storage;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    storage.order.push_back(text[0] - '0');
    text.remove_prefix(1);
  }
  while (!text.empty() && text[0] == '|') {
    text.remove_prefix(1);
    const std::int64_t axis = parse_digits(text, whole);
    require(!text.empty() && text[0] == ':', "storage: expected ':' in '", whole, "'");
    text.remove_prefix(1);
    storage.blocks.push_back({axis, parse_digits(text, whole)});
  }
  if (!text.empty() && text[0] == '!') {
    storage.encoding = text.substr(1);
    text = {};
  }
  std::vector<std::int64_t> sorted = storage.order;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i)
    require(sorted[i] == static_cast<std::int64_t>(i), "storage: '", whole,
            "' does not name every axis once");
  require(text.empty(), "storage: cannot read '", whole, "'");
  return storage;
}

std::int64_t stored_elements(const Dims& dims, const Storage& storage) {
  Dims padded = dims;
  for (const auto& [axis, size] : storage.blocks) {
    auto& dim = padded.at(static_cast<std::size_t>(axis));
    dim = (dim + size - 1) / size * size;
  }
  return element_count(padded);
}

Dims strides_of(const Dims& dims, const Storage& storage) {
  NG_INVARIANT(storage.blocks.empty() && storage.encoding.empty());
  if (storage.order.empty()) return dense_strides(dims);
  NG_INVARIANT(storage.order.size() == dims.size());
  Dims strides(dims.size());
  std::int64_t stride = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    const auto axis = static_cast<std::size_t>(storage.order[i]);
    strides[axis] = stride;
    (void)__builtin_mul_overflow(stride, dims[axis], &stride);  // as in dense_strides()
  }
  return strides;
}

}  // namespace narrowgauge
