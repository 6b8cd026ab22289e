// SPDX-License-Identifier: Apache-2.0
// Copies between strided memory and oneDNN's own formats.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/cpu/core/view.h"
#include "kernels/cpu/onednn/onednn.h"

namespace narrowgauge::cpu::onednn {

class Reorder {
 public:
  enum class Way { in, out };  // into oneDNN's format, or out of it
  // `parts`: cuts a large reorder into pieces for several threads, if the format allows it.
  Reorder(const View& outer, const Format& inner, Way way, bool parts);

  std::int64_t scratchpad_bytes() const;
  // The scratchpad is for one thread; a reorder in parts needs none.
  void run(const void* from, void* to, void* scratchpad) const;

 private:
  struct Part {
    std::unique_ptr<Primitive> primitive;
    std::int64_t offset = 0;  // bytes into the strided memory
  };
  bool cut(const View& outer, const Format& inner);

  Way way_;
  std::vector<Part> parts_;
};

}  // namespace narrowgauge::cpu::onednn
