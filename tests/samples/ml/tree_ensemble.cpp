// SPDX-License-Identifier: Apache-2.0
#include "ops/ml/tree_ensemble.h"

#include <limits>

#include "samples/samples.h"

namespace narrowgauge {

namespace {

// Two trees over three features: numbers of both, then a set.
TreeEnsemble small_ensemble(std::int64_t aggregate, std::int64_t post_transform) {
  TreeEnsemble op;
  op.aggregate_function = aggregate;
  op.n_targets = 3;
  op.post_transform = post_transform;
  op.leaf_targetids = {0, 1, 1, 0};
  op.leaf_weights = Tensor::from<float>({4}, {0.25F, 0.5F, 0.375F, 0.125F});
  op.membership_values = Tensor::from<float>({3}, {-1, 1, std::numeric_limits<float>::quiet_NaN()});
  op.nodes_falseleafs = {0, 1, 1};
  op.nodes_falsenodeids = {1, 2, 3};
  op.nodes_featureids = {0, 1, 2};
  op.nodes_missing_value_tracks_true = {1, 0, 0};
  op.nodes_modes = Tensor::from<std::uint8_t>({3}, {0, 3, 6});
  op.nodes_splits = Tensor::from<float>({3}, {-0.5F, 0.25F, 0});
  op.nodes_trueleafs = {1, 1, 1};
  op.nodes_truenodeids = {0, 1, 1};
  op.tree_roots = {0, 2};
  return op;
}

// All numbers that ONNX gives to aggregate functions, and to what is done behind them.
std::vector<Sample<TreeEnsemble>> tree_ensemble_samples() {
  enum { average, sum, least, greatest };
  enum { none, softmax, logistic, softmax_of_others, probit };
  std::vector<Sample<TreeEnsemble>> all;
  for (const std::int64_t aggregate : {average, sum, least, greatest})
    all.push_back({small_ensemble(aggregate, none), {sample("f32[5,3]")}});
  for (const std::int64_t kind : {softmax, logistic, softmax_of_others, probit})
    all.push_back({small_ensemble(sum, kind), {sample("f32[4,3]")}});
  return all;
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(tree_ensemble, tree_ensemble_samples())
