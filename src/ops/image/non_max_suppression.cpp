// SPDX-License-Identifier: Apache-2.0
#include "ops/image/non_max_suppression.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

#include "narrowgauge/graph.h"
#include "ops/control/composite.h"
#include "ops/no_gradient.h"
#include "ops/shape/axes.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

enum Input { boxes, scores, most, iou_threshold, score_threshold, inputs };

// In f32, as ONNX's boxes are: whether a ratio equals the threshold depends on its rounding.
struct Interval {
  float low, high;
  float length() const { return high - low; }
};
struct Box {
  Interval y, x;
  float area() const { return y.length() * x.length(); }
};

float overlap(const Interval& a, const Interval& b) {
  return std::min(a.high, b.high) - std::max(a.low, b.low);
}

float intersection_over_union(const Box& a, const Box& b) {
  const float height = overlap(a.y, b.y), width = overlap(a.x, b.x);
  if (!(height > 0 && width > 0)) return 0;
  const float common = height * width;
  return common / (a.area() + b.area() - common);
}

// The boxes of a batch and the settings, as numbers.
class Selection {
 public:
  Selection(const NonMaxSuppression& op, const Tensor* const (&in)[inputs])
      : in_(in), centered_(op.center_point_box != 0), count_(in[boxes]->dims()[1]) {}

  // Rows of batch, class and box.
  Dims rows() const {
    Dims rows;
    const Dims& dims = in_[scores]->dims();
    for (std::int64_t batch = 0; batch < dims[0]; ++batch)
      for (std::int64_t category = 0; category < dims[1]; ++category)
        for (const std::int64_t box : chosen(batch, category))
          rows.insert(rows.end(), {batch, category, box});
    return rows;
  }

 private:
  double number(Input input, double otherwise) const {
    return in_[input] ? in_[input]->at(0) : otherwise;
  }
  Box box(std::int64_t batch, std::int64_t index) const {
    float v[4];
    for (int i = 0; i < 4; ++i)
      v[i] = static_cast<float>(in_[boxes]->at((batch * count_ + index) * 4 + i));
    if (centered_) return {{v[1] - v[3] / 2, v[1] + v[3] / 2}, {v[0] - v[2] / 2, v[0] + v[2] / 2}};
    return {{std::min(v[0], v[2]), std::max(v[0], v[2])},
            {std::min(v[1], v[3]), std::max(v[1], v[3])}};
  }
  // Indices of boxes that may be taken, best first.
  Dims candidates(std::int64_t first_score) const {
    const Tensor& all = *in_[scores];
    Dims indices;
    for (std::int64_t i = 0; i < count_; ++i) {
      const double score = all.at(first_score + i);
      const bool high = !in_[score_threshold] || score > in_[score_threshold]->at(0);
      if (high && !std::isnan(score)) indices.push_back(i);
    }
    std::stable_sort(indices.begin(), indices.end(), [&](std::int64_t i, std::int64_t j) {
      return all.at(first_score + i) > all.at(first_score + j);
    });
    return indices;
  }
  Dims chosen(std::int64_t batch, std::int64_t category) const {
    const double limit = number(iou_threshold, 0);
    const std::int64_t room = in_[most] ? integers_of(*in_[most])[0] : 0;
    std::vector<Box> taken;
    Dims indices;
    for (const std::int64_t i : candidates((batch * in_[scores]->dims()[1] + category) * count_)) {
      if (std::ssize(indices) >= room) break;
      const Box candidate = box(batch, i);
      const bool suppressed = std::any_of(taken.begin(), taken.end(), [&](const Box& other) {
        return intersection_over_union(candidate, other) > limit;
      });
      if (suppressed) continue;
      taken.push_back(candidate);
      indices.push_back(i);
    }
    return indices;
  }

  const Tensor* const (&in_)[inputs];
  bool centered_;
  std::int64_t count_;
};

// Throws UnknownValueError unless all inputs are known.
void check(const Inference& in) {
  constexpr std::string_view ports[] = {"boxes", "scores", "max_output_boxes_per_class",
                                        "iou_threshold", "score_threshold"};
  for (int i = most; i < in.count(); ++i)
    require(!in.has(i) || in.known(i, ports[i]).size() == 1, "NonMaxSuppression: ", ports[i],
            " must be one number, got ", in.has(i) ? in.type(i) : TensorType{});
  const Dims box = in.known(boxes, "boxes").dims(), score = in.known(scores, "scores").dims();
  require(box.size() == 3 && score.size() == 3 && box[2] == 4 && box[0] == score[0] &&
              box[1] == score[2],
          "NonMaxSuppression: expected boxes [N,S,4] and scores [N,C,S], got ", in.type(boxes),
          " and ", in.type(scores));
}

}  // namespace

TensorTypes NonMaxSuppression::infer(const Inference& in) const {
  require(center_point_box == 0 || center_point_box == 1,
          "NonMaxSuppression: center_point_box must be 0 or 1, got ", center_point_box);
  check(in);
  const Tensor* values[inputs]{};
  for (int i = 0; i < in.count(); ++i) values[i] = in.has(i) ? in.constant(i) : nullptr;
  return {{DType::i64, {std::ssize(Selection(*this, values).rows()) / 3, 3}}};
}

Values NonMaxSuppression::decompose(Rewriting& r) const {
  const Tensor* values[inputs]{};
  for (int i = 0; i < r.input_count(); ++i)
    if (r.has_input(i)) values[i] = r.graph().constant_value(r.input(i));
  const Dims rows = Selection(*this, values).rows();
  return {r.constant(list_of(rows).reshaped({std::ssize(rows) / 3, 3}))};
}

std::span<const Kernel> NonMaxSuppression::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(non_max_suppression, narrowgauge::NonMaxSuppression)
NG_NO_GRADIENT(non_max_suppression, "choice of indices", narrowgauge::NonMaxSuppression)
