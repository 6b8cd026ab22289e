// SPDX-License-Identifier: Apache-2.0
#include "api/doctor.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <utility>

#include "api/contraction_times.h"
#include "api/kernel_cache.h"
#include "base/cpu.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "compile/compile.h"
#include "kernels/cpu/peak.h"
#include "ops/conv.h"
#include "ops/matmul.h"

namespace narrowgauge {
namespace {

// The kernel's own "NVRM version: ..." line of a loaded NVIDIA driver.
std::string gpu_text() {
  std::ifstream driver("/proc/driver/nvidia/version");
  std::string line;
  if (std::getline(driver, line))
    return concat("an NVIDIA driver is loaded (", line, "), but this build has no CUDA backend");
  return "none: no NVIDIA driver is loaded, and this build has no CUDA backend";
}

struct Measured {
  std::string implementation;  // of the first contraction
  double gflops = 0;
};

// Of all contractions of the graph together.
Measured measure(const Graph& graph, double seconds) {
  CompileOptions options;
  options.kernels = kernel_cache();
  const Plan plan = compile(graph, options);
  Measured result;
  double flops = 0, milliseconds = 0;
  for (const ContractionTime& time : time_contractions(plan, seconds)) {
    if (flops == 0) result.implementation = time.implementation;
    flops += time.flops;
    milliseconds += time.fastest;
  }
  result.gflops = 1e-6 * flops / milliseconds;
  return result;
}

Measured measure_product(Math math, DType format, double seconds) {
  Graph graph("product");
  const TensorType square{format, {768, 768}};
  const Value a = graph.input("a", square), b = graph.input("b", square);
  graph.output("y", graph.add(MatMul{}, {a, b}, {.math = math}));
  return measure(graph, seconds);
}

// The middle of a residual network: 64 channels of 16x16, 3x3.
Measured measure_convolution(Math math, DType format, double seconds) {
  Graph graph("convolution");
  const Shape images{32, 64, 16, 16}, weights{64, 64, 3, 3};
  const Value x = graph.input("x", {format, images}), w = graph.input("w", {format, weights});
  const Value dy = graph.input("dy", {format, images});
  const Dims pads{1, 1, 1, 1};
  ConvDataGradient data;
  data.pads = pads;
  data.shape = images;
  ConvWeightGradient weight;
  weight.pads = pads;
  weight.shape = weights;
  graph.output("y", graph.add(Conv{.pads = pads}, {x, w}, {.math = math}));
  graph.output("dx", graph.add(data, {dy, w}, {.math = math}));
  graph.output("dw", graph.add(weight, {x, dy}, {.math = math}));
  return measure(graph, seconds);
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

double MathRate::gflops() const { return std::sqrt(product_gflops * convolution_gflops); }

std::vector<MathRate> measure_math(double seconds) {
  constexpr std::pair<Math, DType> kinds[] = {{Math::ieee, DType::f32},
                                              {Math::f32, DType::f32},
                                              {Math::dfp16, DType::f32},
                                              {Math::bf16, DType::bf16},
                                              {Math::f16, DType::f16}};
  std::vector<MathRate> rates;
  for (const auto& [math, format] : kinds) {
    const Measured product = measure_product(math, format, seconds);
    const Measured convolution = measure_convolution(math, format, seconds);
    rates.push_back({math, format, product.implementation, convolution.implementation,
                     product.gflops, convolution.gflops});
  }
  return rates;
}

double PeakRates::of(Math contract) const {
  constexpr double products = 3;
  switch (contract) {
    case Math::bf16:
      return std::max({f32, bf16, int16});
    case Math::f32:
    case Math::bf16x3:
      return std::max({f32, int16, bf16 / products});
    case Math::f16:
    case Math::dfp16:
      return std::max({f32, int16, int8 / products});
    default:
      return f32;
  }
}

PeakRates measure_peaks(double seconds) {
  using cpu::Unit;
  return {cpu::measure_unit(Unit::f32, seconds), cpu::measure_unit(Unit::bf16, seconds),
          cpu::measure_unit(Unit::int16, seconds), cpu::measure_unit(Unit::int8, seconds),
          cpu::measure_memory(2 * seconds)};
}

PeakRates best_of(const PeakRates& a, const PeakRates& b) {
  return {std::max(a.f32, b.f32), std::max(a.bf16, b.bf16), std::max(a.int16, b.int16),
          std::max(a.int8, b.int8), std::max(a.memory, b.memory)};
}

}  // namespace narrowgauge
