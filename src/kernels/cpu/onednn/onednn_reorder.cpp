// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/onednn/onednn_reorder.h"

#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/machine/openmp.h"
#include "base/threads/parallel.h"

namespace narrowgauge::cpu::onednn {
namespace {

constexpr std::int64_t bytes_each = 256 * 1024;  // of a part: some tens of microseconds
constexpr std::int64_t granule = 64;             // no block of oneDNN's formats is larger

// nullptr if oneDNN has no such reorder.
std::unique_ptr<Primitive> reorder(const Format& from, const Format& to) {
  dnnl_primitive_desc_t created = nullptr;
  if (!succeeds(dnnl_reorder_primitive_desc_create(&created, from.get(), engine(), to.get(),
                                                   engine(), user_scratchpad())))
    return nullptr;
  const PrimitiveDescription description(created);
  return std::make_unique<Primitive>(description, std::array{DNNL_ARG_FROM, DNNL_ARG_TO});
}

// A range along the first axis of a format, in place; null if its blocks do not allow it.
Format lines_of(const Format& format, const Dims& dims, std::int64_t begin) {
  Dims offsets(dims.size(), 0);
  offsets[0] = begin;
  dnnl_memory_desc_t created = nullptr;
  if (!succeeds(
          dnnl_memory_desc_create_submemory(&created, format.get(), dims.data(), offsets.data())))
    return nullptr;
  return Format(created, [](dnnl_memory_desc_t held) { dnnl_memory_desc_destroy(held); });
}

}  // namespace

Reorder::Reorder(const View& outer, const Format& inner, Way way, bool parts) : way_(way) {
  const OneOpenMpThread one_thread;
  if (parts && way == Way::in && cut(outer, inner)) return;
  parts_.clear();
  const Format strided = strided_format(outer);
  auto whole = way == Way::in ? reorder(strided, inner) : reorder(inner, strided);
  require<DeviceError>(whole != nullptr, "dnnl_reorder_primitive_desc_create: refused");
  parts_.push_back({std::move(whole), 0});
}

bool Reorder::cut(const View& outer, const Format& inner) {
  const std::int64_t lines = outer.dims[0];
  const std::int64_t pieces = std::max<std::int64_t>(format_bytes(inner) / bytes_each, 1);
  const std::int64_t each = ((lines + pieces - 1) / pieces + granule - 1) / granule * granule;
  if (each >= lines) return false;
  for (std::int64_t begin = 0; begin < lines; begin += each) {
    const View part = slice(outer, 0, std::min(each, lines - begin));
    const Format inside = lines_of(inner, part.dims, begin);
    auto primitive = inside ? reorder(strided_format(part), inside) : nullptr;
    if (!primitive || primitive->scratchpad_bytes() > 0) return false;
    parts_.push_back({std::move(primitive), bytes_for(begin * outer.strides[0], outer.dtype)});
  }
  return true;
}

std::int64_t Reorder::scratchpad_bytes() const { return parts_[0].primitive->scratchpad_bytes(); }

void Reorder::run(const void* from, void* to, void* scratchpad) const {
  parallel_for(static_cast<std::int64_t>(parts_.size()), 1, [&](std::int64_t i, std::int64_t) {
    const Part& part = parts_[static_cast<std::size_t>(i)];
    const void* start = static_cast<const std::byte*>(from) + (way_ == Way::in ? part.offset : 0);
    part.primitive->execute(
        std::array{Argument{DNNL_ARG_FROM, const_cast<void*>(start)}, Argument{DNNL_ARG_TO, to}},
        scratchpad);
  });
}

}  // namespace narrowgauge::cpu::onednn
