// SPDX-License-Identifier: Apache-2.0
// Reads ONNX's files: models and tensors. Fields that are not known are skipped. Errors are
// DataErrors of one line that name file and place: "model.onnx: node 'conv1' (Conv), attribute
// 'pads': ...". Refused are wire formats that break off or do not fit their field, messages nested
// deeper than 64, dims that a payload does not fill, attributes that hold something else than their
// type says, and external data outside of the model's folder.
//
// Payloads stay where they are. All else takes at most reading_factor times the bytes that are
// read and 4 KiB, and as much again for texts; what would take more (a file of empty messages) is
// refused.
#pragma once

#include <cstddef>
#include <string>

#include "io/onnx/external_files.h"
#include "io/onnx/model.h"

namespace narrowgauge::onnx {

inline constexpr std::size_t reading_factor = 64;
inline constexpr std::size_t reading_allowance = 4096;  // bytes, for the smallest files
inline constexpr int deepest_message = 64;

// Maps the file and those of its external tensors: they must not be made shorter while the model is
// in use, and may be replaced. With Mapping::change_copy, tensors of it may lie in the files'
// pages.
Model read_model(const std::string& path, Mapping mapping = Mapping::read);
// External tensors stay without their bytes. Messages begin with `name`.
Model read_model(const SharedBytes& bytes, const std::string& name);
// Reads a model with the bytes of external tensors.
Model read_model(const SharedBytes& bytes, const std::string& name, ExternalFiles external);

// A file of one tensor, as those of ONNX's test cases.
TensorData read_tensor(const std::string& path);
TensorData read_tensor(const SharedBytes& bytes, const std::string& name);

}  // namespace narrowgauge::onnx
