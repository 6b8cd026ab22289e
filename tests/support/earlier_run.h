// SPDX-License-Identifier: Apache-2.0
// Turns the folder of a run into the form of earlier versions: the files of one checkpoint in the
// folder itself, and in the state the digest of the weights that it belongs to.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "base/hash/sha256.h"
#include "narrowgauge/checkpoint.h"

namespace narrowgauge {

inline void make_earlier_form(const std::string& run) {
  namespace fs = std::filesystem;
  Checkpoint checkpoint = read_checkpoint(run);
  for (const auto& entry : fs::directory_iterator(run)) fs::remove_all(entry);
  const std::string folder = run + "/";
  write_safetensors(folder + "model.safetensors", checkpoint.model);
  // The digest takes the tensors in the order of the file.
  Sha256 sum;
  for (const NamedTensor& tensor : read_safetensors(folder + "model.safetensors").tensors) {
    sum.update(std::string_view(tensor.name));
    sum.update(std::span(tensor.tensor.data(), static_cast<std::size_t>(tensor.tensor.bytes())));
  }
  checkpoint.state.metadata["weights"] = sum.hex();
  checkpoint.state.metadata.erase("run");
  write_safetensors(folder + "state.safetensors", checkpoint.state);
  for (const auto& [name, text] : checkpoint.files) {
    std::ofstream(folder + name, std::ios::binary) << text;
  }
}

}  // namespace narrowgauge
