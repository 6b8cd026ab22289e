// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/sharded_primitive.h"

#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string_view>
#include <utility>

#include "base/parallel.h"
#include "kernels/cpu/strided_copy.h"

namespace narrowgauge::cpu {
namespace {

using onednn::Primitive;

constexpr std::int64_t bytes_to_share = 256 * 1024;  // a reorder of less is not worth a barrier

// Places in the workspace, each on a cache line of its own.
class Layout {
 public:
  std::int64_t add(std::int64_t bytes) {
    const std::int64_t offset = size_;
    size_ += (bytes + 63) / 64 * 64;
    return offset;
  }
  std::int64_t size() const { return size_; }

 private:
  std::int64_t size_ = 0;
};

std::int64_t bytes_spanned(const View& view) {
  std::int64_t last = 0;
  for (std::size_t axis = 0; axis < view.dims.size(); ++axis)
    last += (view.dims[axis] - 1) * view.strides[axis];
  return bytes_for(last + 1, view.dtype);
}

View user_view(const Port& port, std::int64_t size) {
  return port.axis == whole ? port.view : slice(port.view, port.axis, size);
}

View wanted_view(const Port& port, std::int64_t size) {
  return port.axis == whole ? port.wanted : dense_slice(port.wanted, port.axis, size);
}

bool is_direct(const Port& port, std::int64_t size) {
  return port.view.dtype == port.wanted.dtype &&
         same_layout(user_view(port, size), wanted_view(port, size));
}

// A port with its place in the workspace.
struct Place : Port {
  bool direct = false;      // the primitive works on the caller's memory
  std::int64_t staged = 0;  // offset of the copy in format `wanted`: in the slot where cut
  bool partial() const { return output && axis == whole; }
};

// The primitive for one size of shard.
struct Variant {
  struct Conversion {  // between `wanted` and oneDNN's own format
    std::unique_ptr<Primitive> reorder;
    int threads = 1;
    std::int64_t offset = 0;  // of the data in oneDNN's format
  };
  std::unique_ptr<Primitive> primitive;
  std::vector<Conversion> conversions;  // one for each port
};

class ShardedPrimitive {
 public:
  ShardedPrimitive(std::vector<Port> ports, const Shards& shards, const Describe& describe)
      : shards_(shards), threads_(shards.threads_each * shards.at_once) {
    for (Port& port : ports) {
      NG_INVARIANT(port.axis == whole || !port.free);
      Place place{std::move(port)};
      place.direct = is_direct(place, shards.each) && is_direct(place, shards.last());
      places_.push_back(std::move(place));
    }
    add_variant(shards.each, describe);
    if (shards.last() != shards.each) add_variant(shards.last(), describe);
    lay_out();
  }

  const std::string& implementation() const { return variants_[0].primitive->implementation(); }
  std::int64_t workspace() const { return shared_.size() + slot_.size() * shards_.at_once; }

  void run(const Call& call) const {
    stage_shared(call);
    std::atomic<std::int64_t> next = 0, flushed = 0;
    if (shards_.threads_each > 1) {
      const ThreadScope all_threads(shards_.threads_each);
      flushed = run_shard(call, 0, 0);
    } else {
      parallel_for(shards_.at_once, 1, [&](std::int64_t slot, std::int64_t) {
        const ThreadScope one_thread(1);
        for (std::int64_t shard = next++; shard < shards_.count; shard = next++)
          flushed += run_shard(call, slot, shard);
      });
    }
    flushed += finish_sums(call);
    if (call.flushed) std::atomic_ref(*call.flushed).fetch_add(flushed, std::memory_order_relaxed);
  }

 private:
  void add_variant(std::int64_t size, const Describe& describe) {
    std::vector<int> numbers;
    for (const Place& place : places_) numbers.push_back(place.number);
    Variant variant;
    {
      const ThreadScope scope(shards_.threads_each);
      variant.primitive = std::make_unique<Primitive>(describe(size), numbers);
    }
    for (const Place& place : places_) {
      Variant::Conversion conversion;
      const onednn::Format& inner = variant.primitive->format(place.number);
      const int threads = place.output ? shards_.threads_each : threads_;
      if (onednn::format_bytes(inner) >= bytes_to_share) conversion.threads = threads;
      const ThreadScope scope(conversion.threads);
      if (place.free) conversion.reorder = conversion_for(place, inner);
      variant.conversions.push_back(std::move(conversion));
    }
    variants_.push_back(std::move(variant));
  }

  static std::unique_ptr<Primitive> conversion_for(const Place& place,
                                                   const onednn::Format& inner) {
    const onednn::Format outer = onednn::strided_format(place.wanted);
    if (onednn::same_format(outer, inner)) return nullptr;
    return place.output ? onednn::make_reorder(inner, outer) : onednn::make_reorder(outer, inner);
  }

  void lay_out() {
    for (Place& place : places_) {
      const std::int64_t parts = place.partial() && shards_.count > 1 ? shards_.count : 1;
      if (place.direct && parts == 1) continue;
      const std::int64_t bytes = bytes_spanned(wanted_view(place, shards_.each)) * parts;
      place.staged = (place.axis == whole ? shared_ : slot_).add(bytes);
    }
    std::int64_t scratchpad = 0;
    for (Variant& variant : variants_) {
      scratchpad = std::max(scratchpad, variant.primitive->scratchpad_bytes());
      for (std::size_t i = 0; i < places_.size(); ++i) {
        Variant::Conversion& conversion = variant.conversions[i];
        if (!conversion.reorder) continue;
        scratchpad = std::max(scratchpad, conversion.reorder->scratchpad_bytes());
        const std::int64_t bytes =
            onednn::format_bytes(variant.primitive->format(places_[i].number));
        conversion.offset = (places_[i].output ? slot_ : shared_).add(bytes);
      }
    }
    scratchpad_ = slot_.add(scratchpad);
  }

  static std::byte* shared(const Call& call, std::int64_t offset) {
    return static_cast<std::byte*>(call.workspace) + offset;
  }
  std::byte* slot(const Call& call, std::int64_t index, std::int64_t offset) const {
    return shared(call, shared_.size() + index * slot_.size() + offset);
  }

  // Inputs that every shard takes whole, in the format that the primitive wants.
  void stage_shared(const Call& call) const {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const Place& place = places_[i];
      if (place.output || place.axis != whole) continue;
      const void* data = call.inputs[place.index];
      if (!place.direct) {
        copy_strided(place.view, data, place.wanted, shared(call, place.staged));
        data = shared(call, place.staged);
      }
      for (const Variant& variant : variants_)
        convert(variant.conversions[i], data, shared(call, variant.conversions[i].offset),
                slot(call, 0, scratchpad_));
    }
  }

  static void convert(const Variant::Conversion& conversion, const void* from, void* to,
                      void* scratchpad) {
    if (!conversion.reorder) return;
    const ThreadScope scope(conversion.threads);
    onednn::execute_reorder(*conversion.reorder, from, to, scratchpad);
  }

  struct Shard {
    const Call& call;
    std::int64_t slot, index, begin, size;
    const Variant& variant;
  };

  // Returns how many results became zero.
  std::int64_t run_shard(const Call& call, std::int64_t slot_index, std::int64_t index) const {
    const std::int64_t begin = index * shards_.each;
    const std::int64_t size = std::min(shards_.each, shards_.extent - begin);
    const Shard shard{call,  slot_index, index,
                      begin, size,       variants_[size == shards_.each ? 0 : 1]};
    std::vector<onednn::Argument> arguments;
    arguments.reserve(places_.size());
    for (std::size_t i = 0; i < places_.size(); ++i)
      arguments.push_back({places_[i].number, bring(shard, i)});
    void* scratchpad = slot(call, slot_index, scratchpad_);
    shard.variant.primitive->execute(arguments, scratchpad);
    std::int64_t flushed = 0;
    for (std::size_t i = 0; i < places_.size(); ++i)
      if (places_[i].output) flushed += store(shard, i, arguments[i].data);
    return flushed;
  }

  // Where the primitive finds or leaves an operand of this shard; copies cut inputs in.
  void* bring(const Shard& shard, std::size_t i) const {
    const Place& place = places_[i];
    const Variant::Conversion& conversion = shard.variant.conversions[i];
    if (conversion.reorder)
      return place.output ? slot(shard.call, shard.slot, conversion.offset)
                          : shared(shard.call, conversion.offset);
    if (place.partial()) return partial_sum(shard, place);
    if (place.direct) return user_part(shard, place);
    if (place.axis == whole) return shared(shard.call, place.staged);
    void* staged = slot(shard.call, shard.slot, place.staged);
    if (!place.output)
      copy_strided(user_view(place, shard.size), user_part(shard, place),
                   wanted_view(place, shard.size), staged);
    return staged;
  }

  std::int64_t store(const Shard& shard, std::size_t i, const void* data) const {
    const Place& place = places_[i];
    if (place.partial()) {
      convert(shard.variant.conversions[i], data, partial_sum(shard, place),
              slot(shard.call, shard.slot, scratchpad_));
      return 0;
    }
    if (place.direct) return 0;
    std::int64_t flushed = 0;
    copy_strided(wanted_view(place, shard.size), data, user_view(place, shard.size),
                 user_part(shard, place), &flushed);
    return place.view.dtype == DType::f16 ? flushed : 0;
  }

  void* user_part(const Shard& shard, const Place& place) const {
    void* data = place.output ? shard.call.outputs[place.index]
                              : const_cast<void*>(shard.call.inputs[place.index]);
    if (place.axis == whole) return data;
    const std::int64_t stride = place.view.strides[static_cast<std::size_t>(place.axis)];
    return at_offset(data, place.view.dtype, shard.begin * stride);
  }

  void* partial_sum(const Shard& shard, const Place& place) const {
    if (shards_.count == 1 && place.direct) return shard.call.outputs[place.index];
    return shared(shard.call, place.staged + shard.index * bytes_spanned(place.wanted));
  }

  std::int64_t finish_sums(const Call& call) const {
    std::int64_t flushed = 0;
    for (const Place& place : places_) {
      if (!place.partial() || (shards_.count == 1 && place.direct)) continue;
      auto* parts = reinterpret_cast<float*>(shared(call, place.staged));
      void* out = call.outputs[place.index];
      sum_parts(parts, shards_.count, element_count(place.wanted.dims),
                place.direct ? static_cast<float*>(out) : parts);
      if (place.direct) continue;
      std::int64_t lost = 0;
      copy_strided(place.wanted, parts, place.view, out, &lost);
      if (place.view.dtype == DType::f16) flushed += lost;
    }
    return flushed;
  }

  Shards shards_;
  int threads_;  // that work at once
  std::vector<Place> places_;
  std::vector<Variant> variants_;  // for shards of the full size, and for a shorter last one
  Layout shared_, slot_;
  std::int64_t scratchpad_ = 0;  // offset in the slot
};

}  // namespace

onednn::Format shard_format(const Port& port, std::int64_t size) {
  const View part = wanted_view(port, size);
  return port.free ? onednn::free_format(part.dtype, part.dims) : onednn::strided_format(part);
}

bool is_amx(const Shards& shards, const Describe& describe) {
  const ThreadScope scope(shards.threads_each);
  const auto uses_amx = [&](std::int64_t size) {
    const onednn::PrimitiveDescription description = describe(size);
    const char* text = nullptr;
    onednn::check(dnnl_primitive_desc_query(description.get(), dnnl_query_impl_info_str, 0,
                                            static_cast<void*>(&text)),
                  "dnnl_primitive_desc_query");
    return std::string_view(text).find("amx") != std::string_view::npos;
  };
  return uses_amx(shards.each) && (shards.last() == shards.each || uses_amx(shards.last()));
}

Prepared prepare_sharded(std::vector<Port> ports, const Shards& shards, const Describe& describe,
                         const std::string& note) {
  auto primitive = std::make_shared<const ShardedPrimitive>(std::move(ports), shards, describe);
  std::string implementation = "onednn " + primitive->implementation() + note;
  if (shards.count > 1) implementation += concat(", ", shards.count, " shards");
  return {std::move(implementation), primitive->workspace(),
          [primitive](const Call& call) { primitive->run(call); }};
}

}  // namespace narrowgauge::cpu
