// SPDX-License-Identifier: Apache-2.0
// Files of what calibration saw.
#include "fuzz/fuzz.h"
#include "quantize/calibration.h"

using namespace narrowgauge;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string path = fuzz::write("seen.calibration", fuzz::text_of(data, size));
  fuzz::take([&] {
    const Calibration read = Calibration::load(path);
    read.save(path);
    fuzz::must(Calibration::load(path) == read);
  });
  return 0;
}
