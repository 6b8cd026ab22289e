// SPDX-License-Identifier: Apache-2.0
#include "groups/bounded_tail.h"

#include <algorithm>
#include <cmath>

#include "ops/activation/relu.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/pointwise/min_max.h"

namespace narrowgauge {
namespace {

// Whether a Clip has no limit at a port, or a known number, which is read.
template <class Known>
bool read_limit(const Values& inputs, std::size_t port, const Known& known_tensor, float& number) {
  if (port >= inputs.size() || inputs[port].is_absent()) return true;
  const Tensor* const known = known_tensor();
  if (!known || known->size() != 1 || std::isnan(known->at(0))) return false;
  number = static_cast<float>(known->at(0));
  return true;
}

// Follows the result of the convolution from op to op.
class TailReader {
 public:
  TailReader(const Graph& body, int convolution) : body_(body), value_{convolution, 0} {}

  std::optional<BoundedTail> read() {
    for (int i = value_.node + 1; i < static_cast<int>(body_.nodes().size()); ++i)
      if (!is_source(body_.node(i)) && !follow(i)) return std::nullopt;
    return tail_;
  }

 private:
  bool follow(int i) {
    const Node& node = body_.node(i);
    const bool takes = node.is<Add>() ? !bounded_ && add(node) : !bounded_ && bound(node);
    value_ = {i, 0};
    return takes;
  }

  bool add(const Node& node) {
    const std::size_t other = node.inputs[0] == value_ ? 1 : 0;
    const auto at = std::ranges::find(body_.inputs(), node.inputs[other]);
    if (tail_.residual >= 0 || node.inputs[1 - other] != value_ || at == body_.inputs().end())
      return false;
    tail_.residual = static_cast<int>(at - body_.inputs().begin());
    return true;
  }

  bool bound(const Node& node) {
    if (node.inputs[0] != value_) return false;
    bounded_ = true;
    if (node.is<Relu>()) {
      tail_.bounds.least = 0;
      return true;
    }
    return node.is<Clip>() && limit(node, 1, tail_.bounds.least) &&
           limit(node, 2, tail_.bounds.most);
  }

  bool limit(const Node& node, std::size_t port, float& number) const {
    const auto known = [&] { return body_.constant_value(node.inputs[port]); };
    return read_limit(node.inputs, port, known, number);
  }

  const Graph& body_;
  Value value_;
  BoundedTail tail_;
  bool bounded_ = false;
};

}  // namespace

std::optional<cpu::FloatBounds> bounds_of(const GroupMatch& match, Part relu, Part clip) {
  cpu::FloatBounds bounds;
  const auto limit = [&](std::size_t port, float& number) {
    const auto known = [&] { return match.constant(clip, port); };
    return read_limit(match.node(clip).inputs, port, known, number);
  };
  if (match.has(clip) && !(limit(1, bounds.least) && limit(2, bounds.most))) return std::nullopt;
  if (match.has(relu)) bounds.least = std::max(bounds.least, 0.0F);
  return bounds;
}

std::optional<BoundedTail> bounded_tail(const Graph& body, int convolution) {
  return TailReader(body, convolution).read();
}

}  // namespace narrowgauge
