// SPDX-License-Identifier: Apache-2.0
// Safetensors: what is taken is written as a file that is read again alike.
#include "fuzz/fuzz.h"
#include "narrowgauge/safetensors.h"

using namespace narrowgauge;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string path = fuzz::write("a.safetensors", fuzz::text_of(data, size));
  fuzz::take([&] {
    const TensorFile content = read_safetensors(path);
    write_safetensors(path, content);
    fuzz::must(read_safetensors(path).tensors.size() == content.tensors.size());
  });
  return 0;
}
