// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/normalization/group_normalization.h"
#include "ops/offers/channel_groups.h"
#include "ops/reference.h"

namespace narrowgauge {

ChannelGroups GroupNormalization::groups_of(std::int64_t) const { return {num_groups, epsilon}; }

ChannelGroups InstanceNormalization::groups_of(std::int64_t channels) const {
  return {channels, epsilon};
}

namespace {

template <class Op>
ChannelGroups groups_of(const Request& request) {
  return request.as<Op>().groups_of(request.input(0).dims[1]);
}

template <class Op>
Offer offer_groups(const Request& request) {
  Offer offer = offer_channel_groups(request, groups_of<Op>(request), {0, 1, 2});
  offer.in_place = {{0, 0}};
  return offer;
}

// Row-major rows, each a group of channels of one example.
struct GroupRows {
  std::int64_t count, channels, inner;  // elements of a row and of a channel
  double epsilon;

  void normalize(const std::vector<ReferenceView>& in, const ReferenceView& y,
                 std::int64_t row) const {
    const std::int64_t first = row * count;
    double mean = 0, variance = 0;
    for (std::int64_t i = first; i < first + count; ++i)
      mean += in[0][i] / static_cast<double>(count);
    for (std::int64_t i = first; i < first + count; ++i)
      variance += (in[0][i] - mean) * (in[0][i] - mean) / static_cast<double>(count);
    const double inverse_std = 1 / std::sqrt(variance + epsilon);
    for (std::int64_t i = first; i < first + count; ++i) {
      const std::int64_t c = i / inner % channels;
      y.set(i, (in[0][i] - mean) * inverse_std * in[1][c] + in[2][c]);
    }
  }
};

template <class Op>
Offer groups_reference(const Request& request) {
  const ChannelGroups groups = groups_of<Op>(request);
  return reference_offer(request, [groups](const auto& in, const auto& out, const KernelCall&) {
    const Dims& dims = in[0].dims();
    if (in[0].size() == 0) return;
    const std::int64_t rows = dims[0] * groups.groups;
    const GroupRows all{in[0].size() / rows, dims[1], in[0].size() / (dims[0] * dims[1]),
                        groups.epsilon};
    for (std::int64_t row = 0; row < rows; ++row) all.normalize(in, out[0], row);
  });
}

template <class Op>
constexpr Kernel group_kernels[] = {{"channels", offer_groups<Op>},
                                    {"reference", groups_reference<Op>}};

}  // namespace

std::span<const Kernel> GroupNormalization::kernels() { return group_kernels<GroupNormalization>; }
std::span<const Kernel> InstanceNormalization::kernels() {
  return group_kernels<InstanceNormalization>;
}

}  // namespace narrowgauge
