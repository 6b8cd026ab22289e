// SPDX-License-Identifier: Apache-2.0
// The kernel of GroupNormalization and InstanceNormalization, alone and with ops behind it.
#pragma once

#include <array>
#include <functional>

#include "narrowgauge/kernel.h"

namespace narrowgauge {

struct ChannelGroups {
  std::int64_t groups = 1;
  double epsilon = 1e-5;
};

// Where a request has x, scale and bias.
using ChannelGroupsPorts = std::array<int, 3>;

// Computes elements [begin, end) of the request's only output once more from what is stored there.
using StoredTail =
    std::function<void(const KernelCall& call, std::int64_t begin, std::int64_t end)>;

// Offers to normalize x into the request's first output, f32 or narrower, in any layout of channels
// but batch-inner blocks. With a tail, the output is dense.
Offer offer_channel_groups(const Request& request, const ChannelGroups& groups,
                           const ChannelGroupsPorts& ports, StoredTail tail = {});

}  // namespace narrowgauge
