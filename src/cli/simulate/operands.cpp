// SPDX-License-Identifier: Apache-2.0
#include "cli/simulate/operands.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include "base/random.h"
#include "base/text/nearest.h"
#include "base/text/printable.h"
#include "cli/common/text.h"
#include "narrowgauge/npz.h"
#include "narrowgauge/safetensors.h"

namespace narrowgauge::cli {
namespace {

// Parses "[[1, -2e3], [inf, nan]]".
class TypedNumbers {
 public:
  TypedNumbers(const std::string& text, DType dtype)
      : text_(text),
        rest_(text),
        largest_(dtype == DType::f64 ? std::numeric_limits<double>::max()
                                     : double{std::numeric_limits<float>::max()}),
        wide_(dtype == DType::f64) {
    read(0);
    refuse_unless(skip_blanks().empty());
    require(element_count(dims) == std::ssize(values), "matrix: expected rows of one length, in ",
            text);
  }
  Dims dims;
  std::vector<double> values;

 private:
  void read(std::size_t depth) {
    if (!take('[')) return read_number(depth);
    require(depth < 8, "matrix: ", text_.substr(0, 40), " is nested too deeply");
    std::int64_t count = 0;
    if (dims.size() == depth) {
      refuse_unless(values.empty());
      dims.push_back(-1);
    }
    if (!take(']')) {
      do {
        read(depth + 1);
        ++count;
      } while (take(','));
      refuse_unless(take(']'));
    }
    std::int64_t& length = dims[depth];
    require(length < 0 || length == count, "matrix: expected rows of one length, in ", text_);
    length = count;
  }

  void read_number(std::size_t depth) {
    const std::string_view from = skip_blanks();
    double value = 0;
    const auto [stop, error] = std::from_chars(from.data(), from.data() + from.size(), value);
    const std::string number(from.data(), stop);
    refuse_unless(error != std::errc::invalid_argument && depth > 0 && depth == dims.size());
    const bool beyond = std::isfinite(value) && std::fabs(value) > largest_;
    const bool lost = value != 0 && !wide_ && static_cast<float>(value) == 0;
    require(error == std::errc() && !beyond && !lost, "matrix: ", number, " is beyond what ",
            wide_ ? "f64" : "f32", " can hold; inf is an infinity",
            wide_ ? "" : ", --dtype f64 takes numbers of f64");
    values.push_back(value);
    rest_ = from.substr(number.size());
  }

  std::string_view skip_blanks() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
    return rest_;
  }
  bool take(char c) {
    if (!skip_blanks().starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void refuse_unless(bool holds) const {
    require(holds, "matrix: expected numbers such as [[1,2],[3,4]], or a file, got ", text_);
  }

  const std::string& text_;
  std::string_view rest_;
  double largest_;
  bool wide_;
};

Matrix typed_matrix(const std::string& text, DType dtype) {
  const TypedNumbers typed(text, dtype);
  Tensor values(DType::f64, typed.dims);
  std::ranges::copy(typed.values, values.values<double>().begin());
  return {text.size() > 32 ? text.substr(0, 32) + "..." : text, values.cast(dtype)};
}

// What a file holds, and how one of its tensors is read.
class MatrixFile {
 public:
  MatrixFile(std::string path, const NumpyReading& reading)
      : path_(std::move(path)), reading_(reading) {
    if (path_.ends_with(".npy")) {
      names_ = {""};
    } else if (path_.ends_with(".npz")) {
      names_ = npz_names(path_);
    } else {
      require<DataError>(path_.ends_with(".safetensors"), path_,
                         ": expected a file of .npy, .npz or .safetensors");
      content_ = read_safetensors(path_);
      for (const NamedTensor& tensor : content_.tensors) names_.push_back(tensor.name);
    }
  }

  Tensor read(const std::string& name) const {
    if (path_.ends_with(".npy")) {
      require<DataError>(name.empty(), path_, ": holds one array without a name, not ", name);
      return read_npy(path_, reading_);
    }
    const std::string chosen = name.empty() ? only_name() : name;
    const bool known = std::ranges::find(names_, chosen) != names_.end();
    require<DataError>(known, path_, ": has no ", chosen, ", it has ", choices(names_),
                       suggestion(chosen, names_));
    return path_.ends_with(".npz") ? read_npz(path_, chosen, reading_) : *content_.find(chosen);
  }

 private:
  std::string only_name() const {
    require<DataError>(!names_.empty(), path_, ": holds no array");
    std::vector<std::string> some(names_.begin(),
                                  names_.begin() + std::min<std::ptrdiff_t>(6, std::ssize(names_)));
    require<DataError>(names_.size() == 1, path_, ": holds ", names_.size(),
                       " arrays; name one as ", path_, ":NAME, such as ", choices(some));
    return names_.front();
  }

  std::string path_;
  NumpyReading reading_;
  std::vector<std::string> names_;
  TensorFile content_;
};

NumpyReading reading_for(UnitFormat wanted) {
  switch (wanted) {
    case UnitFormat::f8e4m3:
    case UnitFormat::mxf8e4m3:
      return {DType::f8e4m3fn};
    case UnitFormat::f8e5m2:
    case UnitFormat::mxf8e5m2:
      return {DType::f8e5m2};
    case UnitFormat::s4:
      return {DType::i4};
    case UnitFormat::u4:
      return {DType::u4};
    default:
      return {};
  }
}

float random_value(const std::string& distribution, const RandomStream& stream, std::uint64_t i) {
  if (distribution == "uniform") return stream.uniform(i);
  const float normal = stream.normal(i);
  return distribution == "normal" ? normal : std::exp(normal);
}

std::string number_of(const Tensor& tensor, std::int64_t index) {
  const double value = printable(tensor.at(index));
  if (is_integer(tensor.dtype())) return fmt::format("{:.0f}", value);
  if (tensor.dtype() == DType::f64) return fmt::format("{}", value);
  return fmt::format("{}", static_cast<float>(value));
}

// Indices from 0, with -1 in place of those left out.
std::vector<std::int64_t> shown(std::int64_t count, std::int64_t ends) {
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < count; ++i) {
    if (count > 2 * ends && i == ends) {
      indices.push_back(-1);
      i = count - ends;
    }
    indices.push_back(i);
  }
  return indices;
}

}  // namespace

Matrix read_matrix(const std::string& text, UnitFormat wanted) {
  if (text.starts_with('['))
    return typed_matrix(text, wanted == UnitFormat::f64 ? DType::f64 : DType::f32);
  std::error_code ignored;
  std::string path = text, name;
  const std::size_t colon = text.rfind(':');
  if (colon != std::string::npos && !std::filesystem::exists(text, ignored)) {
    path = text.substr(0, colon);
    name = text.substr(colon + 1);
  }
  return {text, MatrixFile(path, reading_for(wanted)).read(name)};
}

std::vector<Matrix> random_matrices(const RandomMatrices& wish) {
  std::vector<Matrix> matrices;
  const auto add = [&](const char* name, Dims dims) {
    const RandomStream stream(static_cast<std::uint64_t>(wish.seed), name);
    Tensor tensor(DType::f32, std::move(dims));
    for (std::uint64_t i = 0; float& value : tensor.values<float>())
      value = random_value(wish.distribution, stream, i++);
    matrices.push_back({fmt::format("{}, seed {}", wish.distribution, wish.seed), tensor});
  };
  add("a", {wish.rows, wish.depth});
  add("b", {wish.depth, wish.columns});
  return matrices;
}

void parse_sizes(const std::string& text, RandomMatrices& wish) {
  std::vector<std::int64_t> sizes;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::int64_t size = 0;
    const auto [stop, error] = std::from_chars(text.data() + begin, text.data() + end, size);
    const bool whole = error == std::errc{} && stop == text.data() + end;
    sizes.push_back(whole && size <= 1'000'000'000 ? size : 0);
    begin = end + 1;
  }
  const bool right = sizes.size() == 3 && std::ranges::min(sizes) > 0;
  require(right, "--random: expected rows, columns and depth such as 64,64,1024, got \"", text,
          '"');
  constexpr double most = 1e9;  // elements of a matrix
  const auto [m, n, k] = std::tuple{sizes[0], sizes[1], sizes[2]};
  const auto product = [](std::int64_t a, std::int64_t b) {
    return static_cast<double>(a) * static_cast<double>(b);
  };
  require(std::max({product(m, k), product(k, n), product(m, n)}) <= most, "--random: ", text,
          " asks for more than 1e9 elements");
  wish.rows = m;
  wish.columns = n;
  wish.depth = k;
}

Tensor transposed(const Tensor& matrix) {
  const Dims& dims = matrix.dims();
  require(dims.size() >= 2, "--transpose: expected a matrix, got ", matrix.dtype(), dims);
  Dims turned = dims;
  std::swap(turned[turned.size() - 1], turned[turned.size() - 2]);
  Tensor result(matrix.dtype(), turned);
  const std::int64_t rows = dims[dims.size() - 2], columns = dims.back();
  const std::int64_t count = matrix.size() / std::max<std::int64_t>(rows * columns, 1);
  require(bits(matrix.dtype()) >= 8, "--transpose: ", matrix.dtype(), " is packed");
  const auto each = static_cast<std::size_t>(bits(matrix.dtype())) / 8;
  for (std::int64_t m = 0; m < count; ++m)
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) {
        const std::int64_t first = m * rows * columns;
        std::memcpy(result.data() + static_cast<std::size_t>(first + j * rows + i) * each,
                    matrix.data() + static_cast<std::size_t>(first + i * columns + j) * each, each);
      }
  return result;
}

void check_output_name(const std::string& path) {
  const bool known =
      path.ends_with(".npy") || path.ends_with(".npz") || path.ends_with(".safetensors");
  require(known, "--output: expected a name ending in .npy, .npz or .safetensors, got ", path);
}

void write_matrix(const std::string& path, const Tensor& tensor) {
  const std::vector<NamedTensor> named{{"d", tensor}};
  if (path.ends_with(".npy"))
    write_npy(path, tensor);
  else if (path.ends_with(".npz"))
    write_npz(path, named);
  else
    write_safetensors(path, {named, {}});
}

std::string corner_text(const Tensor& tensor) {
  const Dims& dims = tensor.dims();
  const std::int64_t columns = dims.empty() ? 1 : dims.back();
  const std::int64_t rows = columns ? tensor.size() / columns : 0;
  if (rows == 0) return "    []\n";
  const std::vector<std::int64_t> row_list = shown(rows, 3), column_list = shown(columns, 3);
  std::vector<std::vector<std::string>> cells;
  std::size_t width = 0;
  for (const std::int64_t row : row_list) {
    cells.emplace_back();
    for (const std::int64_t column : column_list) {
      const bool dots = row < 0 || column < 0;
      cells.back().push_back(dots ? "..." : number_of(tensor, row * columns + column));
      width = std::max(width, cells.back().back().size());
    }
  }
  std::string out;
  for (const auto& row : cells) {
    std::string line = "   ";
    for (const std::string& cell : row) line += fmt::format(" {:>{}}", cell, width);
    out += line + '\n';
  }
  return out;
}

}  // namespace narrowgauge::cli
