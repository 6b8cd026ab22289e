// SPDX-License-Identifier: Apache-2.0
// Arrays of NumPy.
#include "fuzz/fuzz.h"
#include "narrowgauge/npz.h"

using namespace narrowgauge;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string path = fuzz::write("a.npy", fuzz::text_of(data, size));
  for (const NumpyReading& reading :
       {NumpyReading{}, NumpyReading{DType::f8e4m3fn}, NumpyReading{DType::u4}})
    fuzz::take([&] { read_npy(path, reading); });
  return 0;
}
