// SPDX-License-Identifier: Apache-2.0
// The layers of networks over sequences, and what cuts and joins tensors for them.
#include <cmath>

#include "narrowgauge/network.h"
#include "ops/arithmetic.h"
#include "ops/concat.h"
#include "ops/gather.h"
#include "ops/matmul.h"
#include "ops/reshape.h"
#include "ops/slice.h"
#include "ops/softmax.h"
#include "ops/transpose.h"

namespace narrowgauge {

Value Network::embedding(Value indices, std::int64_t count, std::int64_t width, std::string given) {
  require(count >= 1 && width >= 1, "embedding: expected at least one vector of one number, got ",
          count, " of ", width);
  const std::string name = layer_name(given, "embedding");
  const Value table = parameter(name + ".weight", {count, width}, initials_.embedding);
  return graph_.add(Gather{}, {table, indices}, {.name = name});
}

// [N, T, width] -> [N, heads, T, width / heads]
Value Network::heads_first(Value x, std::int64_t heads, const std::string& name) {
  const Shape from = shape(x);
  const std::int64_t size = from[2].value() / heads;
  x = graph_.add(ReshapeTo{{from[0], from[1], heads, size}}, {x}, {.name = name + "_heads"});
  return graph_.add(Transpose{{0, 2, 1, 3}}, {x}, {.name = name + "_first"});
}

Value Network::attention(Value query, Value key, Value value, const AttentionOptions& options,
                         std::string given) {
  const Shape from = shape(query);
  const std::int64_t heads = options.heads;
  for (const Value x : {query, key, value})
    require(shape(x).size() == 3 && shape(x)[2] == from.back(),
            "attention: expected query, key and value [N,T,width], got ", graph_.type(x));
  const std::int64_t width = from[2].value();
  require(heads >= 1 && width >= heads && width % heads == 0, "attention: ", heads,
          " heads do not divide a width of ", width);
  const std::string name = layer_name(given, "attention");
  const double scale = 1 / std::sqrt(static_cast<double>(width / heads));
  // The scale is put on the query: its values are fewer than the scores.
  const Value factor = graph_.constant(Tensor::scalar(DType::f32, scale));
  query = graph_.add(Mul{}, {query, factor}, {.name = name + ".scaled"});
  query = heads_first(query, heads, name + ".query");
  key = heads_first(key, heads, name + ".key");
  value = heads_first(value, heads, name + ".value");
  Value scores = graph_.add(FusedMatMul{.transB = true}, {query, key}, {.name = name + ".scores"});
  if (!options.mask.is_absent())
    scores = graph_.add(Add{}, {scores, options.mask}, {.name = name + ".masked"});
  Value shares = graph_.add(Softmax{}, {scores}, {.name = name + ".shares"});
  if (mode_ == Mode::train && options.dropout > 0)
    shares = dropout(shares, options.dropout, name.substr(prefix_.size()) + ".dropout");
  Value mixed = graph_.add(MatMul{}, {shares, value}, {.name = name + ".mixed"});
  mixed = graph_.add(Transpose{{0, 2, 1, 3}}, {mixed}, {.name = name + ".heads_last"});
  return graph_.add(ReshapeTo{from}, {mixed}, {.name = name});
}

Value Network::reshape(Value x, Shape to, std::string given) {
  return graph_.add(ReshapeTo{std::move(to)}, {x}, {.name = layer_name(given, "reshape")});
}

Value Network::expand(Value x, Shape to, std::string given) {
  return graph_.add(ExpandTo{std::move(to)}, {x}, {.name = layer_name(given, "expand")});
}

Value Network::concat(Values parts, std::int64_t axis, std::string given) {
  return graph_.add(Concat{axis}, std::move(parts), {.name = layer_name(given, "concat")});
}

Value Network::slice(Value x, std::int64_t axis, std::int64_t begin, std::int64_t end,
                     std::string given) {
  const auto constant = [&](std::int64_t number) {
    return graph_.constant(Tensor::from<std::int64_t>({1}, std::vector<std::int64_t>{number}));
  };
  return graph_.add(Slice{}, {x, constant(begin), constant(end), constant(axis)},
                    {.name = layer_name(given, "slice")});
}

}  // namespace narrowgauge
