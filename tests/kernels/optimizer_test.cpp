// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/update/optimizer.h"

#include "base/threads/parallel.h"
#include "kernels/values_for_tests.h"

namespace narrowgauge::cpu::optimizer_test {
namespace {

constexpr std::int64_t sizes[] = {1, 7, 17, 1000, 40000};
constexpr float loss_scale = 1024;

Tensor copy_of(const Tensor& tensor) { return tensor.clone(); }

// Weight, narrow copy and up to two moments, stepped by the kernel and in double.
struct Problem {
  Tensor weight, narrow, first, second;
  std::vector<double> w, m, v;

  Problem(std::int64_t count, DType narrow_dtype)
      : weight(random_tensor(DType::f32, count, 1)),
        narrow(narrow_dtype, {count}),
        first(DType::f32, {count}),
        second(DType::f32, {count}),
        w(doubles(weight)),
        m(w.size()),
        v(w.size()) {}

  UpdateCommon common(const Tensor& gradient) {
    return {.count = weight.size(),
            .weight = view(weight),
            .gradient = view(gradient),
            .next_weight = view(weight),
            .narrow_weight = view(narrow),
            .multiplier = 1 / loss_scale,
            .learning_rate = 0.1F,
            .weight_decay = 0.05F};
  }
  AdamUpdate adam(const Tensor& gradient, std::int64_t step, bool decoupled) {
    return {.common = common(gradient),
            .step = step,
            .decoupled_decay = decoupled,
            .first_moment = {floats(first), floats(first)},
            .second_moment = {floats(second), floats(second)}};
  }
  void check(const std::string& what) const {
    expect_close(weight, w, 1e-6, 2e-6, what + " weight");
    expect_close(first, m, 1e-6, 1e-6, what + " first moment");
    expect_close(second, v, 1e-6, 1e-6, what + " second moment");
    EXPECT_TRUE(narrow.same_bits(weight.cast(narrow.dtype()))) << what;
  }
};

Tensor gradient_of(DType dtype, std::int64_t count, unsigned step) {
  return random_tensor(dtype, count, 100 + step, 0, double(loss_scale));
}

TEST(optimizer, sgd_follows_its_formula) {
  for (const std::int64_t count : sizes)
    for (const DType dtype : storage_dtypes)
      for (const float momentum : {0.0F, 0.9F})
        for (const bool nesterov : {false, true}) {
          Problem p(count, dtype);
          for (unsigned step = 1; step <= 3; ++step) {
            const Tensor gradient = gradient_of(dtype, count, step);
            sgd_update({.common = p.common(gradient),
                        .momentum = momentum,
                        .nesterov = nesterov,
                        .velocity = {floats(p.first), floats(p.first)}});
            for (std::size_t i = 0; i < p.w.size(); ++i) {
              const double g =
                  gradient.at(std::int64_t(i)) / double(loss_scale) + double(0.05F) * p.w[i];
              if (momentum > 0) p.m[i] = double(momentum) * p.m[i] + g;
              const double direction = momentum == 0 ? g
                                       : nesterov    ? g + double(momentum) * p.m[i]
                                                     : p.m[i];
              p.w[i] -= double(0.1F) * direction;
            }
          }
          p.check(concat("sgd ", dtype, " ", count));
        }
}

TEST(optimizer, adam_and_adamw_follow_their_formulas) {
  for (const std::int64_t count : sizes)
    for (const DType dtype : storage_dtypes)
      for (const bool decoupled : {false, true}) {
        Problem p(count, dtype);
        for (unsigned step = 1; step <= 3; ++step) {
          const Tensor gradient = gradient_of(dtype, count, step);
          adam_update(p.adam(gradient, step, decoupled));
          const double b1 = double(0.9F), b2 = double(0.999F), rate = double(0.1F);
          for (std::size_t i = 0; i < p.w.size(); ++i) {
            double g = gradient.at(std::int64_t(i)) / double(loss_scale);
            if (decoupled)
              p.w[i] *= 1 - rate * double(0.05F);
            else
              g += double(0.05F) * p.w[i];
            p.m[i] = b1 * p.m[i] + (1 - b1) * g;
            p.v[i] = b2 * p.v[i] + (1 - b2) * g * g;
            const double corrected = std::sqrt(p.v[i] / (1 - std::pow(b2, step)));
            p.w[i] -= rate * p.m[i] / (1 - std::pow(b1, step)) / (corrected + double(1e-8F));
          }
        }
        p.check(concat("adam ", dtype, " ", count));
      }
}

TEST(optimizer, a_skipped_step_changes_nothing) {
  Problem p(1000, DType::f16);
  const Tensor good = gradient_of(DType::f16, 1000, 1);
  adam_update(p.adam(good, 1, false));
  const Tensor weight = copy_of(p.weight), first = copy_of(p.first), second = copy_of(p.second);
  const Tensor bad = Tensor::full(DType::f16, {1000}, std::numeric_limits<double>::infinity());
  AdamUpdate adam = p.adam(bad, 2, false);
  adam.common.applied = false;
  adam_update(adam);
  SgdUpdate sgd{
      .common = adam.common, .momentum = 0.9F, .velocity = {floats(p.first), floats(p.first)}};
  sgd_update(sgd);
  EXPECT_TRUE(p.weight.same_bits(weight));
  EXPECT_TRUE(p.first.same_bits(first));
  EXPECT_TRUE(p.second.same_bits(second));
  EXPECT_TRUE(p.narrow.same_bits(weight.cast(DType::f16)));
}

TEST(optimizer, a_skipped_step_into_other_memory_copies) {
  Problem p(777, DType::bf16);
  const Tensor gradient = gradient_of(DType::bf16, 777, 1);
  adam_update(p.adam(gradient, 1, false));
  Problem next(777, DType::bf16);
  AdamUpdate adam = p.adam(gradient, 2, false);
  adam.common.applied = false;
  adam.common.next_weight = view(next.weight);
  adam.common.narrow_weight = view(next.narrow);
  adam.first_moment.next = floats(next.first);
  adam.second_moment.next = floats(next.second);
  adam_update(adam);
  EXPECT_TRUE(next.weight.same_bits(p.weight));
  EXPECT_TRUE(next.narrow.same_bits(p.narrow));
  EXPECT_TRUE(next.first.same_bits(p.first));
  EXPECT_TRUE(next.second.same_bits(p.second));
}

TEST(optimizer, counts_weights_that_the_narrow_copy_loses) {
  Problem p(1000, DType::f16);
  for (float& w : p.weight.values<float>()) w = 1e-9F;
  p.weight.set(5, 0);
  p.weight.set(6, 1);
  const Tensor zero(DType::f32, {1000});
  UpdateCommon common = p.common(zero);
  std::int64_t flushed = 10;
  common.narrow_weight.flushed = &flushed;
  sgd_update({.common = common});
  EXPECT_EQ(flushed, 10 + 998);
}

TEST(optimizer, bits_do_not_depend_on_the_number_of_threads) {
  std::vector<Tensor> weights;
  for (const int threads : {1, 2}) {
    const ThreadScope scope(threads);
    Problem p(100000, DType::f16);
    for (unsigned step = 1; step <= 2; ++step)
      adam_update(p.adam(gradient_of(DType::f16, 100000, step), step, true));
    weights.push_back(p.weight);
  }
  EXPECT_TRUE(weights[0].same_bits(weights[1]));
}

}  // namespace
}  // namespace narrowgauge::cpu::optimizer_test
