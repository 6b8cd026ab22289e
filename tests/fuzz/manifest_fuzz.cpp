// SPDX-License-Identifier: Apache-2.0
// The manifest of a checkpoint whose files are right: what is taken is what they hold.
#include "api/runs/checkpoint_files.h"
#include "base/files/atomic_folder.h"
#include "fuzz/fuzz.h"
#include "fuzz/small_run.h"

using namespace narrowgauge;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string path = [] {
    make_folders(fuzz::folder() + "/checkpoints");
    const std::string made = fuzz::folder() + "/checkpoints/000001";
    write_checkpoint(made, fuzz::small_checkpoint());
    return made;
  }();
  fuzz::write("checkpoints/000001/manifest.json", fuzz::text_of(data, size));
  fuzz::take([] {
    const Checkpoint checkpoint = read_checkpoint(fuzz::folder());
    fuzz::must(checkpoint.model.tensors.size() == 1 && checkpoint.state.metadata.size() == 3);
  });
  run_of_checkpoint(path);
  step_of_checkpoint(path);
  return 0;
}
