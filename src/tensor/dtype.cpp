// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/dtype.h"

#include <array>

#include "narrowgauge/error.h"

namespace narrowgauge {
namespace {

enum class Kind : std::uint8_t { floating, integer, whole, truth };  // whole: not negative

struct Facts {
  std::string_view name;
  int bits;
  Kind kind;
  double largest, smallest_normal = 0, smallest_subnormal = 0;
};

constexpr std::array<Facts, dtype_count> table{{
    {"f64", 64, Kind::floating, 0x1.fffffffffffffp1023, 0x1p-1022, 0x1p-1074},
    {"f32", 32, Kind::floating, 0x1.fffffep127, 0x1p-126, 0x1p-149},
    {"f16", 16, Kind::floating, 65504, 0x1p-14, 0x1p-24},
    {"bf16", 16, Kind::floating, 0x1.fep127, 0x1p-126, 0x1p-133},
    {"f8e4m3fn", 8, Kind::floating, 448, 0x1p-6, 0x1p-9},
    {"f8e5m2", 8, Kind::floating, 57344, 0x1p-14, 0x1p-16},
    {"f8e4m3fnuz", 8, Kind::floating, 240, 0x1p-7, 0x1p-10},
    {"f8e5m2fnuz", 8, Kind::floating, 57344, 0x1p-15, 0x1p-17},
    {"f4e2m1", 4, Kind::floating, 6, 1, 0.5},
    {"f8e8m0", 8, Kind::floating, 0x1p127, 0x1p-127, 0x1p-127},
    {"i64", 64, Kind::integer, 0x1.fffffffffffffp62},  // the largest double below 2^63
    {"i32", 32, Kind::integer, 2147483647},
    {"i16", 16, Kind::integer, 32767},
    {"i8", 8, Kind::integer, 127},
    {"u64", 64, Kind::whole, 0x1.fffffffffffffp63},
    {"u32", 32, Kind::whole, 4294967295},
    {"u16", 16, Kind::whole, 65535},
    {"u8", 8, Kind::whole, 255},
    {"i4", 4, Kind::integer, 7},
    {"u4", 4, Kind::whole, 15},
    {"i2", 2, Kind::integer, 1},
    {"u2", 2, Kind::whole, 3},
    {"b1", 1, Kind::truth, 1},
    {"bool", 8, Kind::truth, 1},
}};

const Facts& facts(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  NG_INVARIANT(index < table.size());
  return table[index];
}

const Facts& floating_facts(DType dtype) {
  const Facts& found = facts(dtype);
  require(found.kind == Kind::floating, "dtype: ", found.name, " has no normal numbers");
  return found;
}

}  // namespace

std::string_view name(DType dtype) { return facts(dtype).name; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (std::size_t i = 0; i < table.size(); ++i)
    if (table[i].name == name) return static_cast<DType>(i);
  return {};
}

int bits(DType dtype) { return facts(dtype).bits; }
bool is_floating(DType dtype) { return facts(dtype).kind == Kind::floating; }
bool is_integer(DType dtype) { return facts(dtype).kind == Kind::integer || is_unsigned(dtype); }
bool is_unsigned(DType dtype) { return facts(dtype).kind == Kind::whole; }
bool is_storage_only(DType dtype) { return dtype == DType::f4e2m1 || dtype == DType::f8e8m0; }
double largest_finite(DType dtype) { return facts(dtype).largest; }
double smallest_normal(DType dtype) { return floating_facts(dtype).smallest_normal; }
double smallest_subnormal(DType dtype) { return floating_facts(dtype).smallest_subnormal; }

}  // namespace narrowgauge
