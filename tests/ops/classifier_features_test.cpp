// SPDX-License-Identifier: Apache-2.0
// Ops of ONNX's domain ai.onnx.ml, and TfIdfVectorizer. Expected numbers are onnxruntime 1.32's,
// unless a comment says otherwise.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "ops/ml/features.h"
#include "ops/ml/label_encoder.h"
#include "ops/ml/one_hot_encoder.h"
#include "ops/ml/tf_idf_vectorizer.h"
#include "ops/ml/tree_ensemble.h"
#include "ops/shape/axes.h"
#include "support/run_op.h"

namespace narrowgauge::testing_support::classifier_features_test {
namespace {

using Numbers = std::vector<double>;

Tensor floats(Dims dims, const std::vector<float>& values) {
  return Tensor::from<float>(std::move(dims), values);
}

template <Op T>
Numbers result(T op, const Tensor& x) {
  return to_doubles(run_op(std::move(op), {x})[0]);
}

void expect_near(const Numbers& got, const Numbers& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    if (std::isinf(expected[i]))
      EXPECT_EQ(got[i], expected[i]) << "element " << i;
    else
      EXPECT_NEAR(got[i], expected[i], 1e-6) << "element " << i;
}

TEST(binarizer, compares_integers_with_fractions) {  // by hand: onnxruntime lacks it
  EXPECT_EQ(result(Binarizer{-0.5}, list_of(Dims{-1, 0, 1})), (Numbers{0, 1, 1}));
}

TEST(scaler, takes_the_offset_away_first) {
  const Scaler op{floats({2}, {1, 2}), floats({2}, {2, 0.5F})};
  EXPECT_EQ(result(op, floats({3, 2}, {1, -4, 0, 0, 3, 4})), (Numbers{0, -3, -2, -1, 4, 1}));
}

TEST(normalizer, divides_by_the_size_of_each_row) {
  const Tensor x = floats({3, 2}, {1, -4, 0, 0, 3, 4});
  expect_near(result(Normalizer{"MAX"}, x), {1, -4, 0, 0, 0.75, 1});
  expect_near(result(Normalizer{"L1"}, x), {0.2, -0.8, 0, 0, 0.4285714328, 0.5714285969});
  expect_near(result(Normalizer{"L2"}, x), {0.2425356209, -0.9701424837, 0, 0, 0.6, 0.8});
}

TEST(imputer, replaces_one_number_for_each_feature) {
  Imputer missing, whole;
  missing.imputed_value_floats = floats({2}, {7, 8});
  missing.replaced_value_float = NAN;
  EXPECT_EQ(result(missing, floats({2, 2}, {NAN, 1, 2, NAN})), (Numbers{7, 1, 2, 8}));
  whole.imputed_value_int64s = {5};
  whole.replaced_value_int64 = -1;
  EXPECT_EQ(result(whole, list_of(Dims{-1, 1, 2, -1})), (Numbers{5, 1, 2, 5}));
}

TEST(one_hot_encoder, refuses_unknown_categories_if_told_so) {
  const Tensor x = list_of(Dims{1, 9, 3});
  EXPECT_EQ(result(OneHotEncoder{{3, 1, 2}, 1}, x), (Numbers{0, 1, 0, 0, 0, 0, 1, 0, 0}));
  EXPECT_THROW(result(OneHotEncoder{{3, 1, 2}, 0}, x), DataError);
}

TEST(one_hot_encoder, knows_no_category_of_what_is_no_whole_number) {  // by hand
  const Tensor x = floats({3}, {NAN, HUGE_VALF, 1e30F});
  EXPECT_EQ(result(OneHotEncoder{{0, INT64_MIN}, 1}, x), Numbers(6));
}

TEST(label_encoder, takes_the_last_of_equal_keys) {  // by the text of version 4
  LabelEncoder op;
  op.keys_int64s = {1, 2, 1};
  op.values_floats = floats({3}, {5, 6, 7});
  op.default_float = -1;
  EXPECT_EQ(result(op, list_of(Dims{2, 1, 3})), (Numbers{6, 7, -1}));
}

TEST(label_encoder, finds_nan_and_both_zeros) {  // by the text of version 4
  LabelEncoder op;
  op.keys_floats = floats({3}, {0.5F, NAN, 0});
  op.values_int64s = {1, INT64_MAX, 3};
  const Tensor y = run_op(op, {floats({4}, {-NAN, 0.5F, -0.0F, 2})})[0];
  EXPECT_EQ(integers_of(y), (Dims{INT64_MAX, 1, 3, -1}));
}

TEST(label_encoder, wants_one_list_of_keys_and_one_of_values) {
  LabelEncoder op;
  EXPECT_THROW(result(op, list_of(Dims{1})), UsageError);
  op.keys_int64s = {1};
  op.values_int64s = {1, 2};
  EXPECT_THROW(result(op, list_of(Dims{1})), UsageError);
  op.values_int64s = {2};
  EXPECT_EQ(result(op, list_of(Dims{1})), (Numbers{2}));
  op.values_floats = floats({1}, {1});
  EXPECT_THROW(result(op, list_of(Dims{1})), UsageError);
}

TEST(tf_idf_vectorizer, counts_and_weighs_n_grams) {
  TfIdfVectorizer op = samples_of<TfIdfVectorizer>()[0].op;
  const Tensor x = list_of(Dims{1, 2, 0, 1, 2, 2, 2, 0, 0, 1}).reshaped({2, 5});
  const auto scores = [&](const char* mode) {
    op.mode = mode;
    return result(op, x);
  };
  EXPECT_EQ(scores("TF"), (Numbers{2, 2, 0, 2, 1, 1, 0, 0, 2, 3}));
  EXPECT_EQ(scores("IDF"), (Numbers{0.5, 3, 0, 2, 0.25, 0.5, 0, 0, 2, 0.25}));
  EXPECT_EQ(scores("TFIDF"), (Numbers{1, 6, 0, 4, 0.25, 0.5, 0, 0, 4, 0.75}));
}

TEST(tf_idf_vectorizer, refuses_lists_that_do_not_fit) {
  const auto refused = [](auto change) {
    TfIdfVectorizer op = samples_of<TfIdfVectorizer>()[0].op;
    change(op);
    EXPECT_THROW(result(op, list_of(Dims{1, 2})), UsageError);
  };
  refused([](auto& op) { op.ngram_counts = {0, 3}; });
  refused([](auto& op) { op.ngram_counts = {0, -2}; });
  refused([](auto& op) { op.ngram_indexes.pop_back(); });
  refused([](auto& op) { op.ngram_indexes[0] = INT64_MAX; });
  refused([](auto& op) { op.weights = floats({1}, {1}); });
  refused([](auto& op) { op.max_skip_count = -1; });
}

// Rows that reach every leaf; one feature is missing.
const Tensor rows = floats({4, 3}, {-1, 0, 1, 0, 1, 5, 0, 0, -1, NAN, 0, 0});

TEST(tree_ensemble, aggregates_leaves) {
  TreeEnsemble op = samples_of<TreeEnsemble>()[0].op;
  const auto targets = [&](std::int64_t aggregate) {
    op.aggregate_function = aggregate;
    return result(op, rows);
  };
  EXPECT_EQ(targets(0), (Numbers{0.125, 0.25, 0, 0.0625, 0.25, 0, 0, 0.4375, 0, 0.1875, 0, 0}));
  EXPECT_EQ(targets(1), (Numbers{0.25, 0.5, 0, 0.125, 0.5, 0, 0, 0.875, 0, 0.375, 0, 0}));
  EXPECT_EQ(targets(2), (Numbers{0.25, 0.5, 0, 0.125, 0.5, 0, 0, 0.375, 0, 0.125, 0, 0}));
  EXPECT_EQ(targets(3), (Numbers{0.25, 0.5, 0, 0.125, 0.5, 0, 0, 0.5, 0, 0.25, 0, 0}));
}

// Of the first row, whose sums are 0.25, 0.5 and 0. Numbered as ONNX's text has them: onnxruntime
// has softmax and sigmoid the other way round.
TEST(tree_ensemble, transforms_scores) {
  TreeEnsemble op = samples_of<TreeEnsemble>()[0].op;
  op.aggregate_function = 1;
  const auto scores = [&](std::int64_t transform) {
    op.post_transform = transform;
    return result(op, floats({1, 3}, {-1, 0, 1}));
  };
  expect_near(scores(1), {0.3264958560, 0.4192289710, 0.2542752326});
  expect_near(scores(2), {0.5621765256, 0.6224593520, 0.5});
  expect_near(scores(3), {0.4378235042, 0.5621765256, 0});
  const Numbers probit = scores(4);  // onnxruntime's has four digits; these are the exact quantiles
  expect_near(probit, {-0.6744897502, 0, -HUGE_VAL});
}

TEST(tree_ensemble, refuses_trees_that_are_none) {
  const auto refused = [](auto change) {
    TreeEnsemble op = samples_of<TreeEnsemble>()[0].op;
    change(op);
    EXPECT_THROW(result(op, rows), UsageError);
  };
  refused([](auto& op) { op.nodes_falsenodeids[0] = 0; });  // a cycle
  refused([](auto& op) { op.nodes_falsenodeids[0] = 3; });
  refused([](auto& op) { op.nodes_truenodeids[0] = -1; });
  refused([](auto& op) { op.nodes_featureids[0] = 3; });
  refused([](auto& op) { op.leaf_targetids[0] = 3; });
  refused([](auto& op) { op.tree_roots = {3}; });
  refused([](auto& op) { op.tree_roots = {}; });
  refused([](auto& op) { op.membership_values = floats({2}, {NAN, NAN}); });
  refused([](auto& op) { op.membership_values = floats({1}, {1}); });
  refused([](auto& op) { op.nodes_modes = Tensor::full(DType::u8, {3}, 7); });
}

}  // namespace
}  // namespace narrowgauge::testing_support::classifier_features_test
