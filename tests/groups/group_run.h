// SPDX-License-Identifier: Apache-2.0
// Graphs of batch-inner images run with their groups fused, and node by node.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "base/machine/cpu.h"
#include "base/random.h"
#include "base/threads/parallel.h"
#include "compile/compile.h"
#include "ops/table.h"
#include "passes/layout/assign_layout.h"
#include "runtime/executor.h"
#include "support/count.h"

namespace narrowgauge {

inline std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// The graph with images in another format than bf16, multiplied as AMP has it.
inline std::string in_format(std::string_view text, std::string_view format) {
  std::istringstream lines{std::string(text)};
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    const bool contraction = line.find("Conv") != std::string::npos;
    out += replaced(line, "bf16", format) +
           (contraction ? concat(" @math=", format == "f64" ? "ieee" : format) : std::string()) +
           '\n';
  }
  return out;
}

// Passes are tested for it on any machine: what they make is not run.
inline const Target with_amx{.isa = Isa::amx};

inline Graph laid_out(std::string_view text) {
  return assign_layout(parse(text, op_table()), Layout::fastest, with_amx);
}

// `first` takes the place of the first input's first value, where it is given.
inline std::vector<Tensor> run(std::string_view text, const CompileOptions& options,
                               int threads = 2, float first = 0) {
  const Graph graph = parse(text, op_table());
  std::vector<Tensor> inputs;
  for (const Value& value : graph.inputs()) {
    const TensorType& type = graph.type(value);
    inputs.emplace_back(type.dtype, known_dims(type.shape));
    const RandomStream random(5, graph.value_name(value));
    for (std::int64_t i = 0; i < inputs.back().size(); ++i)
      inputs.back().set(i,
                        random.normal(static_cast<std::uint64_t>(i)) + static_cast<float>(i % 2));
  }
  if (first != 0) inputs[0].set(0, first);
  StateStore store;
  CompileOptions deterministic = options;
  deterministic.deterministic = true;
  const ThreadScope scope(threads);
  Executor executor(compile(graph, deterministic), store, 1);
  return executor.run(inputs);
}

// Images within the format's rounding, vectors of f32 much closer: they are sums of these values.
inline void expect_same_values(std::string_view text, double image_bound = 0.01,
                               double vector_bound = 2e-3) {
  const std::vector<Tensor> apart = run(text, {.fuse = false}), fused = run(text, {});
  for (std::size_t o = 0; o < apart.size(); ++o) {
    const bool vector = apart[o].dtype() == DType::f32;
    double largest = 0;
    for (std::int64_t i = 0; i < apart[o].size(); ++i)
      if (std::isfinite(apart[o].at(i))) largest = std::max(largest, std::abs(apart[o].at(i)));
    for (std::int64_t i = 0; i < apart[o].size(); ++i) {
      if (apart[o].at(i) == fused[o].at(i)) continue;  // infinities of f16 too
      ASSERT_NEAR(apart[o].at(i), fused[o].at(i), (vector ? vector_bound : image_bound) * largest)
          << o << " at " << i;
    }
  }
}

inline void expect_same_bits(std::string_view text) {
  const std::vector<Tensor> one = run(text, {}, 1), three = run(text, {}, 3);
  for (std::size_t o = 0; o < one.size(); ++o)
    for (std::int64_t i = 0; i < one[o].size(); ++i)
      ASSERT_EQ(one[o].at(i), three[o].at(i)) << o << " at " << i;
}

}  // namespace narrowgauge
