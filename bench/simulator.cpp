// SPDX-License-Identifier: Apache-2.0
// How many products a second one core simulates, for each unit and format: the fast way and the
// scalar model by turns. With --dump FOLDER writes operands and results of one product of
// a100 f16, which simulator_peers.py gives to other emulators.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "base/threads/parallel.h"
#include "narrowgauge/matrix_unit_arithmetic.h"
#include "units/product.h"

namespace narrowgauge {
namespace {

// The time of this process, which has one thread: what else the machine does is left out.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// Values in [1, 2) and their negatives; any bytes without NaN.
std::vector<std::uint8_t> random_bytes(UnitFormat format, std::int64_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  const auto width = static_cast<std::size_t>(sim::element_bytes(format));
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count) * width);
  const FloatFormat layout = float_format(format);
  for (std::size_t i = 0; i < bytes.size(); i += width) {
    std::uint64_t bits = random();
    if (width > 1) {
      const int m = format == UnitFormat::tf32 ? 23 : layout.mantissa_bits;
      const std::uint64_t sign = bits >> 63 << (m + layout.exponent_bits);
      bits = sign | static_cast<std::uint64_t>(layout.bias()) << m |
             (bits & ((std::uint64_t{1} << m) - 1));
    } else if (format < UnitFormat::s8) {
      bits &= 0x3b;
    }
    std::memcpy(bytes.data() + i, &bits, width);
  }
  return bytes;
}

class Product {
 public:
  explicit Product(const UnitModel& model, std::int64_t side)
      : model_(model),
        side_(side),
        a_(random_bytes(model.operand, side * depth, 1)),
        b_(random_bytes(model.operand, side * depth, 2)),
        d_(static_cast<std::size_t>(side * side * sim::element_bytes(model.result))),
        scales_(static_cast<std::size_t>(side) * blocks, 0x38) {}

  // Products a second of one run.
  double fast() {
    const double start = cpu_seconds();
    const sim::PackedColumns packed(model_, side_, depth, elements(b_));
    sim::multiply(model_, side_, elements(a_), packed, {}, {d_.data(), side_});
    return rate(side_ * side_, start);
  }
  double scalar() {
    std::vector<Unpacked> x(depth), y(depth), s(blocks);
    const double start = cpu_seconds();
    unpack_line(elements(a_), 0, x);
    if (block_size(model_.operand)) unpack_scales(elements(a_), 0, s);
    const std::int64_t columns = std::min<std::int64_t>(side_, 16);
    for (std::int64_t j = 0; j < columns; ++j) {
      unpack_line(elements(b_), j, y);
      sink_ = sink_ + dot_product_add(model_, x, y, 0, {s, s});
    }
    return rate(columns, start);
  }
  void dump(const std::string& folder) const {
    for (const auto& [file, bytes] : {std::pair{"a", &a_}, {"b", &b_}, {"d", &d_}})
      std::ofstream(folder + "/" + file + ".bin", std::ios::binary)
          .write(reinterpret_cast<const char*>(bytes->data()),
                 static_cast<std::streamsize>(bytes->size()));
  }

  static constexpr std::int64_t depth = 512, blocks = 32;

 private:
  sim::Elements elements(const std::vector<std::uint8_t>& bytes) const {
    return {model_.operand, bytes.data(), depth, 1, scales_.data(), blocks};
  }
  double rate(std::int64_t sums, double start) const {
    return static_cast<double>(sums * depth) / (cpu_seconds() - start);
  }

  const UnitModel& model_;
  std::int64_t side_;
  std::vector<std::uint8_t> a_, b_, d_, scales_;
  std::uint64_t volatile sink_ = 0;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void print_rates() {
  std::printf("%-14s%-10s%-5s%12s%12s%8s   million products a second of CPU time\n", "unit",
              "operands", "sum", "fast", "scalar", "ratio");
  for (const UnitModel& model : unit_models()) {
    Product product(model, 256);
    std::vector<double> fast, scalar;
    for (int round = 0; round < 7; ++round) {
      fast.push_back(product.fast());
      scalar.push_back(product.scalar());
    }
    const double of_fast = median(fast) / 1e6, of_scalar = median(scalar) / 1e6;
    std::printf("%-14s%-10s%-5s%12.0f%12.1f%8.1f\n", std::string(name(model.unit)).c_str(),
                std::string(name(model.operand)).c_str(), std::string(name(model.result)).c_str(),
                of_fast, of_scalar, of_fast / of_scalar);
  }
}

void dump(const std::string& folder) {
  const UnitModel& model = *find_unit_model(MatrixUnit::a100, UnitFormat::f16, UnitFormat::f32);
  Product product(model, 128);
  std::vector<double> rates;
  for (int round = 0; round < 7; ++round) rates.push_back(product.fast());
  product.dump(folder);
  std::printf("%g\n", median(rates));
}

int run(int argc, char** argv) {
  CLI::App app("products that one core simulates in a second");
  std::string folder;
  app.add_option("--dump", folder, "writes a.bin, b.bin and d.bin (a100, f16) into this folder");
  CLI11_PARSE(app, argc, argv);
  const ThreadScope one_thread(1);
  if (folder.empty())
    print_rates();
  else
    dump(folder);
  return 0;
}

}  // namespace
}  // namespace narrowgauge

int main(int argc, char** argv) { return narrowgauge::run(argc, argv); }
