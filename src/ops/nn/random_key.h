// SPDX-License-Identifier: Apache-2.0
// Random numbers as values: a key, drawn once a step, and functions of the key alone, so that the
// backward pass computes the same numbers again and none are stored.
#pragma once

#include "base/random.h"
#include "narrowgauge/op_record.h"

namespace narrowgauge {

// Key and step of a RandomStream, a function of (seed, step, node name); the attribute `seed`
// replaces the run's seed unless it is negative.
struct RandomKey {
  static constexpr OpInfo info{
      .name = "RandomKey", .domain = "ng", .inputs = "", .outputs = "key:i64!", .random = true};
  std::int64_t seed = -1;
  static void attributes(auto& self, auto&& visit) { visit("seed", self.seed); }
  TensorTypes infer(const Inference& in) const;
  static std::span<const Kernel> kernels();
};

// Which elements of a tensor of this shape dropout keeps, each with probability `keep`: those whose
// 16 random bits, RandomStream::short_bits, are less than keep * 2^16.
struct KeptElements {
  static constexpr OpInfo info{
      .name = "KeptElements", .domain = "ng", .inputs = "key:i64!", .outputs = "mask:bool!"};
  Shape shape;
  double keep = 0.5;
  static void attributes(auto& self, auto&& visit) {
    visit("shape", self.shape);
    visit("keep", self.keep);
  }
  TensorTypes infer(const Inference& in) const;
  static std::span<const Kernel> kernels();
};

void require_random_key(const Inference& in, int input);  // throws UsageError
RandomStream stream_of_key(const std::int64_t* key);

}  // namespace narrowgauge
