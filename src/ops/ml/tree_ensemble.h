// SPDX-License-Identifier: Apache-2.0
// Decision trees, of ONNX's domain ai.onnx.ml.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// x [N, features] -> y [N, n_targets]. In each tree a row goes from the root to a leaf, whose
// weight goes to a target: ONNX's TreeEnsemble 5 as its text says. nodes_modes are 0 <=, 1 <, 2 >=,
// 3 >, 4 ==, 5 !=, each of feature and split, and 6: whether the feature is in the next of the
// sets of membership_values, which NaNs end. aggregate_function is 0 the sum over the number of
// trees, 1 the sum, 2 the least, 3 the greatest; a target without leaf is 0. post_transform is 0
// none, 1 softmax, 2 sigmoid, 3 softmax of what is not 0, 4 the inverse of the normal distribution.
// Computed in f64. ModelError in the kernel for a tree with a cycle.
struct TreeEnsemble {
  static constexpr OpInfo info{.name = "TreeEnsemble",
                               .domain = "ai.onnx.ml",
                               .inputs = "x:T!",
                               .outputs = "y:T",
                               .types = "T:float"};
  std::int64_t aggregate_function = 1, n_targets = 1, post_transform = 0;
  Dims leaf_targetids;
  Tensor leaf_weights, membership_values;
  Dims nodes_falseleafs, nodes_falsenodeids, nodes_featureids;
  Tensor nodes_hitrates;  // how often a node is reached: nothing depends on it
  Dims nodes_missing_value_tracks_true;
  Tensor nodes_modes, nodes_splits;
  Dims nodes_trueleafs, nodes_truenodeids, tree_roots;

  static void attributes(auto& self, auto&& visit) {
    visit("aggregate_function", self.aggregate_function);
    visit("n_targets", self.n_targets);
    visit("post_transform", self.post_transform);
    visit("leaf_targetids", self.leaf_targetids);
    visit("leaf_weights", self.leaf_weights);
    visit("membership_values", self.membership_values);
    visit("nodes_falseleafs", self.nodes_falseleafs);
    visit("nodes_falsenodeids", self.nodes_falsenodeids);
    visit("nodes_featureids", self.nodes_featureids);
    visit("nodes_hitrates", self.nodes_hitrates);
    visit("nodes_missing_value_tracks_true", self.nodes_missing_value_tracks_true);
    visit("nodes_modes", self.nodes_modes);
    visit("nodes_splits", self.nodes_splits);
    visit("nodes_trueleafs", self.nodes_trueleafs);
    visit("nodes_truenodeids", self.nodes_truenodeids);
    visit("tree_roots", self.tree_roots);
  }
  TensorTypes infer(const Inference& in) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
