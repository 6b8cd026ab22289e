// SPDX-License-Identifier: Apache-2.0
// The record of a run: settings, and what became of its images.
#include "cli/run_folder.h"
#include "fuzz/fuzz.h"

using namespace narrowgauge;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::write("run.json", fuzz::text_of(data, size));
  fuzz::take([] { cli::read_run(fuzz::folder()); });
  return 0;
}
