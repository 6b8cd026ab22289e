// SPDX-License-Identifier: Apache-2.0
// Models of ONNX as graphs: what the reader takes becomes a graph, or is refused in a sentence.
#include "fuzz/fuzz.h"
#include "io/onnx/import.h"
#include "io/onnx/read.h"

using namespace narrowgauge;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const SharedBytes bytes(nullptr, fuzz::text_of(data, size));
  fuzz::take([&] {
    const onnx::Model model = onnx::read_model(bytes, "fuzz");
    fuzz::take([&] { onnx::import_graph(model); });
    fuzz::take([&] { onnx::import_graph(model, {.parameters = false}); });
  });
  return 0;
}
