// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/random_key.h"

#include "ops/no_gradient.h"
#include "ops/reference.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

Offer offer_key(const Request& request) {
  return reference_offer(
      request, [seed = request.as<RandomKey>().seed, name = std::string(request.name)](
                   const auto&, const auto& out, const KernelCall& call) {
        const RandomStream stream(seed < 0 ? call.context.seed : static_cast<std::uint64_t>(seed),
                                  name, call.context.step);
        out[0].set_whole(0, static_cast<std::int64_t>(stream.key()));
        out[0].set_whole(1, static_cast<std::int64_t>(stream.step()));
      });
}

Offer offer_kept(const Request& request) {
  return reference_offer(request, [below = request.as<KeptElements>().keep * 0x1p16](
                                      const auto& in, const auto& out, const KernelCall&) {
    const std::int64_t key[] = {in[0].integer(0), in[0].integer(1)};
    const RandomStream stream = stream_of_key(key);
    for (std::int64_t i = 0; i < out[0].size(); ++i)
      out[0].set(i, stream.short_bits(static_cast<std::uint64_t>(i)) < below);
  });
}

constexpr Kernel key_kernels[] = {{"reference", offer_key}};
constexpr Kernel kept_kernels[] = {{"reference", offer_kept}};

}  // namespace

RandomStream stream_of_key(const std::int64_t* key) {
  return RandomStream::of_key(static_cast<std::uint64_t>(key[0]),
                              static_cast<std::uint64_t>(key[1]));
}

void require_random_key(const Inference& in, int input) {
  require(in.dtype(input) == DType::i64 && in.shape(input) == Shape{2}, in.op_name(),
          ": expected a random key i64[2], got ", in.type(input));
}

TensorTypes RandomKey::infer(const Inference&) const { return {{DType::i64, {2}}}; }

TensorTypes KeptElements::infer(const Inference& in) const {
  require_random_key(in, 0);
  require(keep > 0 && keep <= 1, "KeptElements: keep must lie in (0, 1], got ", keep);
  return {{DType::boolean, shape}};
}

std::span<const Kernel> RandomKey::kernels() { return key_kernels; }
std::span<const Kernel> KeptElements::kernels() { return kept_kernels; }

}  // namespace narrowgauge

NG_OPS(random_key, narrowgauge::RandomKey, narrowgauge::KeptElements)
NG_NO_GRADIENT(random_key, "random numbers", narrowgauge::RandomKey, narrowgauge::KeptElements)
