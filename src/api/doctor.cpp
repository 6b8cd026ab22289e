// SPDX-License-Identifier: Apache-2.0
#include "api/doctor.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "base/cpu.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "kernels/cpu/contraction.h"

namespace narrowgauge {
namespace {

using Clock = std::chrono::steady_clock;

// The kernel's own "NVRM version: ..." line of a loaded NVIDIA driver.
std::string gpu_text() {
  std::ifstream driver("/proc/driver/nvidia/version");
  std::string line;
  if (std::getline(driver, line))
    return concat("an NVIDIA driver is loaded (", line, "), but this build has no CUDA backend");
  return "none: no NVIDIA driver is loaded, and this build has no CUDA backend";
}

// Seconds of the fastest of the runs that fit into the time; the first one warms up.
double fastest(double seconds, const std::function<void()>& run) {
  run();
  double best = 1e30;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  do {
    const auto start = Clock::now();
    run();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  } while (Clock::now() < end);
  return best;
}

struct Measured {
  std::string implementation;
  double gflops = 0;
};

Tensor filled(const cpu::View& view) {
  Tensor tensor(view.dtype, view.dims);
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    tensor.set(i, static_cast<double>((i * 37 + 11) % 64) / 64 - 0.5);
  return tensor;
}

Measured measure(const cpu::Prepared& prepared, const std::vector<cpu::View>& views, double flops,
                 double seconds) {
  const Tensor a = filled(views[0]), b = filled(views[1]);
  Tensor y(views[2].dtype, views[2].dims);
  Tensor workspace(DType::u8, {std::max<std::int64_t>(prepared.workspace, 1)});
  const void* inputs[] = {a.data(), b.data(), nullptr};
  void* outputs[] = {y.data()};
  const cpu::Call call{inputs, outputs, workspace.data(), nullptr};
  return {prepared.implementation, flops / fastest(seconds, [&] { prepared.run(call); }) / 1e9};
}

Measured measure_product(DType format, double seconds) {
  constexpr std::int64_t side = 768;
  const cpu::View view = cpu::dense_view(format, {side, side});
  const cpu::Prepared prepared = cpu::prepare_matmul({view, view, view, std::nullopt}, {});
  return measure(prepared, {view, view, view}, 2.0 * side * side * side, seconds);
}

// The middle of a residual network: 64 channels of 16x16, 3x3.
Measured measure_convolution(DType format, double seconds) {
  constexpr std::int64_t batch = 32, channels = 64, side = 16;
  const cpu::View x = cpu::channels_last_view(format, {batch, channels, side, side});
  const cpu::View w = cpu::dense_view(format, {channels, channels, 3, 3});
  const cpu::Prepared prepared =
      cpu::prepare_convolution(cpu::ConvolutionPass::forward, {x, w, x, std::nullopt},
                               {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}, {});
  const double flops = 2.0 * batch * side * side * channels * channels * 9;
  return measure(prepared, {x, w, x}, flops, seconds);
}

}  // namespace

Machine examine_machine() {
  Machine machine;
  machine.cpu = cpu_name();
  machine.detected_isa = name(detected_isa());
  machine.used_isa = name(isa());
  machine.cores = hardware_threads();
  machine.threads = thread_count();
  machine.memory = memory_bytes();
  machine.free_memory = available_memory();
  machine.gpu = gpu_text();
  return machine;
}

std::vector<MathRate> measure_math(double seconds) {
  std::vector<MathRate> rates;
  for (const DType format : {DType::f32, DType::f16, DType::bf16}) {
    const Measured product = measure_product(format, seconds);
    const Measured convolution = measure_convolution(format, seconds);
    rates.push_back({format, product.implementation, convolution.implementation, product.gflops,
                     convolution.gflops});
  }
  return rates;
}

double measure_copy(double seconds) {
  constexpr std::int64_t bytes = 64 << 20, piece = 1 << 20;
  const Tensor from = Tensor::full(DType::u8, {bytes}, 1);
  Tensor to(DType::u8, {bytes});
  const double best = fastest(seconds, [&] {
    parallel_for(bytes, piece, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(to.data() + begin, from.data() + begin, static_cast<std::size_t>(end - begin));
    });
  });
  return 2.0 * static_cast<double>(bytes) / best;
}

}  // namespace narrowgauge
