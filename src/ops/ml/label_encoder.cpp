// SPDX-License-Identifier: Apache-2.0
#include "ops/ml/label_encoder.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string_view>
#include <type_traits>
#include <unordered_map>

#include "base/enumerate.h"
#include "base/indexed_vector.h"
#include "ops/no_gradient.h"
#include "ops/reference.h"
#include "ops/shape/axes.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

// The only list that is given.
Tensor only_one(std::string_view kind, std::initializer_list<Tensor> lists) {
  Tensor found;
  for (const Tensor& list : lists) {
    if (list.size() == 0) continue;
    require(found.size() == 0, "LabelEncoder: expected one list of ", kind, ", got several");
    require(list.dims().size() == 1, "LabelEncoder: expected ", kind, " as a list, got ",
            list.type());
    found = list;
  }
  require(found.size() > 0, "LabelEncoder: expected a list of ", kind, " that is not empty");
  return found;
}

Tensor keys_of(const LabelEncoder& op) {
  return only_one("keys", {op.keys_floats, list_of(op.keys_int64s), op.keys_tensor});
}

Tensor values_of(const LabelEncoder& op) {
  return only_one("values", {op.values_floats, list_of(op.values_int64s), op.values_tensor});
}

// What stands for a key that is not there: one element in the dtype of the values.
Tensor default_of(const LabelEncoder& op, DType dtype) {
  if (op.values_floats.size() > 0) return Tensor::full(dtype, {1}, op.default_float);
  if (!op.values_int64s.empty()) return list_of(Dims{op.default_int64});
  if (op.default_tensor.size() == 0) return Tensor::full(dtype, {1}, is_integer(dtype) ? -1 : 0);
  require(op.default_tensor.size() == 1 && op.default_tensor.dtype() == dtype,
          "LabelEncoder: expected default_tensor as one ", dtype, ", got ",
          op.default_tensor.type());
  return op.default_tensor;
}

// The same for equal numbers of one dtype, and for all NaNs.
std::int64_t code_of(double number) {
  if (std::isnan(number)) number = std::numeric_limits<double>::quiet_NaN();
  return std::bit_cast<std::int64_t>(number == 0 ? 0.0 : number);
}

Dims codes_of(const Tensor& keys) {
  if (is_integer(keys.dtype())) return integers_of(keys);
  Dims codes;
  for (std::int64_t i = 0; i < keys.size(); ++i) codes.push_back(code_of(keys.at(i)));
  return codes;
}

// The values, then the default.
template <class Number>
using Results = IndexedVector<std::int64_t, Number>;

Results<std::int64_t> integer_results(const Tensor& values, const Tensor& otherwise) {
  Results<std::int64_t> results(integers_of(values));
  results.add(integers_of(otherwise).front());
  return results;
}

Results<double> real_results(const Tensor& values, const Tensor& otherwise) {
  Results<double> results;
  for (std::int64_t i = 0; i < values.size(); ++i) results.add(values.at(i));
  results.add(otherwise.at(0));
  return results;
}

Offer label_encoder_reference(const Request& request) {
  const auto& op = request.as<LabelEncoder>();
  const Tensor values = values_of(op), otherwise = default_of(op, values.dtype());
  std::unordered_map<std::int64_t, std::int64_t> places;
  const Dims codes = codes_of(keys_of(op));
  for (const auto& [place, code] : enumerate(codes)) places[code] = place;
  const auto offer = [&](auto results) {
    return reference_offer(request, [=](const auto& in, const auto& out, const KernelCall&) {
      const bool whole = is_integer(in[0].dtype());
      for (std::int64_t i = 0; i < in[0].size(); ++i) {
        const auto found = places.find(whole ? in[0].integer(i) : code_of(in[0][i]));
        const auto& result = found == places.end() ? results.back() : results[found->second];
        if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(result)>>)
          out[0].set_whole(i, result);
        else
          out[0].set(i, result);
      }
    });
  };
  if (is_integer(values.dtype())) return offer(integer_results(values, otherwise));
  return offer(real_results(values, otherwise));
}

constexpr Kernel label_encoder_kernels[] = {{"reference", label_encoder_reference}};

}  // namespace

TensorTypes LabelEncoder::infer(const Inference& in) const {
  const Tensor keys = keys_of(*this), values = values_of(*this);
  require(keys.size() == values.size(), "LabelEncoder: expected as many values as keys, got ",
          values.size(), " and ", keys.size());
  require(keys.dtype() == in.dtype(0), "LabelEncoder: expected keys in the dtype of x, ",
          in.dtype(0), ", got ", keys.dtype());
  default_of(*this, values.dtype());
  return {{values.dtype(), in.shape(0)}};
}

std::span<const Kernel> LabelEncoder::kernels() { return label_encoder_kernels; }

}  // namespace narrowgauge

NG_OPS(label_encoder, narrowgauge::LabelEncoder)
NG_NO_GRADIENT(label_encoder, "choice from a table", narrowgauge::LabelEncoder)
