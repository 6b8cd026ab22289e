// SPDX-License-Identifier: Apache-2.0
#include "io/arrays/safetensors_header.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/text/json_reading.h"
#include "base/text/json_writing.h"

namespace narrowgauge {
namespace {

using Json = nlohmann::json;

struct DtypeName {
  std::string_view name;
  DType dtype;
};
// Dtypes in the order in which the reference lays out tensors: wide ones first, so that all are
// aligned.
constexpr std::array<DtypeName, 17> dtype_names{{
    {"U64", DType::u64},
    {"I64", DType::i64},
    {"F64", DType::f64},
    {"F32", DType::f32},
    {"U32", DType::u32},
    {"I32", DType::i32},
    {"BF16", DType::bf16},
    {"F16", DType::f16},
    {"U16", DType::u16},
    {"I16", DType::i16},
    {"F8_E8M0", DType::f8e8m0},
    {"F8_E4M3", DType::f8e4m3fn},
    {"F8_E5M2", DType::f8e5m2},
    {"I8", DType::i8},
    {"U8", DType::u8},
    {"F4", DType::f4e2m1},
    {"BOOL", DType::boolean},
}};

// Checks while parsing, since the parser takes the last of equal keys and any depth and length.
class HeaderGuard {
 public:
  explicit HeaderGuard(const std::string& path) : path_(path) {}

  void operator()(int depth, JsonEvent event, std::string_view key) {
    constexpr int deepest = 3;        // header, tensor, shape
    constexpr int most_numbers = 64;  // dimensions
    require<DataError>(depth <= deepest, path_, ": its header is nested too deeply");
    if (event == JsonEvent::begin_object || event == JsonEvent::begin_list) {
      keys_.emplace_back();
      numbers_ = 0;
    }
    if (event == JsonEvent::end) keys_.pop_back();
    if (event == JsonEvent::value && depth == deepest)
      require<DataError>(++numbers_ <= most_numbers, path_, ": expected at most ", most_numbers,
                         " dimensions");
    if (event == JsonEvent::key)
      require<DataError>(keys_.back().emplace(key).second, path_, ": its header has \"", key,
                         "\" twice");
  }

 private:
  const std::string& path_;
  std::vector<std::set<std::string>> keys_;  // of the objects and lists that are open
  int numbers_ = 0;
};

// Reads one tensor's entry; errors name file and tensor.
class EntryReader {
 public:
  EntryReader(const std::string& path, const std::string& name, const Json& entry)
      : who_(concat(path, ": tensor ", name, ": ")), name_(name), entry_(entry) {
    check(entry.is_object() && entry.size() == 3, "expected dtype, shape and data_offsets, found ",
          entry.type_name(), " with ", entry.size());
  }

  SafetensorsEntry read() const {
    SafetensorsEntry result{.name = name_, .dtype = read_dtype(), .dims = {}};
    result.dims = read_numbers("shape");
    const std::vector<std::int64_t> offsets = read_numbers("data_offsets");
    check(offsets.size() == 2 && offsets[0] <= offsets[1],
          "expected data_offsets [begin,end], found ", entry_["data_offsets"].dump());
    result.begin = offsets[0];
    result.end = offsets[1];
    const std::int64_t found = result.end - result.begin;
    check(byte_count(result.dims, result.dtype) == found, "expected data_offsets that fit ",
          entry_["dtype"].get_ref<const std::string&>(), result.dims, ", found ", found, " bytes");
    return result;
  }

 private:
  template <class... Parts>
  void check(bool condition, const Parts&... message) const {
    require<DataError>(condition, who_, message...);
  }

  DType read_dtype() const {
    const auto found = entry_.find("dtype");
    check(found != entry_.end() && found->is_string(), "expected a dtype, found none");
    const std::string& text = found->get_ref<const std::string&>();
    const auto known = std::ranges::find(dtype_names, text, &DtypeName::name);
    check(known != dtype_names.end(), "expected a dtype that is supported, found ", text);
    return known->dtype;
  }

  Dims read_numbers(const char* key) const {
    const auto found = entry_.find(key);
    check(found != entry_.end() && found->is_array(), "expected a list as ", key, ", found ",
          found != entry_.end() ? found->type_name() : "none");
    Dims numbers;
    for (const Json& number : *found) {
      constexpr std::uint64_t largest = std::uint64_t{1} << 62;
      check(number.is_number_unsigned() && number.get<std::uint64_t>() <= largest,
            "expected numbers from 0 up as ", key, ", found ", number.dump());
      numbers.push_back(number.get<std::int64_t>());
    }
    return numbers;
  }

  // The bytes of all elements; -1 if they do not fit 64 bits or end within a byte.
  static std::int64_t byte_count(const Dims& dims, DType dtype) {
    std::int64_t all_bits = bits(dtype);
    for (const std::int64_t dim : dims)
      if (__builtin_mul_overflow(all_bits, std::max<std::int64_t>(dim, 1), &all_bits)) return -1;
    if (std::ranges::find(dims, 0) != dims.end()) return 0;
    return all_bits % 8 == 0 ? all_bits / 8 : -1;
  }

  std::string who_;
  const std::string& name_;
  const Json& entry_;
};

JsonDocument<Json> parse_header(const std::string& path, std::string_view json) {
  require<DataError>(!json.empty() && json.front() == '{', path,
                     ": expected a header that begins with {, found ",
                     json.empty() ? "an empty one" : "another byte");
  constexpr int unexpected_input = 101;  // nlohmann::json::parse_error
  try {
    return parse_guarded_json<Json>(json, HeaderGuard(path));
  } catch (const Json::exception& error) {
    // The parser's own message quotes the input, which may be anything.
    throw DataError(
        concat(path, ": expected a header of JSON, found an error (",
               error.id == unexpected_input ? "not JSON or not UTF-8" : "a number too large", ")"));
  }
}

void read_metadata(const std::string& path, const Json& json, SafetensorsHeader& header) {
  require<DataError>(json.is_object(), path, ": expected __metadata__ as text by name, found ",
                     json.type_name());
  for (const auto& [key, value] : json.items()) {
    require<DataError>(value.is_string(), path, ": expected text as __metadata__ ", key, ", found ",
                       value.type_name());
    header.metadata.emplace(key, value.get<std::string>());
  }
}

void check_cover(const std::string& path, const std::vector<SafetensorsEntry>& entries,
                 std::int64_t data_bytes) {
  std::int64_t end = 0;
  for (const SafetensorsEntry& entry : entries) {
    require<DataError>(entry.begin == end, path, ": tensor ", entry.name,
                       ": expected data from byte ", end,
                       " on, where the one before it ends, found ", entry.begin);
    end = entry.end;
  }
  require<DataError>(end == data_bytes, path, ": expected ", end, " bytes of data, found ",
                     data_bytes);
}

}  // namespace

SafetensorsHeader parse_safetensors_header(const std::string& path, std::string_view json,
                                           std::int64_t data_bytes) {
  const auto root = parse_header(path, json);
  SafetensorsHeader header;
  for (const auto& [name, entry] : root.items()) {
    if (name == safetensors_metadata_key)
      read_metadata(path, entry, header);
    else
      header.entries.push_back(EntryReader(path, name, entry).read());
  }
  std::ranges::sort(header.entries, {}, [](const SafetensorsEntry& entry) {
    return std::pair(entry.begin, entry.end);
  });
  check_cover(path, header.entries, data_bytes);
  return header;
}

int safetensors_place(DType dtype) {
  const auto known = std::ranges::find(dtype_names, dtype, &DtypeName::dtype);
  return known == dtype_names.end() ? -1 : static_cast<int>(known - dtype_names.begin());
}

namespace {

std::string metadata_text(const std::map<std::string, std::string>& metadata) {
  std::string text = concat(json_text<Json>(safetensors_metadata_key), ":{");
  for (const char* comma = ""; const auto& [key, value] : metadata) {
    text += concat(comma, json_text<Json>(key), ':', json_text<Json>(value));
    comma = ",";
  }
  return text + '}';
}

std::string entry_text(const SafetensorsEntry& entry) {
  const int place = safetensors_place(entry.dtype);
  require(place >= 0, "safetensors: tensor ", entry.name, ": ", entry.dtype, " cannot be stored");
  require(element_count(entry.dims) * bits(entry.dtype) % 8 == 0, "safetensors: tensor ",
          entry.name, ": expected whole bytes, got ", entry.dtype, entry.dims);
  std::string shape;
  for (const std::int64_t dim : entry.dims) shape += concat(shape.empty() ? "" : ",", dim);
  return concat(json_text<Json>(entry.name), ":{\"dtype\":\"",
                dtype_names[static_cast<std::size_t>(place)].name, "\",\"shape\":[", shape,
                "],\"data_offsets\":[", entry.begin, ',', entry.end, "]}");
}

}  // namespace

std::string format_safetensors_header(const SafetensorsHeader& header) {
  std::string text = "{";
  try {
    if (!header.metadata.empty()) text += metadata_text(header.metadata);
    // Keeps the given order: the reference writes by offset too.
    for (const SafetensorsEntry& entry : header.entries) {
      if (text.size() > 1) text += ',';
      text += entry_text(entry);
    }
  } catch (const Json::exception&) {
    throw UsageError("safetensors: expected names and metadata in UTF-8");
  }
  text += '}';
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace narrowgauge
