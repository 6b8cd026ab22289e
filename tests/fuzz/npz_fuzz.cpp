// SPDX-License-Identifier: Apache-2.0
// Archives of arrays: zip, stored and deflated.
#include "fuzz/fuzz.h"
#include "narrowgauge/npz.h"

using namespace narrowgauge;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string path = fuzz::write("a.npz", fuzz::text_of(data, size));
  fuzz::take([&] {
    for (const std::string& name : npz_names(path))
      fuzz::take([&] { read_npz(path, name, {DType::f8e5m2}); });
    read_npz(path);
  });
  return 0;
}
