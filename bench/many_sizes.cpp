// SPDX-License-Identifier: Apache-2.0
// The cost of batches of many sizes: the first prediction of a process and predictions of new
// sizes, beside a cache of kernels that has so many MiB already, and a step of training of random
// sizes. Usage: bench_many_sizes [SIZES [CACHE_MIB]] (100 0); CACHE_MIB off: without a cache.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "api/programs/kernel_cache.h"
#include "narrowgauge/narrowgauge.h"

using namespace narrowgauge;

namespace {

constexpr std::int64_t features = 64;

Value small_mlp(Network& net) {
  return net.linear(net.relu(net.linear(net.input("x", {net.batch(), features}), 128)), 10);
}

template <class Call>
double milliseconds(const Call& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  const auto end = std::chrono::steady_clock::now();
  return std::chrono::duration<double, std::milli>(end - start).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// Other networks' records, as this machine writes them.
void fill_cache(const std::string& path, std::int64_t mebibytes) {
  KernelLog log(path, machine_text());
  std::int64_t bytes = 0;
  for (int i = 0; bytes < mebibytes << 20;) {
    std::string lines;
    for (int line = 0; line < 1000; ++line, ++i)
      lines += kernel_log_line(
          machine_text(),
          concat("Conv(dilations=[1,1], group=1, kernel_shape=[3,3], ",
                 "pads=[1,1,1,1], strides=[1,1]) ieee of f32[", i,
                 ",64,56,56] channels_last f32[64,64,3,3] plain lasting ", "f32[64] plain to f32[",
                 i, ",64,56,56] channels_last, 2 ", "threads"),
          {"tiles", "fastest of 3 measured: onednn 1.24 ms, tiles 0.83 ms"});
    log.append(lines);
    bytes += std::ssize(lines);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t sizes = argc > 1 ? std::atoll(argv[1]) : 100;
  const std::string cache = argc > 2 ? argv[2] : "0";
  const std::string path =
      (std::filesystem::temp_directory_path() / concat("many_sizes_", getpid(), ".log")).string();
  setenv("NARROWGAUGE_KERNEL_CACHE", cache == "off" ? "off" : path.c_str(), 1);
  if (cache != "off") fill_cache(path, std::atoll(cache.c_str()));
  Model model("mlp", small_mlp);
  const auto predict = [&](std::int64_t size) {
    return milliseconds([&] { model.predict(Tensor(DType::f32, {size, features})); });
  };
  const double first = predict(sizes + 1);
  std::vector<double> fresh, again;
  for (std::int64_t size = 1; size <= sizes; ++size) fresh.push_back(predict(size));
  for (std::int64_t size = 1; size <= sizes; ++size) again.push_back(predict(size));
  std::printf(
      "cache %s MiB: first prediction %.2f ms; new size: median %.3f ms, most %.2f; "
      "known size %.3f ms\n",
      cache.c_str(), first, median(fresh), *std::ranges::max_element(fresh), median(again));
  Trainer trainer(model, softmax_cross_entropy(), sgd(0.01));
  std::mt19937 random(1);
  std::vector<double> steps;
  for (int step = 0; step < 2000; ++step) {
    const std::int64_t size = 1 + static_cast<std::int64_t>(random()) % sizes;
    const Tensor data[] = {Tensor(DType::f32, {size, features}), Tensor(DType::i64, {size})};
    steps.push_back(milliseconds([&] { trainer.step(data); }));
  }
  const auto half = steps.begin() + std::ssize(steps) / 2;
  double sum = 0;
  for (auto step = half; step != steps.end(); ++step) sum += *step;
  std::printf("a step of random sizes up to %lld: mean of the later half %.3f ms\n",
              static_cast<long long>(sizes), sum / static_cast<double>(steps.end() - half));
  std::filesystem::remove(path);
}
