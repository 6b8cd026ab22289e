// SPDX-License-Identifier: Apache-2.0
// The record of a run: settings, and what became of its images.
#include "cli/task/run_folder.h"
#include "fuzz/fuzz.h"
#include "fuzz/small_run.h"

using namespace narrowgauge;

// Reads a folder of the earlier form, where no digest keeps the reader from the record.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool made = [] {
    write_safetensors(fuzz::folder() + "/model.safetensors", fuzz::small_checkpoint().model);
    return true;
  }();
  fuzz::write("run.json", fuzz::text_of(data, size));
  fuzz::take([] {
    const cli::Run run = cli::read_run(fuzz::folder());
    cli::run_text(run.record);
    check(cli::make_optimizer(run.record.settings, 100));
  });
  return made ? 0 : 1;
}
