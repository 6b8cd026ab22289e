// SPDX-License-Identifier: Apache-2.0
#include "study/doctor.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <utility>

#include "api/programs/contraction_times.h"
#include "api/programs/kernel_cache.h"
#include "base/files/memory.h"
#include "base/machine/cpu.h"
#include "base/threads/parallel.h"
#include "compile/compile.h"
#include "ops/convolution/conv.h"
#include "ops/math/matmul.h"

namespace narrowgauge {
namespace {

// The "NVRM version: ..." line that a loaded NVIDIA driver shows in /proc.
std::string gpu_text() {
  std::ifstream driver("/proc/driver/nvidia/version");
  std::string line;
  if (std::getline(driver, line))
    return concat("an NVIDIA driver is loaded (", line, "), but this build has no CUDA backend");
  return "none: no NVIDIA driver is loaded, and this build has no CUDA backend";
}

struct MathKind {
  Math math;
  DType format;
};
constexpr MathKind math_kinds[] = {{Math::ieee, DType::f32},
                                   {Math::f32, DType::f32},
                                   {Math::dfp16, DType::f32},
                                   {Math::bf16, DType::bf16},
                                   {Math::f16, DType::f16}};

Graph product(const MathKind& kind) {
  Graph graph("product");
  const TensorType square{kind.format, {768, 768}};
  const Value a = graph.input("a", square), b = graph.input("b", square);
  graph.output("y", graph.add(MatMul{}, {a, b}, {.name = "product", .math = kind.math}));
  return graph;
}

// The middle of a residual network: 64 channels of 16x16, 3x3.
Graph convolutions(const MathKind& kind) {
  Graph graph("convolution");
  const Shape images{32, 64, 16, 16}, weights{64, 64, 3, 3};
  const Value x = graph.input("x", {kind.format, images});
  const Value w = graph.input("w", {kind.format, weights});
  const Value dy = graph.input("dy", {kind.format, images});
  const Dims pads{1, 1, 1, 1};
  ConvDataGradient data;
  data.pads = pads;
  data.shape = images;
  ConvWeightGradient weight;
  weight.pads = pads;
  weight.shape = weights;
  const auto named = [&](const char* name) { return NodeOptions{.name = name, .math = kind.math}; };
  graph.output("y", graph.add(Conv{.pads = pads}, {x, w}, named("forward")));
  graph.output("dx", graph.add(data, {dy, w}, named("data")));
  graph.output("dw", graph.add(weight, {x, dy}, named("weight")));
  return graph;
}

struct Measured {
  std::string implementation;  // of the first contraction
  KernelFacts facts;
  double gflops = 0;  // of all together
};

Measured first_of(const Plan& plan, double gflops) {
  const ContractionTime first = distinct_contractions(plan).front();
  return {first.implementation, first.facts, gflops};
}

// One rate for each kind; returns false if other programs make them unmeasurable.
bool measure_kinds(Graph (*graph_of)(const MathKind&), Stopwatch& stopwatch,
                   std::vector<Measured>& measured) {
  CompileOptions options;
  options.kernels = kernel_cache();
  std::vector<Plan> plans;
  for (const MathKind& kind : math_kinds) plans.push_back(compile(graph_of(kind), options));
  std::vector<const Plan*> pointers;
  for (const Plan& plan : plans) pointers.push_back(&plan);
  std::vector<std::string> nodes;
  for (const ContractionTime& each : distinct_contractions(plans.front()))
    nodes.push_back(each.node);
  const std::vector<WayTimes> ways = time_by_turns(pointers, nodes, stopwatch);
  measured.clear();
  for (std::size_t i = 0; i < plans.size(); ++i)
    measured.push_back(first_of(plans[i], ways.empty() ? 0 : ways[i].gflops()));
  return !ways.empty();
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

const MathRate& MathRates::of(Math math) const {
  const auto found = std::find_if(rates.begin(), rates.end(),
                                  [&](const MathRate& rate) { return rate.math == math; });
  NG_INVARIANT(found != rates.end());
  return *found;
}

std::vector<FormatRate> MathRates::formats(Isa isa) const {
  std::vector<FormatRate> formats;
  for (const Math math : {Math::f32, Math::bf16, Math::f16}) {
    const MathRate& rate = of(math);
    formats.push_back(grounds == Grounds::model
                          ? modelled_rate(isa, rate.format)
                          : FormatRate{rate.format, rate.gflops(), rate.product_facts.widened});
  }
  return formats;
}

MathRates measure_math(const MakeStopwatch& make) {
  std::vector<Measured> products, groups;
  MathRates result;
  result.grounds = measure_or_model(make, [&](Stopwatch& stopwatch) {
    const bool told = measure_kinds(product, stopwatch, products);
    return measure_kinds(convolutions, stopwatch, groups) && told;
  });
  for (std::size_t i = 0; i < std::size(math_kinds); ++i) {
    const bool known = result.grounds != Grounds::model;
    result.rates.push_back({math_kinds[i].math, math_kinds[i].format, products[i].implementation,
                            groups[i].implementation, products[i].facts, groups[i].facts,
                            known ? products[i].gflops : 0, known ? groups[i].gflops : 0});
  }
  return result;
}

}  // namespace narrowgauge
