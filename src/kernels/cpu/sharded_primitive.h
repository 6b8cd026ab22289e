// SPDX-License-Identifier: Apache-2.0
// A oneDNN primitive over the shards of its operands: brings them into the formats it wants, runs
// it, and stores or sums the results. Several shards are worked on at once, each by few threads, so
// that the wide copies of narrow operands stay in cache.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/cpu/onednn.h"
#include "kernels/cpu/shards.h"
#include "kernels/cpu/view.h"

namespace narrowgauge::cpu {

constexpr int whole = -1;

struct Port {
  int number = 0;  // DNNL_ARG_*
  int index = 0;   // in Call::inputs or Call::outputs
  bool output = false;
  int axis = whole;   // cut along it; an uncut output is the sum over the shards
  View view;          // the caller's memory
  View wanted;        // what the primitive works on: dense where cut; row-major f32 for a sum
  bool free = false;  // uncut only: oneDNN chooses the format, converted from or to `wanted`
};

// Describes the primitive for shards of this size, taking formats from shard_format().
using Describe = std::function<onednn::PrimitiveDescription(std::int64_t size)>;

onednn::Format shard_format(const Port& port, std::int64_t size);
// Whether the shards, the shorter last one too, are computed by AMX kernels.
bool is_amx(const Shards& shards, const Describe& describe);

// `note` is appended to the implementation's name. Throws DeviceError.
Prepared prepare_sharded(std::vector<Port> ports, const Shards& shards, const Describe& describe,
                         const std::string& note);

}  // namespace narrowgauge::cpu
