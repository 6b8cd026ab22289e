// SPDX-License-Identifier: Apache-2.0
// Runs a oneDNN primitive over the shards of its operands: brings them into the formats it wants,
// runs it, and stores or sums the results. Each shard belongs to one thread, so that widened copies
// of narrow operands stay in its cache, and a delayed thread keeps no other waiting.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/cpu/contraction/contraction.h"
#include "kernels/cpu/core/view.h"
#include "kernels/cpu/onednn/onednn.h"
#include "kernels/cpu/onednn/shards.h"

namespace narrowgauge::cpu {

constexpr int whole = -1;

struct Port {
  int number = 0;  // DNNL_ARG_*
  int index = 0;   // in Call::inputs or Call::outputs
  bool output = false;
  int axis = whole;   // cut along it; an uncut output is the sum over the shards
  View view;          // the caller's memory; of one image where images are cut by themselves
  View wanted;        // what the primitive works on: dense where cut; row-major f32 for a sum
  bool free = false;  // oneDNN chooses the format, converted from or to `wanted`
  Reach reach = {};   // what a shard needs of it
  std::int64_t image_stride = 0;  // elements between images that are cut by themselves
};

// Describes the primitive for a shard, taking formats from shard_format().
using Describe = std::function<onednn::PrimitiveDescription(const Range& range)>;

onednn::Format shard_format(const Port& port, const Range& range);
// Whether all shards are computed by AMX kernels.
bool is_amx(const std::vector<Port>& ports, const Shards& shards, const Describe& describe);

// Prepares for `options.threads` threads at once; `widening` says which operands are widened, if
// any. Constants are packed ahead if the primitive does not read them as they are. Throws
// DeviceError.
Prepared prepare_sharded(const std::vector<Port>& ports, const Shards& shards,
                         const ContractionOptions& options, const Describe& describe,
                         const std::string& widening);

}  // namespace narrowgauge::cpu
