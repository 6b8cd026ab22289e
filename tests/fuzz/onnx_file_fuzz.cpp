// SPDX-License-Identifier: Apache-2.0
// The reader of ONNX's test cases.
#include "conformance/onnx_file.h"
#include "fuzz/fuzz.h"

using namespace narrowgauge;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::text_of(data, size);
  try {
    testing::parse_model(bytes);
  } catch (const std::runtime_error&) {
  }
  try {
    testing::parse_tensor(testing::Message(bytes));
  } catch (const std::runtime_error&) {
  }
  return 0;
}
