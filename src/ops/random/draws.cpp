// SPDX-License-Identifier: Apache-2.0
#include "ops/random/draws.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "base/indexed_vector.h"
#include "ops/no_gradient.h"
#include "ops/random/stream.h"
#include "ops/reference.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

double uniform(const RandomStream& stream, std::int64_t element) {
  return stream.uniform(static_cast<std::uint64_t>(element));
}

Offer offer_bernoulli(const Request& request) {
  return reference_offer(request,
                         [seed = request.as<Bernoulli>().seed, name = std::string(request.name)](
                             const auto& in, const auto& out, const KernelCall& call) {
                           const RandomStream stream = stream_of_node(seed, name, call.context);
                           for (std::int64_t i = 0; i < out[0].size(); ++i)
                             out[0].set(i, uniform(stream, i) < in[0][i] ? 1 : 0);
                         });
}

// Sums of the probabilities of the classes up to each, times a common factor.
IndexedVector<std::int64_t, double> sums_of_row(const ReferenceView& logits, std::int64_t row) {
  const std::int64_t classes = logits.dims()[1];
  double most = -std::numeric_limits<double>::infinity();
  for (std::int64_t c = 0; c < classes; ++c) most = std::max(most, logits[row * classes + c]);
  IndexedVector<std::int64_t, double> sums(classes);
  double sum = 0;
  for (std::int64_t c = 0; c < classes; ++c)
    sums[c] = sum += std::exp(logits[row * classes + c] - most);
  require<DataError>(std::isfinite(sum), "Multinomial: row ", row,
                     " of the logits has no probabilities");
  return sums;
}

Offer offer_multinomial(const Request& request) {
  return reference_offer(
      request, [seed = request.as<Multinomial>().seed, name = std::string(request.name)](
                   const auto& in, const auto& out, const KernelCall& call) {
        const RandomStream stream = stream_of_node(seed, name, call.context);
        const std::int64_t rows = out[0].dims()[0], draws = out[0].dims()[1];
        for (std::int64_t row = 0; row < rows; ++row) {
          const auto sums = sums_of_row(in[0], row);
          for (std::int64_t i = row * draws; i < (row + 1) * draws; ++i) {
            const auto drawn =
                std::upper_bound(sums.begin(), sums.end(), uniform(stream, i) * sums.back());
            out[0].set_whole(i, drawn - sums.begin());
          }
        }
      });
}

constexpr Kernel bernoulli_kernels[] = {{"reference", offer_bernoulli}};
constexpr Kernel multinomial_kernels[] = {{"reference", offer_multinomial}};

}  // namespace

TensorTypes Bernoulli::infer(const Inference& in) const {
  const DType result = dtype == dtype_of_input ? in.dtype(0) : dtype;
  require(!is_storage_only(result), "Bernoulli: expected a dtype to compute with, got ", result);
  return {{result, in.shape(0)}};
}

TensorTypes Multinomial::infer(const Inference& in) const {
  require(dtype == DType::i32 || dtype == DType::i64,
          "Multinomial: expected a dtype of i32 or i64, got ", dtype);
  require(in.rank(0) == 2 && in.shape(0)[1] != Dim(0),
          "Multinomial: expected logits [N,classes], got ", in.type(0));
  require(sample_size > 0 && sample_size <= Tensor::most_elements,
          "Multinomial: expected a sample_size from 1 to ", Tensor::most_elements, ", got ",
          sample_size);
  return {{dtype, {in.shape(0)[0], sample_size}}};
}

std::span<const Kernel> Bernoulli::kernels() { return bernoulli_kernels; }
std::span<const Kernel> Multinomial::kernels() { return multinomial_kernels; }

}  // namespace narrowgauge

NG_OPS(draws, narrowgauge::Bernoulli, narrowgauge::Multinomial)
NG_NO_GRADIENT(draws, "random numbers", narrowgauge::Bernoulli, narrowgauge::Multinomial)
