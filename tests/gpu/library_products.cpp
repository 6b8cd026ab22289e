// SPDX-License-Identifier: Apache-2.0
// Compares the products that library_products.py wrote into a folder with the models of an H100,
// bit by bit: one chain over k, or chunks of it whose sums are added in f32.
//
//   library_products FOLDER
//
// Exit code 0: all are equal, 1: some differ.
#include <narrowgauge/matrix_unit_arithmetic.h>

#include <bit>
#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace narrowgauge::test {
namespace {

std::vector<float> read_floats(const std::string& path, std::size_t count) {
  std::vector<float> values(count);
  std::ifstream file(path, std::ios::binary);
  const auto bytes = static_cast<std::streamsize>(count * sizeof(float));
  if (!file.read(reinterpret_cast<char*>(values.data()), bytes))
    throw std::runtime_error("cannot read " + path);
  return values;
}

std::vector<Unpacked> unpack_all(const std::vector<float>& values) {
  std::vector<Unpacked> unpacked;
  for (const float value : values)  // each is one of the narrow format
    unpacked.push_back(unpack(UnitFormat::f32, std::bit_cast<std::uint32_t>(value)));
  return unpacked;
}

struct Product {
  std::string format, file;
  std::size_t rows = 0, columns = 0, depth = 0, chunk = 0;
};

float chained(const UnitModel& model, const Unpacked* a, const Unpacked* b, std::size_t depth,
              std::size_t chunk) {
  float sum = 0;
  for (std::size_t k = 0; k < depth; k += chunk) {
    const std::uint64_t bits = dot_product_add(model, {a + k, chunk}, {b + k, chunk}, 0);
    sum += std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  }
  return sum;
}

bool check(const std::string& folder, const Product& product) {
  const auto [format, file, rows, columns, depth, chunk] = product;
  const auto operand = parse_unit_format(format);
  const auto* model =
      operand ? find_unit_model(MatrixUnit::h100, *operand, UnitFormat::f32) : nullptr;
  if (!model) throw std::runtime_error("no model of " + format);
  const std::string start = folder + "/" + file;
  const auto a = unpack_all(read_floats(start + ".a", rows * depth));
  const auto b = unpack_all(read_floats(start + ".b", columns * depth));
  const auto d = read_floats(start + ".d", rows * columns);
  std::size_t differ = 0;
  for (std::size_t i = 0; i < d.size(); ++i) {
    const float of_host = chained(*model, a.data() + i / columns * depth,
                                  b.data() + i % columns * depth, depth, chunk ? chunk : depth);
    differ += std::bit_cast<std::uint32_t>(of_host) != std::bit_cast<std::uint32_t>(d[i]);
  }
  std::printf("%s %zux%zux%zu%s: %zu of %zu differ\n", format.c_str(), rows, columns, depth,
              chunk && chunk < depth ? ", in chunks" : "", differ, d.size());
  return differ == 0;
}

int run(const std::string& folder) {
  std::ifstream lines(folder + "/products.txt");
  Product product;
  bool is_equal = true;
  int count = 0;
  for (; lines >> product.format >> product.rows >> product.columns >> product.depth >>
         product.chunk >> product.file;
       ++count) {
    if (product.chunk > product.depth) product.chunk = product.depth;
    is_equal = check(folder, product) && is_equal;
  }
  return is_equal && count > 0 ? 0 : 1;
}

}  // namespace
}  // namespace narrowgauge::test

int main(int count, char** arguments) {
  try {
    return narrowgauge::test::run(count > 1 ? arguments[1] : ".");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "library_products: %s\n", error.what());
    return 1;
  }
}
