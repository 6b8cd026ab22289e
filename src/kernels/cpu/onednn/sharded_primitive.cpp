// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/onednn/sharded_primitive.h"

#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string_view>
#include <utility>

#include "base/machine/openmp.h"
#include "base/machine/stack_room.h"
#include "base/threads/parallel.h"
#include "kernels/cpu/core/strided_copy.h"
#include "kernels/cpu/core/work.h"
#include "kernels/cpu/core/workspace.h"
#include "kernels/cpu/onednn/onednn_reorder.h"

namespace narrowgauge::cpu {
namespace {

using onednn::Primitive;
using onednn::Reorder;

std::int64_t bytes_spanned(const View& view) {
  std::int64_t last = 0;
  for (std::size_t axis = 0; axis < view.dims.size(); ++axis)
    last += (view.dims[axis] - 1) * view.strides[axis];
  return bytes_for(last + 1, view.dtype);
}

View user_view(const Port& port, const Range& range) {
  return port.axis == whole ? port.view : slice(port.view, port.axis, port.reach.of(range).size);
}

// A free input of the right dtype is read in the caller's memory, whatever its strides.
View wanted_view(const Port& port, const Range& range) {
  if (port.axis == whole) return port.wanted;
  if (port.free && !port.output && port.view.dtype == port.wanted.dtype)
    return user_view(port, range);
  return dense_slice(port.wanted, port.axis, port.reach.of(range).size);
}

bool is_direct(const Port& port, const Range& range) {
  return port.view.dtype == port.wanted.dtype &&
         same_layout(user_view(port, range), wanted_view(port, range));
}

// A port with its place in the workspace.
struct Place : Port {
  bool direct = false;      // the primitive works on the caller's memory
  std::int64_t staged = 0;  // offset of the copy in format `wanted`: in the slot where cut
  // Offsets of what is packed ahead: by the kind of shard, or by shard where cut. Empty: nothing
  // is.
  std::vector<std::int64_t> packed{};
  bool is_packed() const { return !packed.empty(); }
  bool partial() const { return output && axis == whole; }
  bool shared() const { return !output && axis == whole && !is_packed(); }
};

// What decides which primitive a shard needs: how much it has of each operand, and how much of its
// window lies outside.
std::vector<std::int64_t> kind_of(const std::vector<Port>& ports, const Range& range) {
  std::vector<std::int64_t> kind{range.size};
  for (const Port& port : ports)
    for (const std::int64_t part :
         {port.reach.of(range).size, port.reach.pad_before(range), port.reach.pad_behind(range)})
      kind.push_back(part);
  return kind;
}

// One range of each kind, and the kind of each shard of an image.
struct Kinds {
  Kinds(const std::vector<Port>& ports, const Shards& shards) {
    std::vector<std::vector<std::int64_t>> known;
    for (std::int64_t shard = 0; shard < shards.count; ++shard) {
      const Range range = shards.range(shard);
      const auto kind = kind_of(ports, range);
      const auto at = std::find(known.begin(), known.end(), kind) - known.begin();
      of_shard.push_back(static_cast<std::size_t>(at));
      if (of_shard.back() < known.size()) continue;
      known.push_back(kind);
      ranges.push_back(range);
    }
  }
  std::vector<Range> ranges;
  std::vector<std::size_t> of_shard;
};

// The primitive for one kind of shard.
struct Variant {
  struct Conversion {  // between `wanted` and oneDNN's own format
    std::unique_ptr<Reorder> reorder;
    std::int64_t offset = 0;  // of the data in oneDNN's format
  };
  std::unique_ptr<Primitive> primitive;
  std::vector<Conversion> conversions;  // one for each port
};

class ShardedPrimitive {
 public:
  ShardedPrimitive(const std::vector<Port>& ports, const Shards& shards,
                   const ContractionOptions& options, const Describe& describe)
      : shards_(shards), kinds_(ports, shards), finish_(options.finish) {
    at_once_ = std::min<std::int64_t>(shards.total(), std::max(1, options.threads));
    for (const Port& port : ports) {
      Place place{port};
      place.direct = std::all_of(kinds_.ranges.begin(), kinds_.ranges.end(),
                                 [&](const Range& range) { return is_direct(port, range); });
      places_.push_back(std::move(place));
    }
    for (const Range& range : kinds_.ranges) add_variant(range, describe);
    for (std::size_t i = 0; i < places_.size(); ++i)
      if (may_pack(i, options.lasting)) lay_out_packed(i);
    lay_out();
  }

  const std::string& implementation() const { return variants_[0].primitive->implementation(); }
  std::optional<Isa> isa() const { return onednn::isa_named_in(implementation()); }
  std::int64_t workspace() const { return shared_.bytes() + slot_.bytes() * at_once_; }

  Packed packed() const {
    Packed packed{packed_format_, packed_.bytes(), {}, {}};
    for (const Place& place : places_)
      if (place.is_packed()) packed.inputs.push_back(place.index);
    return packed;
  }

  void pack(const void* const* inputs, std::byte* packed) const {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const Place& place = places_[i];
      if (!place.is_packed()) continue;
      for (std::int64_t piece = 0; piece < std::ssize(place.packed); ++piece)
        if (first_of(place, piece) == piece) pack_piece(i, piece, inputs[place.index], packed);
    }
  }

  void run(const Call& call) const {
    stage_shared(call);
    std::atomic<std::int64_t> flushed = 0;
    hand_out(shards_.total(), at_once_, [&](std::int64_t shard, std::int64_t slot) {
      flushed += run_shard(call, slot, shard);
    });
    flushed += finish_sums(call);
    if (finish_ && !finishes_shards()) finish_whole(call);
    if (call.flushed) std::atomic_ref(*call.flushed).fetch_add(flushed, std::memory_order_relaxed);
  }

 private:
  void add_variant(const Range& range, const Describe& describe) {
    const OneOpenMpThread one_thread;
    std::vector<int> numbers;
    for (const Place& place : places_) numbers.push_back(place.number);
    Variant variant;
    variant.primitive = std::make_unique<Primitive>(describe(range), numbers);
    for (const Place& place : places_) {
      Variant::Conversion conversion;
      const onednn::Format& inner = variant.primitive->format(place.number);
      if (place.free) conversion.reorder = conversion_for(place, range, inner);
      variant.conversions.push_back(std::move(conversion));
    }
    variants_.push_back(std::move(variant));
  }

  static std::unique_ptr<Reorder> conversion_for(const Place& place, const Range& range,
                                                 const onednn::Format& inner) {
    const View outer = wanted_view(place, range);
    if (onednn::same_format(onednn::strided_format(outer), inner)) return nullptr;
    const auto way = place.output ? Reorder::Way::out : Reorder::Way::in;
    return std::make_unique<Reorder>(outer, inner, way, place.shared());
  }

  // Whether an input is constant and is not read as it lies. Images that are cut by themselves are
  // activations, which are seldom constant.
  bool may_pack(std::size_t i, const std::vector<int>& lasting) const {
    const Place& place = places_[i];
    if (place.output || place.image_stride != 0) return false;
    if (std::ranges::find(lasting, place.index) == lasting.end()) return false;
    return !place.direct || std::ranges::any_of(variants_, [&](const Variant& variant) {
      return variant.conversions[i].reorder != nullptr;
    });
  }

  // The shard that a packed piece is for, and the kind of it.
  Range packed_range(const Place& place, std::int64_t piece) const {
    return place.axis == whole ? kinds_.ranges[static_cast<std::size_t>(piece)]
                               : shards_.range(piece);
  }
  std::size_t packed_kind(const Place& place, std::int64_t piece) const {
    const auto at = static_cast<std::size_t>(piece);
    return place.axis == whole ? at : kinds_.of_shard[at];
  }

  // The first piece that lies where this one does.
  static std::int64_t first_of(const Place& place, std::int64_t piece) {
    return std::ranges::find(place.packed, place.packed[static_cast<std::size_t>(piece)]) -
           place.packed.begin();
  }

  // Kinds of shards that want a whole input in one format share it.
  void lay_out_packed(std::size_t i) {
    Place& place = places_[i];
    std::vector<std::string> formats;
    const std::int64_t pieces = place.axis == whole ? std::ssize(variants_) : shards_.count;
    for (std::int64_t piece = 0; piece < pieces; ++piece) {
      const Variant& variant = variants_[packed_kind(place, piece)];
      const onednn::Format inner =
          variant.conversions[i].reorder
              ? variant.primitive->format(place.number)
              : onednn::strided_format(wanted_view(place, packed_range(place, piece)));
      formats.push_back(onednn::format_text(inner));
      const auto same = std::ranges::find(formats, formats.back()) - formats.begin();
      if (place.axis == whole && same < piece) {
        place.packed.push_back(place.packed[static_cast<std::size_t>(same)]);
        continue;
      }
      place.packed.push_back(packed_.add_bytes(onednn::format_bytes(inner)).offset);
      packed_format_ += concat(place.index, ':', formats.back(), '@', place.packed.back(), ';');
    }
  }

  // Brings one piece of an input into the format that the primitive wants.
  void pack_piece(std::size_t i, std::int64_t piece, const void* input, std::byte* packed) const {
    const Place& place = places_[i];
    const Range range = packed_range(place, piece);
    const Variant::Conversion& conversion = variants_[packed_kind(place, piece)].conversions[i];
    const void* data = input;
    if (place.axis != whole)
      data = at_offset(
          input, place.view.dtype,
          place.reach.of(range).begin * place.view.strides[static_cast<std::size_t>(place.axis)]);
    std::byte* const to = packed + place.packed[static_cast<std::size_t>(piece)];
    const View wanted = wanted_view(place, range);
    if (!conversion.reorder) {
      copy_strided(user_view(place, range), data, wanted, to);
      return;
    }
    Tensor staged;
    if (!is_direct(place, range)) {
      staged = Tensor(DType::u8, {bytes_spanned(wanted)});
      copy_strided(user_view(place, range), data, wanted, staged.data());
      data = staged.data();
    }
    Tensor scratchpad(DType::u8,
                      {std::max<std::int64_t>(1, conversion.reorder->scratchpad_bytes())});
    conversion.reorder->run(data, to, scratchpad.data());
  }

  void lay_out() {
    for (Place& place : places_) {
      if (place.is_packed()) continue;
      const std::int64_t parts = place.partial() && shards_.total() > 1 ? shards_.total() : 1;
      if (place.direct && parts == 1) continue;
      std::int64_t bytes = 0;
      for (const Range& range : kinds_.ranges)
        bytes = std::max(bytes, bytes_spanned(wanted_view(place, range)));
      place.staged = (place.axis == whole ? shared_ : slot_).add_bytes(bytes * parts).offset;
    }
    std::int64_t scratchpad = 0;
    for (Variant& variant : variants_) {
      scratchpad = std::max(scratchpad, variant.primitive->scratchpad_bytes());
      for (std::size_t i = 0; i < places_.size(); ++i) {
        Variant::Conversion& conversion = variant.conversions[i];
        if (!conversion.reorder || places_[i].is_packed()) continue;
        scratchpad = std::max(scratchpad, conversion.reorder->scratchpad_bytes());
        const std::int64_t bytes =
            onednn::format_bytes(variant.primitive->format(places_[i].number));
        conversion.offset = (places_[i].shared() ? shared_ : slot_).add_bytes(bytes).offset;
      }
    }
    scratchpad_ = slot_.add_bytes(scratchpad).offset;
  }

  static std::byte* shared(const Call& call, std::int64_t offset) {
    return static_cast<std::byte*>(call.workspace) + offset;
  }
  std::byte* slot(const Call& call, std::int64_t index, std::int64_t offset) const {
    return shared(call, shared_.bytes() + index * slot_.bytes() + offset);
  }

  // Brings inputs that every shard takes whole into the format that the primitive wants.
  void stage_shared(const Call& call) const {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const Place& place = places_[i];
      if (!place.shared()) continue;
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
    if (conversion.reorder) conversion.reorder->run(from, to, scratchpad);
  }

  struct Shard {
    const Call& call;
    std::int64_t slot, index, image;
    Range range;
    const Variant& variant;
  };

  // Runs one shard; returns how many results became zero.
  std::int64_t run_shard(const Call& call, std::int64_t slot_index, std::int64_t index) const {
    const std::size_t kind = kinds_.of_shard[static_cast<std::size_t>(index % shards_.count)];
    const Shard shard{call,           slot_index, index, shards_.image(index), shards_.range(index),
                      variants_[kind]};
    StackRoom<256> room;
    std::pmr::vector<onednn::Argument> arguments(&room);
    arguments.reserve(places_.size());
    for (std::size_t i = 0; i < places_.size(); ++i)
      arguments.push_back({places_[i].number, bring(shard, i)});
    shard.variant.primitive->execute(arguments, slot(call, slot_index, scratchpad_));
    std::int64_t flushed = 0;
    for (std::size_t i = 0; i < places_.size(); ++i)
      if (places_[i].output) flushed += store(shard, i, arguments[i].data);
    if (finish_ && finishes_shards()) finish_shard(shard);
    return flushed;
  }

  const Place& result() const { return *std::ranges::find_if(places_, &Place::output); }

  // Whether what a shard stores lies together: it is cut along the outermost axis in memory.
  bool finishes_shards() const {
    const Place& place = result();
    if (place.axis == whole) return false;
    const View& view = place.view;
    const std::int64_t outermost = view.strides[static_cast<std::size_t>(place.axis)];
    for (std::size_t axis = 0; axis < view.dims.size(); ++axis)
      if (view.dims[axis] > 1 && view.strides[axis] > outermost) return false;
    return true;
  }

  void finish_shard(const Shard& shard) const {
    const Place& place = result();
    const std::int64_t stride = place.view.strides[static_cast<std::size_t>(place.axis)];
    const Range range = place.reach.of(shard.range);
    const std::int64_t begin = shard.image * place.image_stride + range.begin * stride;
    finish_(shard.call, begin, begin + range.size * stride);
  }

  void finish_whole(const Call& call) const {
    constexpr std::int64_t piece = 8192;  // elements: enough to be worth a thread
    const std::int64_t images = result().image_stride == 0 ? 1 : shards_.images;
    parallel_for(images * element_count(result().view.dims), piece,
                 [&](std::int64_t begin, std::int64_t end) { finish_(call, begin, end); });
  }

  // Where the primitive reads or writes an operand of this shard.
  void* bring(const Shard& shard, std::size_t i) const {
    const Place& place = places_[i];
    const Variant::Conversion& conversion = shard.variant.conversions[i];
    if (place.is_packed()) return packed_part(shard, place);
    if (!conversion.reorder) return bring_wanted(shard, place);
    if (place.shared()) return shared(shard.call, conversion.offset);
    void* converted = slot(shard.call, shard.slot, conversion.offset);
    if (!place.output)
      convert(conversion, bring_wanted(shard, place), converted,
              slot(shard.call, shard.slot, scratchpad_));
    return converted;
  }

  // The primitive only reads it.
  void* packed_part(const Shard& shard, const Place& place) const {
    const auto index = static_cast<std::size_t>(shard.index % shards_.count);
    const std::size_t piece = place.axis == whole ? kinds_.of_shard[index] : index;
    return const_cast<std::byte*>(shard.call.packed) + place.packed[piece];
  }

  // Where the operand lies in the format `wanted`; inputs that are cut are copied there.
  void* bring_wanted(const Shard& shard, const Place& place) const {
    if (place.partial()) return partial_sum(shard, place);
    if (place.direct) return user_part(shard, place);
    if (place.axis == whole) return shared(shard.call, place.staged);
    void* staged = slot(shard.call, shard.slot, place.staged);
    if (!place.output)
      copy_strided(user_view(place, shard.range), user_part(shard, place),
                   wanted_view(place, shard.range), staged);
    return staged;
  }

  std::int64_t store(const Shard& shard, std::size_t i, const void* data) const {
    const Place& place = places_[i];
    const Variant::Conversion& conversion = shard.variant.conversions[i];
    void* wanted = bring_wanted(shard, place);
    convert(conversion, data, wanted, slot(shard.call, shard.slot, scratchpad_));
    if (place.partial() || place.direct) return 0;
    std::int64_t flushed = 0;
    copy_strided(wanted_view(place, shard.range), wanted, user_view(place, shard.range),
                 user_part(shard, place), &flushed);
    return place.view.dtype == DType::f16 ? flushed : 0;
  }

  void* user_part(const Shard& shard, const Place& place) const {
    void* data = place.output ? shard.call.outputs[place.index]
                              : const_cast<void*>(shard.call.inputs[place.index]);
    if (place.axis == whole) return data;
    const std::int64_t stride = place.view.strides[static_cast<std::size_t>(place.axis)];
    const std::int64_t begin = place.reach.of(shard.range).begin;
    return at_offset(data, place.view.dtype, shard.image * place.image_stride + begin * stride);
  }

  void* partial_sum(const Shard& shard, const Place& place) const {
    if (shards_.total() == 1 && place.direct) return shard.call.outputs[place.index];
    return shared(shard.call, place.staged + shard.index * bytes_spanned(place.wanted));
  }

  std::int64_t finish_sums(const Call& call) const {
    std::int64_t flushed = 0;
    for (const Place& place : places_) {
      if (!place.partial() || (shards_.total() == 1 && place.direct)) continue;
      auto* parts = reinterpret_cast<float*>(shared(call, place.staged));
      void* out = call.outputs[place.index];
      sum_parts(parts, shards_.total(), element_count(place.wanted.dims),
                place.direct ? static_cast<float*>(out) : parts);
      if (place.direct) continue;
      std::int64_t zeros = 0;
      copy_strided(place.wanted, parts, place.view, out, &zeros);
      if (place.view.dtype == DType::f16) flushed += zeros;
    }
    return flushed;
  }

  Shards shards_;
  Kinds kinds_;
  Finish finish_;
  std::int64_t at_once_ = 1;  // shards that are worked on together
  std::vector<Place> places_;
  std::vector<Variant> variants_;  // one for each kind
  Workspace shared_, slot_, packed_;
  std::string packed_format_;
  std::int64_t scratchpad_ = 0;  // offset in the slot
};

}  // namespace

onednn::Format shard_format(const Port& port, const Range& range) {
  const View part = wanted_view(port, range);
  return port.free ? onednn::free_format(part.dtype, part.dims) : onednn::strided_format(part);
}

bool is_amx(const std::vector<Port>& ports, const Shards& shards, const Describe& describe) {
  const OneOpenMpThread one_thread;
  const Kinds kinds(ports, shards);
  return std::all_of(kinds.ranges.begin(), kinds.ranges.end(), [&](const Range& range) {
    const onednn::PrimitiveDescription description = describe(range);
    return onednn::isa_named_in(onednn::implementation_of(description)) == Isa::amx;
  });
}

Prepared prepare_sharded(const std::vector<Port>& ports, const Shards& shards,
                         const ContractionOptions& options, const Describe& describe,
                         const std::string& widening) {
  auto primitive = std::make_shared<const ShardedPrimitive>(ports, shards, options, describe);
  std::string implementation = "onednn " + primitive->implementation() + widening;
  if (shards.total() > 1) implementation += concat(", ", shards.total(), " shards");
  Packed packed = primitive->packed();
  packed.run = [primitive](const void* const* inputs, std::byte* bytes) {
    primitive->pack(inputs, bytes);
  };
  return {std::move(implementation),
          primitive->workspace(),
          [primitive](const Call& call) { primitive->run(call); },
          {.vendor = Vendor::onednn, .isa = primitive->isa(), .widened = !widening.empty()},
          std::move(packed)};
}

}  // namespace narrowgauge::cpu
