// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/random_batch.h"

#include "base/machine/floating_environment.h"
#include "base/random.h"
#include "narrowgauge/error.h"

namespace narrowgauge {

std::vector<Tensor> random_batch(const Graph& graph, std::int64_t batch,
                                 const std::map<std::string, WholeNumbers>& ranges,
                                 std::uint64_t seed) {
  const FloatingEnvironment environment(Subnormals::keep);
  std::vector<Tensor> tensors;
  for (const Value value : graph.inputs()) {
    const TensorType& type = graph.type(value);
    const RandomStream numbers(seed, graph.value_name(value));
    Tensor tensor(type.dtype, known_dims(bind(type.shape, {{"N", batch}})));
    std::uint64_t element = 0;
    if (type.dtype == DType::f32) {
      for (float& x : tensor.values<float>()) x = numbers.normal(element++);
    } else {
      require(type.dtype == DType::i64, "input '", graph.value_name(value),
              "': expected f32 or i64 to draw a random batch, got ", type);
      const auto range = ranges.find(graph.value_name(value));
      require(range != ranges.end() && range->second.count > 0, "input '", graph.value_name(value),
              "': expected a range to draw whole numbers from");
      for (std::int64_t& x : tensor.values<std::int64_t>())
        x = range->second.least + numbers.bits(element++) % range->second.count;
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace narrowgauge
