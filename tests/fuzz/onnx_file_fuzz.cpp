// SPDX-License-Identifier: Apache-2.0
// Models and tensors of ONNX: what is read is written, and read again as the same.
#include "fuzz/fuzz.h"
#include "io/onnx/for_each.h"
#include "io/onnx/read.h"
#include "io/onnx/write.h"

using namespace narrowgauge;

namespace {

// NaN differs from itself, so bytes are compared.
template <class Read>
void check(const SharedBytes& bytes, Read&& read) {
  fuzz::take([&] {
    auto message = read(bytes, "fuzz");
    onnx::for_each<onnx::TensorData>(message, [](const onnx::TensorData& tensor) {
      fuzz::take([&] { onnx::tensor_of(tensor); });
    });
    const std::string written = onnx::serialized(message);
    const auto again = SharedBytes::holding(written);
    bool same = false;
    const bool taken =
        fuzz::take([&] { same = onnx::serialized(read(again, "again")) == written; });
    // Without the fields that are not known, a file may be too short for all that it holds.
    fuzz::must(taken ? same : written.size() < bytes.size());
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const SharedBytes bytes(nullptr, fuzz::text_of(data, size));
  check(bytes, [](const auto&... source) { return onnx::read_model(source...); });
  check(bytes, [](const auto&... source) { return onnx::read_tensor(source...); });
  return 0;
}
