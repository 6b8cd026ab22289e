// SPDX-License-Identifier: Apache-2.0
#include "groups/tail_epilogue.h"

#include <algorithm>

#include "base/enumerate.h"
#include "ops/activation/gelu.h"
#include "ops/activation/relu.h"
#include "ops/math/arithmetic.h"
#include "ops/math/min_max.h"

namespace narrowgauge {
namespace {

class TailReader {
 public:
  TailReader(const Graph& body, int convolution, const Request& request)
      : body_(body), request_(request), end_{convolution, 0} {}

  std::optional<TailEpilogue> read() {
    for (const auto& [i, node] : enumerate(body_.nodes())) {
      if (is_source(node) || i == end_.node) continue;
      if (!takes(node)) return {};
      end_ = {i, 0};
    }
    if (body_.outputs().size() != 1 || body_.outputs()[0].value != end_) return {};
    return found_;
  }

 private:
  bool takes(const Node& node) {
    if (bounded_ || node.inputs.empty()) return false;
    if (node.is<Add>()) return takes_sum(node);
    if (node.inputs[0] != end_) return false;
    bounded_ = true;
    if (node.is<Relu>()) {
      found_.epilogue.low = 0;
      return true;
    }
    if (node.is<Clip>()) return takes_bounds(node);
    found_.epilogue.gelu = found_.residual < 0 && request_.output(0).dtype == DType::bf16;
    return node.is<Gelu>() && node.as<Gelu>().approximate == "none" && found_.epilogue.gelu;
  }

  bool takes_sum(const Node& node) {
    if (found_.residual >= 0) return false;
    const std::size_t own = node.inputs[0] == end_ ? 0 : 1;
    const Value other = node.inputs[1 - own];
    const auto at = std::ranges::find(body_.inputs(), other);
    if (node.inputs[own] != end_ || other == end_ || at == body_.inputs().end()) return false;
    const auto input = static_cast<int>(at - body_.inputs().begin());
    const Operand &r = request_.input(input), &y = request_.output(0);
    if (r.dtype != y.dtype || r.dims != y.dims || r.storage != y.storage || r.strides != y.strides)
      return false;
    found_.residual = input;
    return found_.epilogue.residual = true;
  }

  std::optional<float> bound(const Node& clip, std::size_t input, float none) const {
    if (clip.inputs.size() <= input || clip.inputs[input].is_absent()) return none;
    const Value value = clip.inputs[input];
    const Tensor* known = body_.constant_value(value);
    const auto at = std::ranges::find(body_.inputs(), value);
    if (at != body_.inputs().end())
      known = request_.input(static_cast<int>(at - body_.inputs().begin())).constant;
    if (!known || known->size() != 1) return {};
    return static_cast<float>(known->at(0));
  }

  bool takes_bounds(const Node& clip) {
    cpu::PixelEpilogue& epilogue = found_.epilogue;
    const auto low = bound(clip, 1, epilogue.low), high = bound(clip, 2, epilogue.high);
    if (!low || !high || !(*low <= *high)) return false;
    epilogue.low = *low;
    epilogue.high = *high;
    return true;
  }

  const Graph& body_;
  const Request& request_;
  Value end_;
  TailEpilogue found_;
  bool bounded_ = false;
};

}  // namespace

std::optional<TailEpilogue> tail_epilogue(const Graph& body, int convolution,
                                          const Request& request) {
  return TailReader(body, convolution, request).read();
}

}  // namespace narrowgauge
