// SPDX-License-Identifier: Apache-2.0
// Chooses among boxes that overlap.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// boxes [N, S, 4], scores [N, C, S] -> i64[count, 3]: batch, class and box of those selected. In
// each class, boxes whose score is above score_threshold are taken from the highest score down, of
// equal ones the lower index first, unless their intersection with one taken before is more than
// iou_threshold of their union; at most max_output_boxes_per_class, none if that is not given. A
// score of NaN is never taken. A box is two opposite corners, y before x, or under center_point_box
// its centre, width and height. All inputs are constant: they decide on the shape. ONNX 11's
// NonMaxSuppression.
struct NonMaxSuppression {
  static constexpr OpInfo info{
      .name = "NonMaxSuppression",
      .inputs =
          "boxes:B!, scores:B!, max_output_boxes_per_class?:i64!, iou_threshold?:F!, "
          "score_threshold?:F!",
      .outputs = "selected:i64!",
      .types = "B:float, F:float"};
  std::int64_t center_point_box = 0;
  static void attributes(auto& self, auto&& visit) {
    visit("center_point_box", self.center_point_box);
  }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
