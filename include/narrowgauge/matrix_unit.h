// SPDX-License-Identifier: Apache-2.0
// The matrix units whose arithmetic is known bit by bit: how each adds up products, in which
// formats, and how sure that is. Header-only; matrix_unit_arithmetic.h computes with it.
//
// Sources: MMA-Sim (Xie et al., arXiv 2511.10909), Khattak and Mikaitis (arXiv 2512.07004), Fasi,
// Higham, Mikaitis and Pranesh (PeerJ CS 7:e330, 2021), FTTN (arXiv 2403.00232); the CPUs' units
// were compared with the instructions themselves, and so was the H100's (tests/gpu).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace narrowgauge {

// GPUs' tensor cores; h100 is wgmma and b200 tcgen05.mma, h100_mma and b200_mma are the older
// mma.sync on the same GPUs, which differs in operands of 8 bits alone. Then the CPUs' units, and
// chains of IEEE operations in f32: `ieee` one FMA after the other in the order of k, `ieee_split4`
// four such chains over quarters of k whose sums are added in order, `ieee_pairwise` the tree of
// halves.
enum class MatrixUnit : std::uint8_t {
  v100,
  t4,
  a100,
  ada,
  h100,
  h100_mma,
  b200,
  b200_mma,
  amx,
  avx512_bf16,
  vnni,
  ieee,
  ieee_split4,
  ieee_pairwise
};
inline constexpr int matrix_unit_count = 14;  // of MatrixUnit

// Formats of operands and results. `automatic` stands for the format of the value at hand. The mx
// and nv formats carry a scale for each block of 32 or 16 elements along k.
enum class UnitFormat : std::uint8_t {
  automatic,
  f64,
  f32,
  tf32,
  bf16,
  f16,
  f8e4m3,
  f8e5m2,
  mxf8e4m3,
  mxf8e5m2,
  mxf4,
  nvf4,
  s8,
  u8,
  s4,
  u4,
  b1,
  s32
};
inline constexpr int unit_format_count = 18;  // of UnitFormat

// How sure a model is: compared here with what the hardware gave, taken from publications that
// measured it, or open.
enum class Evidence : std::uint8_t { verified, published, unresolved };

// How products are added up.
//   truncated     `terms` products and c, each cut towards zero to `fraction` bits below the
//                 largest exponent among them; their exact sum is rounded once, to +0 where nothing
//                 is left of it
//   then_added    two such sums, of the first and of the second pair of each four k, the first with
//                 c = 0 and the second with the first's result; c is added last, to nearest even.
//                 (f8 of mma.sync, run as two operations on f16.)
//   groups        products of 16 block-scaled elements are summed exactly, then as `truncated`
//   fma_chain     c = fma(a, b, c), in the order of k
//   split_chains, pairwise   see MatrixUnit
//   even_and_odd  AMX: two chains of FMAs, over even and over odd k, are added, then c; subnormals
//                 count as zero
//   odd_then_even AVX512-BF16: of each pair of k the second, then the first; subnormals are zero
//   integer       exact, modulo 2^32
enum class Summation : std::uint8_t {
  truncated,
  then_added,
  groups,
  fma_chain,
  split_chains,
  pairwise,
  even_and_odd,
  odd_then_even,
  integer
};

// How a sum becomes a result: f32 cut towards zero to 23 or to 13 bits, f16 to nearest even, or as
// the operation itself rounds.
enum class ResultRounding : std::uint8_t { own, f32_cut, f32_cut_to_13, f16_nearest };

// How one unit computes products of one format with results in another: what dot_product_add() and
// the simulator compute with.
struct UnitModel {
  MatrixUnit unit{};               // whose arithmetic it is
  UnitFormat operand{}, result{};  // of a and b; of c and d
  Summation summation{};           // how products are added up
  int terms = 1;                   // L: products that are added at once
  int fraction = 0;                // F: fractional bits of a term below the common exponent
  int floor = 0;                   // the least common exponent
  ResultRounding rounding = ResultRounding::own;  // how the sum becomes a result
  Evidence evidence = Evidence::published;        // how sure the model is
  std::string_view source;                        // where it is from
  int c_floor = -126;  // the least exponent of a c that is not 0; -14: subnormals of f16 have f16's
};

namespace matrix_unit_tables {

inline constexpr std::array<std::string_view, matrix_unit_count> unit_names{
    "v100",     "t4",  "a100",        "ada",  "h100", "h100-mma",    "b200",
    "b200-mma", "amx", "avx512-bf16", "vnni", "ieee", "ieee-split4", "ieee-pairwise"};

inline constexpr std::array<std::string_view, unit_format_count> format_names{
    "automatic", "f64",  "f32",  "tf32", "bf16", "f16", "f8e4m3", "f8e5m2", "mxf8e4m3",
    "mxf8e5m2",  "mxf4", "nvf4", "s8",   "u8",   "s4",  "u4",     "b1",     "s32"};

struct Alias {
  std::string_view name;
  MatrixUnit unit;
};
inline constexpr std::array<Alias, 6> aliases{{{"h200", MatrixUnit::h100},
                                               {"l40s", MatrixUnit::ada},
                                               {"l4", MatrixUnit::ada},
                                               {"a40", MatrixUnit::a100},
                                               {"gb200", MatrixUnit::b200},
                                               {"fma", MatrixUnit::ieee}}};

inline constexpr std::string_view khattak = "measured, arXiv 2512.07004";
inline constexpr std::string_view mma_sim = "measured, arXiv 2511.10909";
inline constexpr std::string_view compared = "compared with the instruction";

// One generation of tensor cores for 16-bit operands; those of 10 + 8 bits take half the terms.
struct Generation {
  MatrixUnit unit;
  int terms, fraction, f32_floor, f16_floor;
  Evidence evidence;
  std::string_view source;
  int f16_c_floor = -126;
};
inline constexpr std::array<Generation, 6> generations{{
    {MatrixUnit::v100, 4, 23, -1024, -19, Evidence::verified, khattak},
    {MatrixUnit::t4, 8, 24, -132, -20, Evidence::published, mma_sim},
    {MatrixUnit::a100, 8, 24, -132, -20, Evidence::verified, khattak},
    {MatrixUnit::ada, 8, 24, -132, -20, Evidence::verified, khattak},
    {MatrixUnit::h100, 16, 25, -133, -21, Evidence::verified, compared, -14},
    {MatrixUnit::b200, 16, 25, -133, -21, Evidence::verified, khattak},
}};

class Table {
 public:
  static constexpr int capacity = 128;

  constexpr Table() {
    for (const Generation& generation : generations) add_generation(generation);
    add_f8();
    add_blocks();
    add_cpus();
    add_chains();
  }
  constexpr std::span<const UnitModel> models() const { return {models_.data(), count_}; }

 private:
  constexpr void add(const UnitModel& model) { models_[count_++] = model; }

  constexpr void add_generation(const Generation& g) {
    using enum UnitFormat;
    const auto cut = [&](UnitFormat operand, int terms, Evidence evidence) {
      add({g.unit, operand, f32, Summation::truncated, terms, g.fraction, g.f32_floor,
           ResultRounding::f32_cut, evidence, evidence == Evidence::verified ? g.source : mma_sim});
    };
    cut(f16, g.terms, g.evidence);
    add({g.unit, f16, f16, Summation::truncated, g.terms, g.fraction, g.f16_floor,
         ResultRounding::f16_nearest, g.evidence, g.source, g.f16_c_floor});
    if (g.unit >= MatrixUnit::a100) {
      cut(bf16, g.terms, g.evidence);
      // The data of the B200 have four products in a row and say nothing of eight.
      cut(tf32, g.terms / 2, g.unit == MatrixUnit::b200 ? Evidence::published : g.evidence);
      const bool is_compared = g.source == compared;
      add({g.unit, f64, f64, Summation::fma_chain, 1, 0, 0, ResultRounding::own,
           is_compared ? Evidence::verified : Evidence::published,
           is_compared ? compared : mma_sim});
    }
    add({g.unit, f32, f32, Summation::fma_chain, 1, 0, 0, ResultRounding::own, Evidence::published,
         "FMAs of the CUDA cores, in the order of k"});
    if (g.unit >= MatrixUnit::t4) add_integers(g.unit);
  }

  constexpr void add_integers(MatrixUnit unit) {
    using enum UnitFormat;
    for (const UnitFormat operand : {s8, u8, s4, u4, b1}) {
      const bool bytes = operand == s8 || operand == u8;
      if (!bytes && unit > MatrixUnit::ada) continue;  // no longer in hardware
      const bool is_compared = unit == MatrixUnit::h100;
      add({unit, operand, s32, Summation::integer, 1, 0, 0, ResultRounding::own,
           is_compared ? Evidence::verified : Evidence::published,
           is_compared ? compared : "exact by definition, PTX ISA"});
    }
  }

  constexpr void add_f8() {
    using enum UnitFormat;
    using enum MatrixUnit;
    constexpr auto cut13 = ResultRounding::f32_cut_to_13, cut23 = ResultRounding::f32_cut;
    constexpr auto nearest = ResultRounding::f16_nearest;
    constexpr std::string_view as_f16 = "mma.sync, compared with the data of arXiv 2512.07004";
    constexpr auto one = Summation::truncated, two = Summation::then_added;
    constexpr auto sure = Evidence::verified;
    for (const UnitFormat x : {f8e4m3, f8e5m2}) {
      add({ada, x, f32, one, 16, 13, -132, cut13, sure, khattak});
      add({ada, x, f16, one, 16, 13, -20, nearest, sure, khattak});
      add({h100, x, f32, one, 32, 13, -133, cut13, sure, compared});
      add({h100, x, f16, one, 32, 13, -21, nearest, sure, compared, -14});
      add({h100_mma, x, f32, two, 32, 25, -133, cut23, sure, compared});
      add({h100_mma, x, f16, two, 32, 25, -21, nearest, sure, compared});
      add({b200, x, f32, one, 32, 25, -133, cut23, Evidence::published, mma_sim});
      add({b200, x, f16, one, 32, 25, -21, nearest, Evidence::unresolved, "no measurements"});
      add({b200_mma, x, f32, two, 32, 25, -133, cut23, sure, as_f16});
      add({b200_mma, x, f16, two, 32, 25, -21, nearest, sure, as_f16});
    }
  }

  constexpr void add_blocks() {
    using enum UnitFormat;
    for (const UnitFormat operand : {mxf8e4m3, mxf8e5m2})
      add({MatrixUnit::b200, operand, f32, Summation::truncated, 32, 25, -133,
           ResultRounding::f32_cut, Evidence::published, mma_sim});
    for (const UnitFormat operand : {mxf4, nvf4})
      add({MatrixUnit::b200, operand, f32, Summation::groups, 64, 35, -133, ResultRounding::f32_cut,
           Evidence::published, mma_sim});
  }

  constexpr void add_cpus() {
    using enum UnitFormat;
    add({MatrixUnit::amx, bf16, f32, Summation::even_and_odd, 32, 0, 0, ResultRounding::own,
         Evidence::verified, compared});
    add({MatrixUnit::avx512_bf16, bf16, f32, Summation::odd_then_even, 2, 0, 0, ResultRounding::own,
         Evidence::verified, compared});
    for (const MatrixUnit unit : {MatrixUnit::amx, MatrixUnit::vnni})
      for (const UnitFormat operand : {s8, u8})
        add({unit, operand, s32, Summation::integer, 1, 0, 0, ResultRounding::own,
             Evidence::verified, compared});
  }

  constexpr void add_chains() {
    using enum UnitFormat;
    constexpr std::string_view standard = "IEEE 754";
    const auto chain = [&](MatrixUnit unit, UnitFormat operand, Summation summation) {
      add({unit, operand, operand == f64 ? f64 : f32, summation, 1, 0, 0, ResultRounding::own,
           Evidence::verified, standard});
    };
    for (const UnitFormat operand : {f64, f32, tf32, bf16, f16, f8e4m3, f8e5m2}) {
      chain(MatrixUnit::ieee, operand, Summation::fma_chain);
      if (operand == f64) continue;
      chain(MatrixUnit::ieee_split4, operand, Summation::split_chains);
      chain(MatrixUnit::ieee_pairwise, operand, Summation::pairwise);
    }
  }

  std::array<UnitModel, capacity> models_{};
  std::size_t count_ = 0;
};

inline constexpr Table table;

}  // namespace matrix_unit_tables

// "v100" ... "b200-mma", "amx", "ieee-split4".
constexpr std::string_view name(MatrixUnit unit) {
  return matrix_unit_tables::unit_names[static_cast<std::size_t>(unit)];
}
// "f16", "f8e4m3", "mxf4", ...
constexpr std::string_view name(UnitFormat format) {
  return matrix_unit_tables::format_names[static_cast<std::size_t>(format)];
}
// "verified", "published" or "unresolved".
constexpr std::string_view name(Evidence evidence) {
  constexpr std::array<std::string_view, 3> names{"verified", "published", "unresolved"};
  return names[static_cast<std::size_t>(evidence)];
}

// Also knows the names of GPUs with the same unit: h200, l40s, l4, a40, gb200.
constexpr std::optional<MatrixUnit> parse_matrix_unit(std::string_view text) {
  const auto& names = matrix_unit_tables::unit_names;
  const auto found = std::find(names.begin(), names.end(), text);
  if (found != names.end()) return static_cast<MatrixUnit>(found - names.begin());
  for (const auto& alias : matrix_unit_tables::aliases)
    if (alias.name == text) return alias.unit;
  return {};
}

// The inverse of name(); nothing if the format is unknown.
constexpr std::optional<UnitFormat> parse_unit_format(std::string_view text) {
  const auto& names = matrix_unit_tables::format_names;
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) return {};
  return static_cast<UnitFormat>(found - names.begin());
}

// Every unit with every format that it has, in the order of the units.
constexpr std::span<const UnitModel> unit_models() { return matrix_unit_tables::table.models(); }

// nullptr: the unit has no such operation.
constexpr const UnitModel* find_unit_model(MatrixUnit unit, UnitFormat operand, UnitFormat result) {
  for (const UnitModel& model : unit_models())
    if (model.unit == unit && model.operand == operand && model.result == result) return &model;
  return nullptr;
}

// The result format of a unit unless told otherwise: f64 for f64, s32 for integers, else f32.
constexpr UnitFormat usual_result(UnitFormat operand) {
  if (operand == UnitFormat::f64) return UnitFormat::f64;
  return operand >= UnitFormat::s8 ? UnitFormat::s32 : UnitFormat::f32;
}

}  // namespace narrowgauge
