// SPDX-License-Identifier: Apache-2.0
// Safetensors as weights of a network, and as the state of its training: what is refused changes
// nothing.
#include "fuzz/fuzz.h"
#include "fuzz/small_run.h"

using namespace narrowgauge;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Model loaded = fuzz::small_model(), trained = fuzz::small_model();
  static Trainer trainer = fuzz::small_trainer(trained);
  static const TensorFile weights = [] {
    const std::string path = fuzz::folder() + "/weights.safetensors";
    trained.save(path);
    return read_safetensors(path);
  }();
  const std::string path = fuzz::write("a.safetensors", fuzz::text_of(data, size));
  for (const LoadMatch match : {LoadMatch::exact, LoadMatch::shape}) {
    const std::string before = loaded.sha256();
    const bool taken = fuzz::take([&] { loaded.load(path, {.match = match}); });
    fuzz::must(taken || loaded.sha256() == before);
  }
  fuzz::take([&] {
    trainer.resume(Checkpoint{"run", weights, read_safetensors(path), {}});
    fuzz::must(trainer.epochs_done() >= 0);
  });
  return 0;
}
