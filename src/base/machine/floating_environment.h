// SPDX-License-Identifier: Apache-2.0
// The CPU's floating-point settings while the library computes, whatever the caller's are.
#pragma once

#include <cfenv>
#include <cstdint>

namespace narrowgauge {

// What becomes of numbers below the least normal one, as operands and as results.
enum class Subnormals : std::uint8_t { keep, flush };

// Rounding to nearest, no trapped exceptions, and subnormals as asked: in the calling thread, and
// so in the bodies of its parallel_for. All that the caller had set comes back at the end, with the
// flags that it had raised and none of ours. May stand within another one.
class FloatingEnvironment {
 public:
  explicit FloatingEnvironment(Subnormals subnormals);
  ~FloatingEnvironment();
  FloatingEnvironment(const FloatingEnvironment&) = delete;
  FloatingEnvironment& operator=(const FloatingEnvironment&) = delete;

 private:
  std::fenv_t callers_;
};

}  // namespace narrowgauge
