// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/attention/attention.h"

#include <limits>

#include "base/machine/cpu.h"
#include "base/threads/parallel.h"
#include "kernels/each_isa.h"
#include "kernels/values_for_tests.h"

namespace narrowgauge::cpu::attention_test {
namespace {

constexpr double nothing = -std::numeric_limits<double>::infinity();

struct Setting {
  AttentionShape shape;
  bool causal = false, masked = false;
  float keep = 1;
};

std::vector<Setting> settings() {
  return {{{2, 2, 7, 5, 8}},
          {{1, 2, 128, 128, 64}, false, true, 0.75F},
          {{1, 1, 197, 197, 32}},
          {{2, 2, 70, 45, 20}, true, true, 0.5F},
          {{1, 1, 33, 150, 33}, true},
          {{1, 1, 140, 31, 96}, false, false, 0.25F},
          {{2, 2, 71, 96, 64}, false, true},
          {{1, 2, 32, 64, 20}}};
}

// Memory of bytes on a cache line, with a sign behind its end.
class Scratch {
 public:
  explicit Scratch(std::int64_t bytes)
      : bytes_(bytes), memory_(static_cast<std::size_t>(bytes) + 128, 0xff) {}
  void* data() { return memory_.data() + start(); }
  bool holds() const {
    for (std::size_t i = 0; i < 64; ++i)
      if (memory_[start() + static_cast<std::size_t>(bytes_) + i] != 0xff) return false;
    return true;
  }

 private:
  std::size_t start() const { return 64 - reinterpret_cast<std::uintptr_t>(memory_.data()) % 64; }
  std::int64_t bytes_;
  std::vector<std::uint8_t> memory_;
};

// An array [batch, rows, heads * width] inside rows that are `wider` elements longer.
struct Rows {
  Tensor memory;
  std::int64_t rows, width, pitch;

  Rows(DType dtype, const AttentionShape& shape, std::int64_t count, std::int64_t wider,
       unsigned seed)
      : rows(count), width(shape.heads * shape.width), pitch(width + wider) {
    memory = random_tensor(dtype, shape.batch * rows * pitch, seed);
  }
  std::int64_t at(std::int64_t image, std::int64_t row, std::int64_t i) const {
    return (image * rows + row) * pitch + i;
  }
  AttentionInput input() const { return {memory.data(), rows * pitch, pitch}; }
  AttentionOutput output() { return {memory.data(), rows * pitch, pitch, nullptr}; }
};

using Numbers = std::vector<double>;

struct Problem {
  Setting setting;
  Rows q, k, v, dy, y, dq, dk, dv;
  Tensor mask, logsumexp;
  AttentionProblem problem;

  Problem(const Setting& s, DType dtype)
      : setting(s),
        q(dtype, s.shape, s.shape.queries, 24, 1),
        k(dtype, s.shape, s.shape.keys, 0, 2),
        v(dtype, s.shape, s.shape.keys, 8, 3),
        dy(dtype, s.shape, s.shape.queries, 0, 4),
        y(dtype, s.shape, s.shape.queries, 16, 5),
        dq(dtype, s.shape, s.shape.queries, 0, 6),
        dk(dtype, s.shape, s.shape.keys, 16, 7),
        dv(dtype, s.shape, s.shape.keys, 0, 8),
        mask(random_tensor(DType::f32, s.shape.batch * s.shape.keys, 9)),
        logsumexp(DType::f32, {s.shape.batch * s.shape.heads * s.shape.queries}) {
    problem.shape = s.shape;
    problem.dtype = dtype;
    problem.q = q.input();
    problem.k = k.input();
    problem.v = v.input();
    if (s.masked) {
      mask.set(0, nothing);
      problem.mask = {view(std::as_const(mask)), s.shape.keys, 0, 0, false};
    }
    problem.scale = 0.3F;
    problem.causal = s.causal;
    problem.keep = s.keep;
    problem.dropout = RandomStream(3, "attention", 4);
  }

  void run(const AttentionEngine& engine) {
    Scratch room(attention_workspace(engine, setting.shape));
    attention(engine, {problem, y.output(), floats(logsumexp)}, room.data());
    EXPECT_TRUE(room.holds());
    Scratch more(attention_backward_workspace(engine, setting.shape));
    attention_backward(engine,
                       {problem, dy.input(), floats(std::as_const(logsumexp)), dq.output(),
                        dk.output(), dv.output()},
                       more.data());
    EXPECT_TRUE(more.holds());
  }
};

// What a Problem's results should be, by plain loops in double.
struct Expected {
  Numbers y, dq, dk, dv, logsumexp;

  explicit Expected(const Problem& p)
      : y(static_cast<std::size_t>(p.y.memory.size())),
        dq(static_cast<std::size_t>(p.dq.memory.size())),
        dk(static_cast<std::size_t>(p.dk.memory.size())),
        dv(static_cast<std::size_t>(p.dv.memory.size())) {
    const AttentionShape& shape = p.setting.shape;
    for (std::int64_t n = 0; n < shape.batch; ++n)
      for (std::int64_t h = 0; h < shape.heads; ++h)
        for (std::int64_t t = 0; t < shape.queries; ++t) add_query(p, n, h, t);
  }

  void add_query(const Problem& p, std::int64_t n, std::int64_t h, std::int64_t t) {
    const AttentionShape& shape = p.setting.shape;
    const std::int64_t index = (n * shape.heads + h) * shape.queries + t;
    const auto dot = [&](const Rows& a, std::int64_t i, const Rows& b, std::int64_t j) {
      double sum = 0;
      for (std::int64_t w = 0; w < shape.width; ++w)
        sum += a.memory.at(a.at(n, i, h * shape.width + w)) *
               b.memory.at(b.at(n, j, h * shape.width + w));
      return sum;
    };
    const auto add = [&](Numbers& to, const Rows& like, std::int64_t row, double factor,
                         const Rows& from, std::int64_t from_row) {
      for (std::int64_t w = 0; w < shape.width; ++w)
        to[static_cast<std::size_t>(like.at(n, row, h * shape.width + w))] +=
            factor * from.memory.at(from.at(n, from_row, h * shape.width + w));
    };
    Numbers share, flow, factor;
    double largest = nothing, sum = 0, mean = 0;
    for (std::int64_t s = 0; s < shape.keys; ++s) {
      double score = double(p.problem.scale) * dot(p.q, t, p.k, s);
      if (p.setting.masked) score += p.mask.at(n * shape.keys + s);
      share.push_back(p.setting.causal && s > t ? nothing : score);
      largest = std::max(largest, share.back());
    }
    for (double& x : share) sum += x = largest == nothing ? 0 : std::exp(x - largest);
    logsumexp.push_back(sum == 0 ? nothing : largest + std::log(sum));
    for (std::int64_t s = 0; s < shape.keys; ++s) {
      double& x = share[static_cast<std::size_t>(s)];
      x = sum == 0 ? 0 : x / sum;
      const std::uint32_t bits =
          p.problem.dropout.short_bits(static_cast<std::uint64_t>(index * shape.keys + s));
      factor.push_back(bits < double(p.setting.keep) * 65536 ? 1 / double(p.setting.keep) : 0);
      flow.push_back(dot(p.dy, t, p.v, s) * factor.back());
      mean += x * flow.back();
    }
    for (std::int64_t s = 0; s < shape.keys; ++s) {
      const auto i = static_cast<std::size_t>(s);
      const double ds = share[i] * (flow[i] - mean) * double(p.problem.scale);
      add(y, p.y, t, share[i] * factor[i], p.v, s);
      add(dq, p.dq, t, ds, p.k, s);
      add(dk, p.dk, s, ds, p.q, t);
      add(dv, p.dv, s, share[i] * factor[i], p.dy, t);
    }
  }
};

// The error of the rows' own elements: the norm of the difference over that of what is expected.
double error_of(const Rows& got, const Numbers& expected) {
  double squares = 0, error = 0;
  for (std::int64_t i = 0; i < got.memory.size(); ++i) {
    if (i % got.pitch >= got.width) continue;
    const double e = expected[static_cast<std::size_t>(i)], difference = got.memory.at(i) - e;
    squares += e * e;
    error += difference * difference;
  }
  EXPECT_GT(squares, 0);
  return std::isfinite(error) ? std::sqrt(error / squares) : HUGE_VAL;
}

void expect_right(const AttentionEngine& engine, DType dtype, double bound) {
  for (const Setting& setting : settings()) {
    Problem p(setting, dtype);
    const Rows before = p.y;
    p.run(engine);
    const Expected expected(p);
    EXPECT_LE(error_of(p.y, expected.y), bound);
    EXPECT_LE(error_of(p.dq, expected.dq), bound);
    EXPECT_LE(error_of(p.dk, expected.dk), bound);
    EXPECT_LE(error_of(p.dv, expected.dv), bound);
    expect_close(p.logsumexp, expected.logsumexp, 1e-5, 1e-5, "logsumexp");
    for (std::int64_t i = 0; i < p.y.memory.size(); ++i)
      if (i % p.y.pitch >= p.y.width) {
        ASSERT_EQ(p.y.memory.at(i), before.memory.at(i)) << "beside the rows";
      }
  }
}

TEST(attention, of_vectors_agrees_with_double_loops) {
  expect_right(vector_attention(), DType::f32, 2e-6);
  expect_right(vector_attention(), DType::f16, 4e-4);
  expect_right(vector_attention(), DType::bf16, 3e-3);
}

// Shares and the gradients of scores are rounded to bf16 too.
TEST(attention, of_tiles_agrees_with_double_loops) {
  if (isa() != Isa::amx) GTEST_SKIP() << "this is " << name(isa());
  expect_right(amx::attention_engine, DType::bf16, 6e-3);
}

std::vector<const AttentionEngine*> engines() {
  std::vector<const AttentionEngine*> all{&vector_attention()};
  if (isa() == Isa::amx) all.push_back(&amx::attention_engine);
  return all;
}

TEST(attention, gives_the_same_bits_with_any_number_of_threads) {
  for (const AttentionEngine* engine : engines()) {
    std::vector<Problem> runs;
    for (const int threads : {1, 2, 3}) {
      const ThreadScope scope(threads);
      runs.emplace_back(Setting{{5, 7, 40, 40, 16}, true, false, 0.75F}, DType::bf16);
      runs.back().run(*engine);
      for (const auto rows : {&Problem::y, &Problem::dq, &Problem::dk, &Problem::dv})
        EXPECT_TRUE((runs.back().*rows).memory.same_bits((runs.front().*rows).memory));
    }
  }
}

TEST(attention, is_zero_where_nothing_is_seen_and_not_finite_where_nan_is) {
  for (const AttentionEngine* engine : engines())
    for (const std::int64_t keys : {40, 64}) {
      const AttentionShape shape{2, 1, 40, keys, 32};
      Problem p({shape, false, true}, DType::bf16);
      for (std::int64_t i = 0; i < shape.keys; ++i) p.mask.set(i, nothing);
      p.v.memory.set(p.v.at(1, 3, 5), std::numeric_limits<double>::quiet_NaN());
      p.run(*engine);
      for (const Rows* rows : {&p.y, &p.dq, &p.dk, &p.dv})
        for (std::int64_t i = 0; i < shape.width; ++i)
          ASSERT_EQ(rows->memory.at(rows->at(0, 1, i)), 0) << i;
      EXPECT_EQ(p.logsumexp.at(0), nothing);
      EXPECT_TRUE(std::isnan(p.y.memory.at(p.y.at(1, 0, 5))));
      EXPECT_TRUE(std::isfinite(p.y.memory.at(p.y.at(1, 0, 4))));
      EXPECT_TRUE(std::isnan(p.dq.memory.at(p.dq.at(1, 0, 0))));
    }
}

// With values of 1, y is the sum of a query's shares: 1 on average whatever was dropped.
TEST(attention, drops_its_share_of_shares) {
  const AttentionShape shape{4, 4, 64, 64, 32};
  for (const AttentionEngine* engine : engines()) {
    Problem p({shape, false, false, 0.75F}, DType::bf16);
    for (std::int64_t i = 0; i < p.k.memory.size(); ++i) p.k.memory.set(i, 0);
    for (std::int64_t i = 0; i < p.v.memory.size(); ++i) p.v.memory.set(i, 1);
    p.run(*engine);
    double sum = 0, squares = 0;
    const std::int64_t rows = shape.batch * shape.queries * shape.heads;
    for (std::int64_t r = 0; r < rows; ++r) {
      const double y = p.y.memory.at(p.y.at(r / 256, r / 4 % 64, r % 4 * shape.width));
      sum += y;
      squares += (y - 1) * (y - 1);
    }
    // of 64 keys with variance 1/3 each: (1/64) / 3
    EXPECT_NEAR(sum / static_cast<double>(rows), 1, 4 * std::sqrt(1.0 / 192 / 1024));
    EXPECT_NEAR(squares / static_cast<double>(rows), 1.0 / 192, 0.2 / 192);
  }
}

TEST(attention_on_older_machines, is_right) {
  expect_tests_pass_under_each_isa("attention.*", {Isa::avx2, Isa::avx512});
}

}  // namespace
}  // namespace narrowgauge::cpu::attention_test
