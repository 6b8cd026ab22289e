// SPDX-License-Identifier: Apache-2.0
// Layers of networks over sequences, and the cutting and joining of tensors for them.
#include "models/layer_input.h"
#include "narrowgauge/network.h"
#include "ops/index/gather.h"
#include "ops/nn/attention.h"
#include "ops/nn/random_key.h"
#include "ops/shape/concat.h"
#include "ops/shape/reshape.h"
#include "ops/shape/slice.h"

namespace narrowgauge {

Value Network::embedding(Value indices, std::int64_t count, std::int64_t width, std::string given) {
  require_count("embedding", "count", count);
  require_count("embedding", "width", width);
  require_input(*this, indices, "embedding", given);
  const std::string name = layer_name(given, "embedding");
  const Value table = parameter(name + ".weight", {count, width}, initials_.embedding);
  return graph_.add(Gather{.counts_from_end = false}, {table, indices}, {.name = name});
}

Value Network::attention(Value query, Value key, Value value, const AttentionOptions& options,
                         std::string given) {
  for (const Value x : {query, key, value}) require_input(*this, x, "attention", given);
  for (const Value x : {query, key, value})
    require(shape(x).size() == 3 && shape(x)[2] == shape(query).back(),
            "attention: expected query, key and value [N,T,width], got ", graph_.type(x));
  require(options.heads >= 1 && options.dropout >= 0 && options.dropout < 1,
          "attention: expected heads of 1 or more and dropout from 0 to below 1, got ",
          options.heads, " and ", options.dropout);
  const std::string name = layer_name(given, "attention");
  Attention op;
  op.q_num_heads = options.heads;
  op.is_causal = options.causal ? 1 : 0;
  Value random;
  if (mode_ == Mode::train && options.dropout > 0) {
    op.dropout = options.dropout;
    random = graph_.add(RandomKey{}, {}, {.name = name + ".dropout"});
  }
  return graph_.add(op, {query, key, value, options.mask, random}, {.name = name});
}

Value Network::reshape(Value x, Shape to, std::string given) {
  return graph_.add(ReshapeTo{std::move(to)}, {x}, {.name = layer_name(given, "reshape")});
}

Value Network::expand(Value x, Shape to, std::string given) {
  return graph_.add(ExpandTo{std::move(to)}, {x}, {.name = layer_name(given, "expand")});
}

Value Network::concat(Values parts, std::int64_t axis, std::string given) {
  require(!parts.empty(), "concat: expected at least one part, got none");
  for (const Value x : parts) require_input(*this, x, "concat", given);
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
