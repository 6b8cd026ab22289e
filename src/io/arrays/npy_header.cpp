// SPDX-License-Identifier: Apache-2.0
#include "io/arrays/npy_header.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace narrowgauge {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
// Shapes need some hundred bytes; more is damage, or field names that are not read here.
constexpr std::int64_t largest_dictionary = 1 << 20;
constexpr std::size_t most_dimensions = 64;

struct Format {
  std::string_view code;  // kind and bytes
  DType dtype;
};
constexpr std::array<Format, 14> formats{{{"f8", DType::f64},
                                          {"f4", DType::f32},
                                          {"f2", DType::f16},
                                          {"i8", DType::i64},
                                          {"i4", DType::i32},
                                          {"i2", DType::i16},
                                          {"i1", DType::i8},
                                          {"u8", DType::u64},
                                          {"u4", DType::u32},
                                          {"u2", DType::u16},
                                          {"u1", DType::u8},
                                          {"b1", DType::boolean},
                                          {"V2", DType::bf16},
                                          {"f1", DType::f8e5m2}}};

// Names that some programs write in place of numpy's codes.
constexpr std::array<Format, 5> ml_dtypes_names{{{"bfloat16", DType::bf16},
                                                 {"float8_e4m3fn", DType::f8e4m3fn},
                                                 {"float8_e5m2", DType::f8e5m2},
                                                 {"float8_e4m3fnuz", DType::f8e4m3fnuz},
                                                 {"float8_e5m2fnuz", DType::f8e5m2fnuz}}};

// Reads the dictionary as numpy writes it; no other Python syntax is understood.
class Dictionary {
 public:
  Dictionary(const std::string& who, std::string_view text) : who_(who), text_(text) {}

  void read() {
    expect('{');
    while (!take('}')) {
      read_entry();
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    check(place_ == text_.size(), "its header goes on after the dictionary");
    check(seen_[0] && seen_[1] && seen_[2],
          "expected descr, fortran_order and shape in its header, found fewer");
  }

  std::string descr;
  bool fortran_order = false;
  Dims shape;

 private:
  template <class... Parts>
  void check(bool condition, const Parts&... message) const {
    require<DataError>(condition, who_, ": ", message...);
  }

  void skip_space() {
    while (place_ < text_.size() && (text_[place_] == ' ' || text_[place_] == '\n')) ++place_;
  }
  bool take(char wanted) {
    skip_space();
    if (place_ == text_.size() || text_[place_] != wanted) return false;
    ++place_;
    return true;
  }
  void expect(char wanted) {
    check(take(wanted), "expected ", wanted, " in its header, found ",
          place_ < text_.size() ? "another byte" : "its end");
  }

  void read_entry() {
    const std::string key = read_text();
    expect(':');
    constexpr std::array<std::string_view, 3> keys{"descr", "fortran_order", "shape"};
    const auto known = std::ranges::find(keys, key);
    check(known != keys.end(), "its header has an unknown entry");
    bool& seen = seen_[static_cast<std::size_t>(known - keys.begin())];
    check(!seen, "its header has \"", key, "\" twice");
    seen = true;
    if (key == "descr") {
      check(!take('['), "holds records of several fields, expected one format");
      descr = read_text();
    } else if (key == "shape") {
      read_shape();
    } else {
      fortran_order = read_truth();
    }
  }

  std::string read_text() {
    skip_space();
    const char quote = place_ < text_.size() ? text_[place_] : ' ';
    check(quote == '\'' || quote == '"', "expected text in quotes in its header, found none");
    const std::size_t end = text_.find(quote, place_ + 1);
    check(end != std::string_view::npos, "its header has a quote without an end");
    const std::string text(text_.substr(place_ + 1, end - place_ - 1));
    const auto plain = [](char c) { return c >= ' ' && c <= '~' && c != '\\'; };
    check(std::ranges::all_of(text, plain), "its header has text that is not plain");
    place_ = end + 1;
    return text;
  }

  bool read_truth() {
    skip_space();
    for (const std::string_view word : {"True", "False"}) {
      if (!text_.substr(place_).starts_with(word)) continue;
      place_ += word.size();
      return word == "True";
    }
    check(false, "expected True or False as fortran_order, found another word");
    return false;
  }

  void read_shape() {
    expect('(');
    while (!take(')')) {
      check(shape.size() < most_dimensions, "expected at most ", most_dimensions, " dimensions");
      shape.push_back(read_number());
      if (!take(',')) {
        expect(')');
        break;
      }
    }
  }

  std::int64_t read_number() {
    skip_space();
    std::int64_t number = -1;
    const char* const begin = text_.data() + place_;
    const auto [stop, error] = std::from_chars(begin, text_.data() + text_.size(), number);
    check(error == std::errc{} && number >= 0,
          "expected whole numbers from 0 up as shape, found others");
    place_ += static_cast<std::size_t>(stop - begin);
    if (place_ < text_.size() && text_[place_] == 'L') ++place_;  // a long of Python 2
    return number;
  }

  const std::string& who_;
  std::string_view text_;
  std::size_t place_ = 0;
  std::array<bool, 3> seen_{};
};

// The format of a code such as "<f4"; sets what else the code says in the header.
void read_format(const std::string& who, const std::string& descr, const NumpyReading& reading,
                 NpyHeader& header) {
  const auto named = std::ranges::find(ml_dtypes_names, std::string_view(descr), &Format::code);
  if (named != ml_dtypes_names.end()) {
    header.dtype = named->dtype;
    return;
  }
  const bool ordered = !descr.empty() && std::string_view("<>|=").find(descr[0]) != descr.npos;
  const std::string_view code = std::string_view(descr).substr(ordered ? 1 : 0);
  header.swapped = descr.starts_with('>');
  if (code == "V1") {
    require<DataError>(reading.one_byte.has_value(), who, ": \"", descr,
                       "\" may be any format of one byte; say which, such as f8e4m3fn");
    require(bits(*reading.one_byte) <= 8 && *reading.one_byte != DType::b1, who, ": ",
            *reading.one_byte, " is not a format of one byte");
    header.dtype = *reading.one_byte;
    header.one_a_byte = bits(header.dtype) < 8;
    return;
  }
  const auto known = std::ranges::find(formats, code, &Format::code);
  require<DataError>(
      known != formats.end(), who,
      ": expected elements of f2, f4, f8, i1, i2, i4, i8, u1, u2, u4, u8, b1 or V2 (bf16), "
      "found \"",
      descr, '"');
  header.dtype = known->dtype;
}

std::string read_dictionary(const std::string& who, const ReadBytes& read, std::int64_t& room) {
  const auto fill = [&](std::span<std::byte> bytes) {
    const std::size_t got = read(bytes);
    require<DataError>(got == bytes.size(), who, ": ends within its header");
    room -= static_cast<std::int64_t>(got);
  };
  std::array<std::byte, 8> front{};
  fill(front);
  const std::string_view text(reinterpret_cast<const char*>(front.data()), front.size());
  require<DataError>(text.starts_with(magic), who, ": does not begin as a .npy file does");
  const auto version = std::to_integer<int>(front[6]);
  require<DataError>(version >= 1 && version <= 3 && front[7] == std::byte{0}, who,
                     ": expected format 1.0, 2.0 or 3.0, found ", version, '.',
                     std::to_integer<int>(front[7]));
  std::array<std::byte, 4> raw{};
  fill(std::span(raw).first(version == 1 ? 2 : 4));
  std::int64_t length = 0;
  for (std::size_t i = 0; i < raw.size(); ++i)
    length |= std::to_integer<std::int64_t>(raw[i]) << (8 * i);
  require<DataError>(length <= largest_dictionary && length <= room, who,
                     ": expected a header of at most ", std::min(largest_dictionary, room),
                     " bytes, found ", length);
  std::string dictionary(static_cast<std::size_t>(length), '\0');
  fill(std::as_writable_bytes(std::span(dictionary)));
  return dictionary;
}

// The bytes of all elements; -1 if they do not fit 63 bits.
std::int64_t byte_count(const Dims& dims, std::int64_t each) {
  for (const std::int64_t dim : dims)
    if (__builtin_mul_overflow(each, std::max<std::int64_t>(dim, 1), &each)) return -1;
  return std::ranges::find(dims, 0) == dims.end() ? each : 0;
}

}  // namespace

NpyHeader read_npy_header(const std::string& who, const ReadBytes& read, std::int64_t room,
                          const NumpyReading& reading) {
  const std::string text = read_dictionary(who, read, room);
  Dictionary dictionary(who, text);
  dictionary.read();
  NpyHeader header;
  read_format(who, dictionary.descr, reading, header);
  header.dims = std::move(dictionary.shape);
  header.fortran_order = dictionary.fortran_order;
  header.element_bytes = header.one_a_byte ? 1 : bits(header.dtype) / 8;
  // Even without elements, the product of the other dimensions must fit, as strides do.
  Dims nonzero = header.dims;
  std::erase(nonzero, 0);
  require<DataError>(byte_count(nonzero, header.element_bytes) >= 0, who, ": ", header.dtype,
                     header.dims, " is larger than any memory");
  header.bytes = byte_count(header.dims, header.element_bytes);
  require<DataError>(header.bytes <= room, who, ": expected ", header.bytes, " bytes for ",
                     header.dtype, header.dims, ", found at most ", room);
  return header;
}

namespace {

std::string code_of(DType dtype) {
  if (is_floating(dtype) && bits(dtype) == 8) return "<V1";
  const auto known = std::ranges::find(formats, dtype, &Format::dtype);
  require(known != formats.end(), "npy: ", dtype, " cannot be stored");
  return concat(bits(dtype) == 8 ? "|" : "<", known->code);
}

}  // namespace

std::string npy_header(const Tensor& tensor) {
  std::string text =
      concat("{'descr': '", code_of(tensor.dtype()), "', 'fortran_order': False, 'shape': (");
  const Dims& dims = tensor.dims();
  for (std::size_t i = 0; i < dims.size(); ++i) text += concat(i > 0 ? ", " : "", dims[i]);
  text += dims.size() == 1 ? ",), }" : "), }";
  // As numpy does, leaves room for the first dimension to grow in place, and at least one space.
  if (!dims.empty()) text.append(21 - std::to_string(dims[0]).size(), ' ');
  const bool wide = text.size() > std::numeric_limits<std::uint16_t>::max() - 128;
  const std::size_t front = magic.size() + 2 + (wide ? 4 : 2);
  text.append(64 - (front + text.size() + 1) % 64, ' ');
  text += '\n';
  std::string out(magic);
  out += wide ? '\2' : '\1';
  out += '\0';
  for (std::size_t i = 0; i < (wide ? 4u : 2u); ++i)
    out += static_cast<char>(text.size() >> (8 * i) & 255);
  return out + text;
}

}  // namespace narrowgauge
