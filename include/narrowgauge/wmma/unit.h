// SPDX-License-Identifier: Apache-2.0
// Which matrix unit the host computes as. Under nvcc the GPU is the unit: choices have no effect.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include "narrowgauge/matrix_unit.h"

#if defined(__CUDACC__)
#include <cuda_runtime.h>
#endif

namespace narrowgauge::wmma {

// Whether models that no measurement confirms (Evidence::unresolved) may compute.
enum class Unresolved : std::uint8_t { refused, allowed };

// A unit to compute as.
struct UnitChoice {
  MatrixUnit unit = MatrixUnit::a100;           // whose bits
  Unresolved unresolved = Unresolved::refused;  // whether a guess will do
};

#if defined(__CUDACC__)
inline namespace on_device {

inline constexpr bool runs_on_host = false;

// Whether there is something to launch kernels on.
inline bool has_device() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

inline bool use_unit(MatrixUnit, Unresolved = Unresolved::refused) { return false; }

class UnitScope {
 public:
  explicit UnitScope(UnitChoice) {}
  explicit UnitScope(MatrixUnit, Unresolved = Unresolved::refused) {}
};

// The unit of the current device, by its compute capability; nothing if that is unknown.
inline std::optional<MatrixUnit> executing_unit() {
  int device = 0, major = 0, minor = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return {};
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  switch (10 * major + minor) {
    case 70:
      return MatrixUnit::v100;
    case 75:
      return MatrixUnit::t4;
    case 80:
    case 86:
    case 87:
      return MatrixUnit::a100;
    case 89:
      return MatrixUnit::ada;
    case 90:
      return MatrixUnit::h100;
    case 100:
    case 103:
      return MatrixUnit::b200;
    default:
      return {};
  }
}

}  // namespace on_device
#else
inline namespace on_host {

// Whether kernels run on the host; false under nvcc.
inline constexpr bool runs_on_host = true;
// Whether there is something to launch kernels on.
inline bool has_device() { return true; }

namespace unit {

inline std::atomic<UnitChoice> of_process{};
inline thread_local std::optional<UnitChoice> of_thread;

inline UnitChoice choice() { return of_thread ? *of_thread : of_process.load(); }

[[noreturn]] inline void refuse(MatrixUnit unit, std::string_view what) {
  throw std::invalid_argument("wmma: " + std::string(name(unit)) + " " + std::string(what));
}

}  // namespace unit

// Sets the unit of all threads from now on, except inside a UnitScope; it is a100 until then.
// Returns whether the choice has an effect: on the host it has.
inline bool use_unit(MatrixUnit unit, Unresolved unresolved = Unresolved::refused) {
  unit::of_process = UnitChoice{unit, unresolved};
  return true;
}

// Sets the unit of this thread, and of the kernels it launches, while the scope lasts.
class UnitScope {
 public:
  // Sets the unit until the end of the scope.
  explicit UnitScope(UnitChoice choice) : before_(unit::of_thread) { unit::of_thread = choice; }
  // Sets the unit until the end of the scope.
  explicit UnitScope(MatrixUnit unit, Unresolved unresolved = Unresolved::refused)
      : UnitScope(UnitChoice{unit, unresolved}) {}
  ~UnitScope() { unit::of_thread = before_; }
  UnitScope(const UnitScope&) = delete;
  UnitScope& operator=(const UnitScope&) = delete;

 private:
  std::optional<UnitChoice> before_;
};

// The unit that would compute a product of this thread.
inline std::optional<MatrixUnit> executing_unit() { return unit::choice().unit; }

}  // namespace on_host
#endif

}  // namespace narrowgauge::wmma
