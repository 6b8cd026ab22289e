// SPDX-License-Identifier: Apache-2.0
// The trees of a TreeEnsemble, put together from its lists.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "base/indexed_vector.h"
#include "ops/ml/tree_ensemble.h"

namespace narrowgauge {

class Trees {
 public:
  // Throws UsageError where the lists do not fit each other.
  explicit Trees(const TreeEnsemble& op);

  std::int64_t features() const { return features_; }  // the least number that the nodes need
  std::int64_t count() const { return std::ssize(roots_); }
  // Calls use(target, weight) for the leaf that a row reaches in each tree.
  void visit(const std::function<double(std::int64_t feature)>& row,
             const std::function<void(std::int64_t target, double weight)>& use) const;

 private:
  struct Branch {
    bool leaf = false;
    std::int64_t index = 0;  // of a leaf, or of a node
  };
  struct TreeNode {
    int mode = 0;
    std::int64_t feature = 0;
    double split = 0;
    bool missing_is_true = false;
    Branch if_true{}, if_false{};
    std::set<double> members{};

    bool holds(double value) const;
  };
  struct Leaf {
    std::int64_t target = 0;
    double weight = 0;
  };

  void add_nodes(const TreeEnsemble& op);
  void add_members(const Tensor& values);
  const Leaf& leaf_of(std::int64_t root,
                      const std::function<double(std::int64_t feature)>& row) const;

  IndexedVector<std::int64_t, TreeNode> nodes_;
  IndexedVector<std::int64_t, Leaf> leaves_;
  Dims roots_;
  std::int64_t features_ = 0;
};

}  // namespace narrowgauge
