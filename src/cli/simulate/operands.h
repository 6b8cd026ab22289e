// SPDX-License-Identifier: Apache-2.0
// Matrices that `simulate` is given: files of NumPy or safetensors, numbers on the command line, or
// random ones.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "narrowgauge/matrix_unit.h"
#include "narrowgauge/tensor.h"

namespace narrowgauge::cli {

struct Matrix {
  std::string name;  // "A.npz:weights", "normal, seed 1"
  Tensor values;
};

// Reads "FILE", "FILE:NAME" or "[[1, 2], [3, inf]]" (f64 if that is wanted, else f32). `wanted`
// also says how to read untyped bytes in NumPy's files. Throws DataError, or UsageError for text
// that is no matrix or numbers that the format cannot hold.
Matrix read_matrix(const std::string& text, UnitFormat wanted);

struct RandomMatrices {
  std::int64_t rows = 64, columns = 64, depth = 1024;
  std::string distribution = "normal";  // N(0, 1), uniform [0, 1), lognormal exp(N(0, 1))
  std::int64_t seed = 1;
};
inline const std::vector<std::string> distribution_words{"normal", "uniform", "lognormal"};
std::vector<Matrix> random_matrices(const RandomMatrices& wish);
void parse_sizes(const std::string& text, RandomMatrices& wish);  // "M,N,K"; UsageError

Tensor transposed(const Tensor& matrix);  // the last two dimensions

// Writes .npy, .npz (one array, "d") or .safetensors (one tensor, "d"), by the name's ending.
void write_matrix(const std::string& path, const Tensor& tensor);
void check_output_name(const std::string& path);  // UsageError

// Rows of numbers, at most `rows` and `columns` of them, with dots for the others.
std::string corner_text(const Tensor& tensor);

}  // namespace narrowgauge::cli
