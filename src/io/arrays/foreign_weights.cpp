// SPDX-License-Identifier: Apache-2.0
#include "io/arrays/foreign_weights.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "narrowgauge/error.h"

namespace narrowgauge {
namespace {

bool begins(std::span<const std::byte> bytes, std::string_view magic) {
  return bytes.size() >= magic.size() &&
         std::equal(magic.begin(), magic.end(), bytes.begin(),
                    [](char a, std::byte b) { return static_cast<std::byte>(a) == b; });
}

// Recognises a pickle of protocol 2 to 5, or the zip that torch.save writes.
bool is_torch(const std::string& path, std::span<const std::byte> first) {
  const bool named = path.ends_with(".pth") || path.ends_with(".pt") || path.ends_with(".bin") ||
                     path.ends_with(".ckpt");
  const bool pickle = begins(first, "\x80") && first.size() > 1 && first[1] >= std::byte{2} &&
                      first[1] <= std::byte{5};
  return pickle || (named && begins(first, "PK\x03\x04"));
}

std::string python_literal(const std::string& path) {
  return path.find_first_of("'\\\n") == std::string::npos ? concat('\'', path, '\'') : "FILE";
}

std::string torch_text(const std::string& path) {
  const std::string result = std::filesystem::path(path).replace_extension(".safetensors").string();
  return concat("is a checkpoint of PyTorch, expected safetensors; Python converts its weights: ",
                "import torch, safetensors.torch as s; ",
                "s.save_file({k: v.contiguous().clone() for k, v in torch.load(",
                python_literal(path), ", map_location='cpu', weights_only=True).items()}, ",
                python_literal(result), ")");
}

}  // namespace

std::string foreign_weights_text(const std::string& path, std::span<const std::byte> first) {
  if (is_torch(path, first)) return torch_text(path);
  const auto is = [](std::string_view what) {
    return concat("is ", what, ", expected safetensors");
  };
  if (begins(first, "\x89HDF")) return is("an HDF5 file, as Keras writes them");
  if (begins(first, "GGUF")) return is("a GGUF file, as llama.cpp reads them");
  if (begins(first, "\x93NUMPY")) return is("an array of NumPy");
  if (begins(first, "PK\x03\x04"))
    return is(path.ends_with(".npz")     ? "an archive of NumPy"
              : path.ends_with(".keras") ? "a model of Keras"
                                         : "a zip archive");
  if (path.ends_with(".onnx")) return is("an ONNX model");
  return "";
}

}  // namespace narrowgauge
