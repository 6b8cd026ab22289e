// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "narrowgauge/network.h"

namespace narrowgauge {

Loss loss_output(std::string name) {
  return [name = std::move(name)](Network& network, Value) {
    const Value loss = network.find_output(name);
    const TensorType& type = network.graph().type(loss);
    const std::int64_t elements = is_known(type.shape) ? element_count(known_dims(type.shape)) : 0;
    require(type.dtype == DType::f32 && elements == 1, "loss: expected output '", name,
            "' to be a f32 of one element, it is ", type);
    return type.shape.empty() ? loss : network.reshape(loss, {});
  };
}

}  // namespace narrowgauge
