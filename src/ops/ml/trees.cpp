// SPDX-License-Identifier: Apache-2.0
#include "ops/ml/trees.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>

#include "base/enumerate.h"
#include "ops/axes/axes.h"

namespace narrowgauge {

namespace {

enum Mode { at_most, below, at_least, above, same, different, member };

void require_length(std::string_view list, std::int64_t length, std::int64_t expected) {
  require(length == expected, "TreeEnsemble: ", list, " must have ", expected, " entries, got ",
          length);
}

void require_below(std::string_view list, std::int64_t entry, std::int64_t limit) {
  require(entry >= 0 && entry < limit, "TreeEnsemble: expected numbers from 0 to below ", limit,
          " in ", list, ", got ", entry);
}

}  // namespace

bool Trees::TreeNode::holds(double value) const {
  switch (mode) {
    case at_most:
      return value <= split;
    case below:
      return value < split;
    case at_least:
      return value >= split;
    case above:
      return value > split;
    case same:
      return value == split;
    case different:
      return value != split;
    default:
      return !std::isnan(value) && members.contains(value);
  }
}

Trees::Trees(const TreeEnsemble& op) : roots_(op.tree_roots) {
  require(!roots_.empty(), "TreeEnsemble: expected at least one root in tree_roots");
  require_length("leaf_weights", op.leaf_weights.size(), std::ssize(op.leaf_targetids));
  for (const auto& [i, target] : enumerate(op.leaf_targetids)) {
    require_below("leaf_targetids", target, op.n_targets);
    leaves_.add({target, op.leaf_weights.at(i)});
  }
  add_nodes(op);
  add_members(op.membership_values);
  for (const std::int64_t root : roots_) require_below("tree_roots", root, nodes_.size());
}

void Trees::add_nodes(const TreeEnsemble& op) {
  const std::int64_t count = op.nodes_modes.size();
  require(op.nodes_modes.dtype() == DType::u8, "TreeEnsemble: nodes_modes must be u8, got ",
          op.nodes_modes.type());
  require_length("nodes_splits", op.nodes_splits.size(), count);
  const auto list = [&](std::string_view name, const Dims& values) {
    require_length(name, std::ssize(values), count);
    return IndexedVector<std::int64_t, std::int64_t>(values);
  };
  const auto true_leaf = list("nodes_trueleafs", op.nodes_trueleafs);
  const auto true_id = list("nodes_truenodeids", op.nodes_truenodeids);
  const auto false_leaf = list("nodes_falseleafs", op.nodes_falseleafs);
  const auto false_id = list("nodes_falsenodeids", op.nodes_falsenodeids);
  const auto feature = list("nodes_featureids", op.nodes_featureids);
  const bool tracks = !op.nodes_missing_value_tracks_true.empty();
  const auto missing =
      tracks ? list("nodes_missing_value_tracks_true", op.nodes_missing_value_tracks_true)
             : IndexedVector<std::int64_t, std::int64_t>(count);
  const auto branch = [&](std::int64_t leaf, std::int64_t id) {
    require_below("the branches of its nodes", id, leaf != 0 ? leaves_.size() : count);
    return Branch{leaf != 0, id};
  };
  for (std::int64_t i = 0; i < count; ++i) {
    const int mode = static_cast<int>(op.nodes_modes.at(i));
    require(mode >= at_most && mode <= member, "TreeEnsemble: nodes_modes must be 0 to 6, got ",
            mode);
    require_below("nodes_featureids", feature[i], Tensor::most_elements);
    features_ = std::max(features_, feature[i] + 1);
    nodes_.add({mode, feature[i], op.nodes_splits.at(i), missing[i] != 0,
                branch(true_leaf[i], true_id[i]), branch(false_leaf[i], false_id[i])});
  }
}

// A set for each node of the mode `member`, in their order; a NaN ends each.
void Trees::add_members(const Tensor& values) {
  std::int64_t place = 0;
  for (TreeNode& node : nodes_) {
    if (node.mode != member) continue;
    for (; place < values.size() && !std::isnan(values.at(place)); ++place)
      node.members.insert(values.at(place));
    require(place < values.size(), "TreeEnsemble: membership_values has fewer sets than nodes");
    ++place;
  }
  require(place == values.size(), "TreeEnsemble: membership_values has more sets than nodes");
}

const Trees::Leaf& Trees::leaf_of(std::int64_t root,
                                  const std::function<double(std::int64_t feature)>& row) const {
  Branch at{false, root};
  for (std::int64_t steps = 0; !at.leaf; ++steps) {
    require<ModelError>(steps < nodes_.size(), "TreeEnsemble: the tree of root ", root,
                        " has a cycle");
    const TreeNode& node = nodes_[at.index];
    const double value = row(node.feature);
    const bool holds = node.holds(value) || (node.missing_is_true && std::isnan(value));
    at = holds ? node.if_true : node.if_false;
  }
  return leaves_[at.index];
}

void Trees::visit(const std::function<double(std::int64_t feature)>& row,
                  const std::function<void(std::int64_t target, double weight)>& use) const {
  for (const std::int64_t root : roots_) {
    const Leaf& leaf = leaf_of(root, row);
    use(leaf.target, leaf.weight);
  }
}

}  // namespace narrowgauge
