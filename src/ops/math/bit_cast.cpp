// SPDX-License-Identifier: Apache-2.0
#include "ops/math/bit_cast.h"

#include <cstring>

#include "ops/reference.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

// Copies element `from` to element `to` of packed arrays of elements of so many bits.
void copy_bits(int bits, const std::byte* source, std::int64_t from, std::byte* target,
               std::int64_t to) {
  if (bits >= 8) {
    const std::int64_t width = bits / 8;
    std::memcpy(target + to * width, source + from * width, static_cast<std::size_t>(width));
    return;
  }
  const std::int64_t each = 8 / bits;
  const auto shift_of = [&](std::int64_t i) { return static_cast<int>(i % each) * bits; };
  const std::byte mask{static_cast<unsigned char>((1 << bits) - 1)};
  const std::byte value = (source[from / each] >> shift_of(from)) & mask;
  std::byte& held = target[to / each];
  held = (held & ~(mask << shift_of(to))) | (value << shift_of(to));
}

Offer offer_reference(const Request& request) {
  const int width = bits(request.inputs[0].dtype);
  return reference_offer(request, [width](const auto& in, const auto& out, const KernelCall& call) {
    if (!call.outputs[0].data) return;
    for (std::int64_t i = 0; i < out[0].size(); ++i)
      copy_bits(width, call.inputs[0].as<const std::byte>(), in[0].offset(i),
                call.outputs[0].as<std::byte>(), out[0].offset(i));
  });
}

constexpr Kernel kernel_list[] = {{"reference", offer_reference}};

}  // namespace

TensorTypes BitCast::infer(const Inference& in) const {
  require(bits(to) == bits(in.dtype(0)) && to != DType::boolean && to != DType::b1,
          "BitCast: expected a format of ", bits(in.dtype(0)), " bits for ", in.type(0),
          ", and not of truth values, got ", to);
  return {{to, in.shape(0)}};
}

std::span<const Kernel> BitCast::kernels() { return kernel_list; }

std::vector<Sample<BitCast>> BitCast::samples() {
  return {{{DType::i32}, {sample("f32[2,3]")}},
          {{DType::f32}, {sample("i32[7]", -9, 9)}},
          {{DType::u8}, {sample("i8[2,3,4,5]", -9, 9)}},
          {{DType::f8e5m2}, {sample("bool[3]", 0, 1)}},
          {{DType::u4}, {sample("i4[7]", -8, 7)}}};
}

}  // namespace narrowgauge

NG_OPS(bit_cast, narrowgauge::BitCast)
