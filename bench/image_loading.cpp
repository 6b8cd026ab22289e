// SPDX-License-Identifier: Apache-2.0
// Pictures a second that are read, changed and normalized in batches.
// Usage: bench_image_loading FOLDER [SIDE [CHANGES [THREADS [EPOCHS]]]] (224, "resized_crop, flip",
// one a core, 1).
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "narrowgauge/narrowgauge.h"

using namespace narrowgauge;

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: bench_image_loading FOLDER [SIDE [CHANGES [THREADS [EPOCHS]]]]\n");
    return 2;
  }
  const ImageFolder folder = read_image_folder(argv[1], {.test_share = 1});
  ImageInput input;
  input.height = input.width = argc > 2 ? std::atoi(argv[2]) : 224;
  input.statistics = {{0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}};
  input.augment = argc > 3 ? argv[3] : "resized_crop, flip";
  const int threads = argc > 4 ? std::atoi(argv[4]) : 0;
  const int epochs = argc > 5 ? std::atoi(argv[5]) : 1;
  const auto source = std::make_shared<ImageSource>(folder.test, input);
  using Clock = std::chrono::steady_clock;
  BatchLoader loader(source, {.batch = 32, .epochs = epochs, .threads = threads});
  std::int64_t pictures = 0;
  const auto start = Clock::now();
  while (const std::optional<Batch> batch = loader.next()) pictures += batch->tensors[0].dims()[0];
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  std::printf("%.1f\n", static_cast<double>(pictures) / seconds);
}
