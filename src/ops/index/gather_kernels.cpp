// SPDX-License-Identifier: Apache-2.0
#include "ops/index/gather_kernels.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "base/threads/parallel.h"
#include "kernels/cpu/convert/convert.h"
#include "ops/axes/axes.h"
#include "ops/axes/axis.h"
#include "ops/index/gather.h"
#include "ops/reference.h"

namespace narrowgauge {

namespace {

// data in memory as [outer, size, inner], the gathered tensor as [outer, count, inner].
struct GatheredSlices {
  std::int64_t outer = 1, size = 1, inner = 1, count = 1;
  bool counts_from_end = true;  // indices below 0
};

// The slices that are gathered, in the order of the axes, or with axis 1 last.
GatheredSlices gathered_slices(std::string_view op, const Operand& data, const Operand& indices,
                               std::int64_t axis, bool channels_last = false) {
  const std::size_t along = normalize_axis(op, axis, data.dims.size());
  std::vector<std::size_t> order(data.dims.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (channels_last) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  GatheredSlices slices;
  slices.size = data.dims[along];
  slices.count = element_count(indices.dims);
  const auto at = std::ranges::find(order, along);
  for (auto i = order.begin(); i != at; ++i) slices.outer *= data.dims[*i];
  for (auto i = at + 1; i != order.end(); ++i) slices.inner *= data.dims[*i];
  return slices;
}

std::int64_t checked_index(std::int64_t index, const GatheredSlices& s) {
  require<DataError>(index >= (s.counts_from_end ? -s.size : 0) && index < s.size, "Gather: index ",
                     index, " is outside an axis of ", s.size);
  return index < 0 ? index + s.size : index;
}

std::int64_t read_index(DType dtype, const void* data, std::int64_t at) {
  return dtype == DType::i64 ? static_cast<const std::int64_t*>(data)[at]
                             : static_cast<const std::int32_t*>(data)[at];
}

bool is_channels_last(const Request& request) {
  const Operand &x = request.inputs[0], &y = request.outputs[0];
  return request.inputs[1].dims.size() == 1 && !is_dense(x) && is_channels_last(x) &&
         is_channels_last(y);
}

std::string check_dense(const Request& request) {
  const Operand &x = request.inputs[0], &indices = request.inputs[1], &y = request.outputs[0];
  for (const Operand* const operand : {&x, &y})
    if (bits(operand->dtype) < 8) return concat("elements of ", operand->dtype, " share bytes");
  if (!is_dense(indices)) return "indices that do not lie together";
  if ((is_dense(x) && is_dense(y)) || is_channels_last(request)) return {};
  return concat("storage ", x.storage, " and ", y.storage, ", or a strided operand");
}

constexpr std::int64_t grain_bytes = 1 << 16;

// What is copied: `places` are the checked indices, one after the other.
struct Copy {
  GatheredSlices s;
  const std::byte* from;
  const std::int64_t* places;
  std::byte* to;
};

// Rows [begin, end) of the gathered tensor's outer axis, whose slices are one element each.
template <class Element>
void copy_elements(const Copy& copy, std::int64_t begin, std::int64_t end) {
  const auto* from = reinterpret_cast<const Element*>(copy.from) + begin * copy.s.size;
  auto* to = reinterpret_cast<Element*>(copy.to) + begin * copy.s.count;
  for (std::int64_t row = begin; row < end; ++row, from += copy.s.size, to += copy.s.count)
    for (std::int64_t i = 0; i < copy.s.count; ++i) to[i] = from[copy.places[i]];
}

void copy_slices(const Copy& copy, std::int64_t bytes, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i)
    std::memcpy(
        copy.to + i * bytes,
        copy.from + (i / copy.s.count * copy.s.size + copy.places[i % copy.s.count]) * bytes,
        static_cast<std::size_t>(bytes));
}

using CopyElements = void (*)(const Copy& copy, std::int64_t begin, std::int64_t end);

// What copies elements of so many bytes; null for other slices.
CopyElements element_copier(std::int64_t bytes) {
  if (bytes == 1) return copy_elements<std::uint8_t>;
  if (bytes == 2) return copy_elements<std::uint16_t>;
  if (bytes == 4) return copy_elements<std::uint32_t>;
  return bytes == 8 ? copy_elements<std::uint64_t> : nullptr;
}

Offer offer_gather(const Request& request) {
  if (std::string reason = check_dense(request); !reason.empty())
    return Offer::decline(std::move(reason));
  const auto op = request.as<Gather>();
  GatheredSlices s = gathered_slices("Gather", request.inputs[0], request.inputs[1], op.axis,
                                     is_channels_last(request));
  s.counts_from_end = op.counts_from_end;
  const std::int64_t bytes = s.inner * bits(request.inputs[0].dtype) / 8;
  Offer offer;
  offer.implementation = "rows";
  offer.workspace = s.count * static_cast<std::int64_t>(sizeof(std::int64_t));
  offer.run = [s, bytes, type = request.inputs[1].dtype](const KernelCall& call) {
    auto* const to = call.outputs[0].as<std::byte>();
    if (!to || bytes == 0) return;
    auto* const places = reinterpret_cast<std::int64_t*>(call.workspace);
    for (std::int64_t i = 0; i < s.count; ++i)
      places[i] = checked_index(read_index(type, call.inputs[1].data, i), s);
    const Copy copy{s, call.inputs[0].as<const std::byte>(), places, to};
    if (const CopyElements elements = element_copier(bytes); elements && s.count > 0)
      return parallel_for(
          s.outer, 1 + grain_bytes / (bytes * s.count),
          [&](std::int64_t begin, std::int64_t end) { elements(copy, begin, end); });
    parallel_for(
        s.outer * s.count, 1 + grain_bytes / bytes,
        [&](std::int64_t begin, std::int64_t end) { copy_slices(copy, bytes, begin, end); });
  };
  return offer;
}

Offer gather_reference(const Request& request) {
  const auto op = request.as<Gather>();
  GatheredSlices s = gathered_slices("Gather", request.inputs[0], request.inputs[1], op.axis);
  s.counts_from_end = op.counts_from_end;
  return reference_offer(request, [s](const auto& in, const auto& out, const KernelCall&) {
    for (std::int64_t i = 0; i < out[0].size(); ++i) {
      const std::int64_t slice = i / s.inner, outer = slice / s.count;
      const std::int64_t index = checked_index(in[1].integer(slice % s.count), s);
      out[0].copy(i, in[0], (outer * s.size + index) * s.inner + i % s.inner);
    }
  });
}

// The entries of the index list that belong to each slice: entries[first[j] .. first[j + 1]), in
// list order, so that sums do not depend on the number of threads.
struct Members {
  std::int64_t* first;
  std::int64_t* entries;
};

Members sort_entries(const GatheredSlices& s, DType type, const void* indices,
                     std::byte* workspace) {
  const Members members{reinterpret_cast<std::int64_t*>(workspace),
                        reinterpret_cast<std::int64_t*>(workspace) + s.size + 2};
  std::fill_n(members.first, s.size + 2, 0);
  // Counts are stored two places ahead, so that filling in the entries leaves the beginnings.
  for (std::int64_t i = 0; i < s.count; ++i)
    ++members.first[checked_index(read_index(type, indices, i), s) + 2];
  for (std::int64_t j = 2; j <= s.size; ++j) members.first[j + 1] += members.first[j];
  for (std::int64_t i = 0; i < s.count; ++i) {
    const std::int64_t index = checked_index(read_index(type, indices, i), s);
    members.entries[members.first[index + 1]++] = i;
  }
  return members;
}

constexpr std::int64_t strip = 512;  // elements: 2 KiB of sums in f32

struct Addition {
  GatheredSlices s;
  DType dtype;
  const std::byte* dy;
  std::byte* dx;
};

// Sums one slice of dx.
void add_slice(const Addition& a, const Members& members, std::int64_t number,
               std::int64_t* flushed) {
  const std::int64_t outer = number / a.s.size, slice = number % a.s.size;
  const std::int64_t bytes = bits(a.dtype) / 8;
  alignas(64) float sums[strip], wide[strip];
  for (std::int64_t at = 0; at < a.s.inner; at += strip) {
    const std::int64_t length = std::min(strip, a.s.inner - at);
    std::fill_n(sums, length, 0.0F);
    for (std::int64_t k = members.first[slice]; k < members.first[slice + 1]; ++k) {
      const std::int64_t from = (outer * a.s.count + members.entries[k]) * a.s.inner + at;
      cpu::widen_row(a.dtype, a.dy + from * bytes, wide, length);
      for (std::int64_t i = 0; i < length; ++i) sums[i] += wide[i];
    }
    cpu::narrow_row(sums, a.dtype, a.dx + (number * a.s.inner + at) * bytes, length, flushed);
  }
}

Offer offer_gather_gradient(const Request& request) {
  if (std::string reason = check_dense(request); !reason.empty())
    return Offer::decline(std::move(reason));
  const DType dtype = request.inputs[0].dtype, type = request.inputs[1].dtype;
  if (dtype == DType::f64) return Offer::decline("adds in f32, not in f64");
  const GatheredSlices s =
      gathered_slices("GatherGradient", request.outputs[0], request.inputs[1],
                      request.as<GatherGradient>().axis, is_channels_last(request));
  Offer offer;
  offer.implementation = "rows";
  offer.workspace = (s.size + 2 + s.count) * static_cast<std::int64_t>(sizeof(std::int64_t));
  offer.run = [s, dtype, type](const KernelCall& call) {
    if (!call.outputs[0].data || s.inner == 0) return;
    const Members members = sort_entries(s, type, call.inputs[1].data, call.workspace);
    const Addition addition{s, dtype, call.inputs[0].as<const std::byte>(),
                            call.outputs[0].as<std::byte>()};
    parallel_for(s.outer * s.size, 1 + 16384 / s.inner, [&](std::int64_t begin, std::int64_t end) {
      std::int64_t flushed = 0;
      for (std::int64_t i = begin; i < end; ++i) add_slice(addition, members, i, &flushed);
      if (std::int64_t* total = call.flushed_at(0); total && flushed != 0)
        __atomic_fetch_add(total, flushed, __ATOMIC_RELAXED);
    });
  };
  return offer;
}

Offer gather_gradient_reference(const Request& request) {
  const GatheredSlices s = gathered_slices("GatherGradient", request.outputs[0], request.inputs[1],
                                           request.as<GatherGradient>().axis);
  return reference_offer(request, [s](const auto& in, const auto& out, const KernelCall&) {
    ReferenceSums sums(out[0].size());
    for (std::int64_t i = 0; i < in[0].size(); ++i) {
      const std::int64_t slice = i / s.inner, outer = slice / s.count;
      const std::int64_t index = checked_index(in[1].integer(slice % s.count), s);
      const std::int64_t to = (outer * s.size + index) * s.inner + i % s.inner;
      sums[to] += in[0][i];
    }
    store(sums, out[0]);
  });
}

constexpr Kernel gather_list[] = {{"rows", offer_gather}, {"reference", gather_reference}};
constexpr Kernel gather_gradient_list[] = {{"rows", offer_gather_gradient},
                                           {"reference", gather_gradient_reference}};

}  // namespace

std::span<const Kernel> gather_kernels() { return gather_list; }
std::span<const Kernel> gather_gradient_kernels() { return gather_gradient_list; }

}  // namespace narrowgauge
