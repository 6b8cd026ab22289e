// SPDX-License-Identifier: Apache-2.0
// What a model is run on: tensors from files, by the names of its inputs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/flags/flags.h"
#include "narrowgauge/model.h"

namespace narrowgauge::cli {

struct InputFlags {
  std::vector<std::string> files;   // "x=image.npy", "arrays.npz", "input_0.pb", "cat.jpg"
  std::vector<std::string> shapes;  // "x=1x3x224x224": random numbers of this shape
  std::optional<std::string> mean, scale, layout, resize;
  bool bgr = false;
  bool quiet = false;  // says nothing of pictures that are resized
};
void add_run_inputs(CLI::App& app, InputFlags& flags);

// The tensors of one call, in the dtypes that the model takes. Throws UsageError for a flag that
// does not fit the model, DataError for a file that is not as expected.
std::vector<NamedTensor> read_inputs(const InputFlags& flags, const std::vector<ModelPort>& ports);

// Numbers in [0, 1), whole ones 0 or 1; the same for each name and shape.
Tensor random_tensor(const std::string& name, DType dtype, const Dims& dims);

// Reads .npy, .npz (all arrays) or .pb (a tensor of ONNX): tensors with their names, "" where the
// file states none.
std::vector<NamedTensor> read_tensors(const std::string& path);

}  // namespace narrowgauge::cli
