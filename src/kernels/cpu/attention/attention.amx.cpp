// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/amx/tiles.amx.h"
#include "kernels/cpu/attention/attention_rows.h"
#include "kernels/cpu/attention/attention_shares.amx.h"

namespace narrowgauge::cpu::amx {
namespace {

constexpr std::int64_t block_bytes = 2048, row_bytes = 64, side = attention_block;
constexpr std::int64_t chunk_blocks =
    4;  // of queries, whose shares dk and dv are made from at once

static_assert(side == block_rows);

// The sizes of a head in blocks of 32.
struct Blocks {
  std::int64_t keys, width;
  explicit Blocks(const AttentionShape& shape)
      : keys(padded(shape.keys) / side), width(padded(shape.width) / side) {}
};

// Cuts scratch memory into arrays.
class Cutter {
 public:
  explicit Cutter(std::byte* scratch) : next_(scratch) {}
  std::byte* blocks(std::int64_t count) { return bytes(count * block_bytes); }
  float* floats(std::int64_t count) { return reinterpret_cast<float*>(bytes(count * 4)); }
  std::byte* bytes(std::int64_t count) {
    std::byte* const here = next_;
    next_ += count;
    return here;
  }

 private:
  std::byte* next_;
};

// 32 rows of 32 bf16 of a head, `step` bytes apart.
struct Square {
  const std::byte* rows;
  std::int64_t step;
};

__mmask32 columns_mask(std::int64_t columns) {
  return static_cast<__mmask32>((std::uint64_t{1} << (columns < side ? columns : side)) - 1);
}

// The square in place, or copied to `room` with zeros beyond the last row and the width.
Square square_of(const std::byte* head, std::int64_t row_step, RowRange rows, std::int64_t width,
                 std::byte* room) {
  const std::byte* from = head + rows.first * row_step;
  if (rows.count == side && width >= side) return {from, row_step};
  const __mmask32 mask = columns_mask(width);
  for (std::int64_t r = 0; r < side; ++r) {
    const __m512i row = r < rows.count ? _mm512_maskz_loadu_epi16(mask, from + r * row_step)
                                       : _mm512_setzero_si512();
    _mm512_store_si512(room + r * row_bytes, row);
  }
  return {room, row_bytes};
}

void copy_block(const Square& square, std::byte* block) {
  for (std::int64_t r = 0; r < side; ++r)
    _mm512_store_si512(block + r * row_bytes, _mm512_loadu_si512(square.rows + r * square.step));
}

// The rows of one head in an array.
class HeadRows {
 public:
  HeadRows(const AttentionInput& input, const AttentionShape& shape, AttentionHead head)
      : data_(static_cast<const std::byte*>(input.data) +
              2 * (head.image * input.batch + head.head * shape.width)),
        step_(2 * input.row),
        width_(shape.width) {}

  // Calls visit(square, block of 32 rows, block of 32 columns) for `rows`, from their first on.
  template <class Visit>
  void for_squares(RowRange rows, const Visit& visit) const {
    alignas(64) std::byte room[block_bytes];
    for (std::int64_t i = 0; i * side < rows.count; ++i)
      for (std::int64_t j = 0; j * side < width_; ++j) {
        const std::int64_t left = rows.count - i * side;
        const RowRange of_block{rows.first + i * side, left < side ? left : side};
        visit(square_of(data_ + j * row_bytes, step_, of_block, width_ - j * side, room), i, j);
      }
  }

 private:
  const std::byte* data_;
  std::int64_t step_, width_;
};

// Stores the sums in columns from `at` on of rows that are `pitch` floats apart.
void store_block(float* rows, std::int64_t pitch) {
  const std::int64_t step = pitch * 4;
  _tile_stored(0, rows, step);
  _tile_stored(1, rows + 16, step);
  _tile_stored(2, rows + 16 * pitch, step);
  _tile_stored(3, rows + 16 * pitch + 16, step);
  before_tile_loads();
}

void load_block(const float* rows, std::int64_t pitch) {
  const std::int64_t step = pitch * 4;
  _tile_loadd(0, rows, step);
  _tile_loadd(1, rows + 16, step);
  _tile_loadd(2, rows + 16 * pitch, step);
  _tile_loadd(3, rows + 16 * pitch + 16, step);
}

// Adds `depth` products of blocks to the sums.
void add_products(const std::byte* a, std::int64_t a_step, const std::byte* b, std::int64_t b_step,
                  std::int64_t depth) {
  for (std::int64_t i = 0; i < depth; ++i)
    multiply_block<Reading::reused>(a + i * a_step * block_bytes, b + i * b_step * block_bytes);
}

// Narrows 32 rows of `columns` blocks of f32 to blocks of A; rows from `count` on become 0.
void narrow(const float* rows, std::int64_t pitch, std::int64_t count, std::int64_t columns,
            std::byte* blocks) {
  for (std::int64_t r = 0; r < side; ++r)
    for (std::int64_t j = 0; j < columns; ++j) {
      const float* from = rows + r * pitch + j * side;
      const __m512i row = r < count ? to_bf16(_mm512_loadu_ps(from), _mm512_loadu_ps(from + 16))
                                    : _mm512_setzero_si512();
      _mm512_store_si512(blocks + j * block_bytes + r * row_bytes, row);
    }
  before_tile_loads();
}

// Packs keys, or values, so that a row of q or dy times them gives a row over the keys: block
// (width, key) of B is at width * keys + key.
void pack_over_keys(const HeadRows& rows, std::int64_t keys, const Blocks& count, std::byte* to) {
  rows.for_squares({0, keys}, [&](const Square& square, std::int64_t i, std::int64_t j) {
    pack_b_transposed(square.rows, square.step, to + (j * count.keys + i) * block_bytes);
  });
}

// Packs rows that a product sums over: block (row, width) of B is at row * width + width.
void pack_summed(const HeadRows& rows, RowRange range, const Blocks& count, std::byte* to) {
  rows.for_squares(range, [&](const Square& square, std::int64_t i, std::int64_t j) {
    pack_b(square.rows, square.step, to + (i * count.width + j) * block_bytes);
  });
}

// Packs 32 rows as blocks of A along the width.
void pack_rows(const HeadRows& rows, RowRange range, std::byte* to) {
  rows.for_squares(range, [&](const Square& square, std::int64_t, std::int64_t j) {
    copy_block(square, to + j * block_bytes);
  });
}

// scores [32][pitch] = rows times keys, for `seen` blocks of keys.
void multiply_over_keys(const std::byte* rows, const std::byte* keys, const Blocks& count,
                        std::int64_t seen, float* scores) {
  before_tile_loads();
  for (std::int64_t j = 0; j < seen; ++j) {
    zero_sums();
    add_products(rows, 1, keys + j * block_bytes, count.keys, count.width);
    store_block(scores + j * side, count.keys * side);
  }
}

// y [32][padded width] = shares times values, for `seen` blocks of keys.
void multiply_over_width(const std::byte* shares, const std::byte* values, const Blocks& count,
                         std::int64_t seen, float* y) {
  before_tile_loads();
  for (std::int64_t j = 0; j < count.width; ++j) {
    zero_sums();
    add_products(shares, 1, values + j * block_bytes, count.width, seen);
    store_block(y + j * side, count.width * side);
  }
}

// Stores rows of a head, each times its factor if there are factors.
void store_rows(const AttentionProblem& problem, const AttentionOutput& to, AttentionHead head,
                RowRange rows, const float* from, const float* factors) {
  if (!to.data) return;
  const std::int64_t width = problem.shape.width, pitch = padded(width);
  for (std::int64_t r = 0; r < rows.count; ++r, from += pitch) {
    std::byte* const row =
        static_cast<std::byte*>(to.data) +
        2 * (head.image * to.batch + (rows.first + r) * to.row + head.head * width);
    const __m512 factor = _mm512_set1_ps(factors ? factors[r] : 1.0F);
    for (std::int64_t i = 0; i < width; i += side) {
      const __mmask32 mask = columns_mask(width - i);
      const __m512 low = _mm512_mul_ps(_mm512_load_ps(from + i), factor);
      const __m512 high = _mm512_mul_ps(_mm512_load_ps(from + i + 16), factor);
      _mm512_mask_storeu_epi16(row + 2 * i, mask, to_bf16(low, high));
    }
  }
}

RowRange block_of_queries(const AttentionShape& shape, std::int64_t first) {
  const std::int64_t left = shape.queries - first;
  return {first, left < side ? left : side};
}

std::int64_t forward_bytes(const AttentionShape& shape) {
  const Blocks n(shape);
  return block_bytes * (2 * n.keys * n.width + n.width + n.keys) +
         4 * side * side * (n.keys + n.width) + ScoreStrip::bytes(shape);
}

// Whether all queries see all keys, in whole blocks, through the same mask.
bool are_rows_alike(const AttentionProblem& problem) {
  return problem.keep == 1 && !problem.causal && problem.shape.keys % side == 0 &&
         (!problem.mask.values || problem.mask.query == 0);
}

void forward(const AttentionForward& call, AttentionHead head, std::byte* scratch) {
  const AttentionProblem& problem = call.problem;
  const AttentionShape& shape = problem.shape;
  const Blocks n(shape);
  Cutter cut(scratch);
  std::byte *keys = cut.blocks(n.keys * n.width), *values = cut.blocks(n.keys * n.width);
  std::byte *q = cut.blocks(n.width), *shares = cut.blocks(n.keys);
  float *scores = cut.floats(side * side * n.keys), *y = cut.floats(side * side * n.width);
  ScoreStrip strip(problem, head, cut.bytes(ScoreStrip::bytes(shape)));
  const HeadRows queries(problem.q, shape, head);
  const bool alike = are_rows_alike(problem);
  const TileScope tiles;
  pack_over_keys(HeadRows(problem.k, shape, head), shape.keys, n, keys);
  pack_summed(HeadRows(problem.v, shape, head), {0, shape.keys}, n, values);
  for (std::int64_t first = 0; first < shape.queries; first += side) {
    const RowRange rows = block_of_queries(shape, first);
    strip.start(rows);
    strip.fetch_next({});
    const std::int64_t seen = strip.padded_keys() / side, pitch = n.keys * side;
    pack_rows(queries, rows, q);
    multiply_over_keys(q, keys, n, seen, scores);
    RowShares sums[side];
    if (alike) {
      const ScoreRow row = strip.row(0, scores);
      make_shares({scores, pitch, shape.keys, row.mask, row.scale}, shares, sums);
    } else {
      for (std::int64_t r = 0; r < rows.count; ++r)
        sums[r] = avx512::attention_math.exponentials(strip.row(r, scores + r * pitch));
      narrow(scores, pitch, rows.count, seen, shares);
    }
    float factors[side];
    for (std::int64_t r = 0; r < rows.count; ++r) {
      factors[r] = share_factor(sums[r], problem.keep);
      if (call.logsumexp) call.logsumexp[strip.index(r)] = logsumexp(sums[r]);
    }
    multiply_over_width(shares, values, n, seen, y);
    store_rows(problem, call.y, head, rows, y, factors);
  }
}

// The arrays of one head in the backward pass.
class Backward {
 public:
  static std::int64_t bytes(const AttentionShape& shape) {
    const Blocks n(shape);
    return block_bytes * (3 * n.keys * n.width + 2 * n.width + 2 * n.keys +
                          2 * chunk_blocks * (n.width + n.keys)) +
           4 * side * side * (2 * n.keys + n.width + 2 * n.keys * n.width) +
           ScoreStrip::bytes(shape);
  }

  Backward(const AttentionBackward& call, AttentionHead head, std::byte* scratch)
      : Backward(call, head, Cutter(scratch)) {}

  void run() {
    for (std::int64_t first = 0; first < shape_.queries; first += chunk_blocks * side) {
      std::int64_t blocks = 0;
      for (; blocks < chunk_blocks && first + blocks * side < shape_.queries; ++blocks)
        take_block(block_of_queries(shape_, first + blocks * side), blocks);
      add_chunk(values_, gradient_rows_, dv_, {first, blocks});
      add_chunk(keys_turned_, query_rows_, dk_, {first, blocks});
    }
    const RowRange keys{0, shape_.keys};
    store_rows(call_.problem, call_.dk, head_, keys, dk_, nullptr);
    store_rows(call_.problem, call_.dv, head_, keys, dv_, nullptr);
  }

 private:
  Backward(const AttentionBackward& call, AttentionHead head, Cutter cut)
      : call_(call),
        shape_(call.problem.shape),
        head_(head),
        n_(shape_),
        queries_(call.problem.q, shape_, head),
        gradients_(call.dy, shape_, head),
        keys_over_(cut.blocks(n_.keys * n_.width)),
        values_over_(cut.blocks(n_.keys * n_.width)),
        keys_summed_(cut.blocks(n_.keys * n_.width)),
        rows_(cut.blocks(2 * n_.width)),
        shares_(cut.blocks(2 * n_.keys)),
        query_rows_(cut.blocks(chunk_blocks * n_.width)),
        gradient_rows_(cut.blocks(chunk_blocks * n_.width)),
        values_(cut.blocks(chunk_blocks * n_.keys)),
        keys_turned_(cut.blocks(chunk_blocks * n_.keys)),
        scores_(cut.floats(side * side * n_.keys)),
        flows_(cut.floats(side * side * n_.keys)),
        dq_(cut.floats(side * side * n_.width)),
        dk_(cut.floats(side * side * n_.keys * n_.width)),
        dv_(cut.floats(side * side * n_.keys * n_.width)),
        strip_(call.problem, head, cut.bytes(ScoreStrip::bytes(shape_))) {
    const HeadRows keys(call.problem.k, shape_, head), values(call.problem.v, shape_, head);
    pack_over_keys(keys, shape_.keys, n_, keys_over_);
    pack_over_keys(values, shape_.keys, n_, values_over_);
    pack_summed(keys, {0, shape_.keys}, n_, keys_summed_);
  }

  // Computes dq of 32 queries; keeps their shares and score gradients, transposed, for add_chunk().
  void take_block(RowRange rows, std::int64_t place) {
    strip_.start(rows);
    strip_.fetch_next(call_.dy);
    const std::int64_t seen = strip_.padded_keys() / side, pitch = n_.keys * side;
    const std::int64_t room = place * n_.width * block_bytes;
    pack_rows(queries_, rows, rows_);
    multiply_over_keys(rows_, keys_over_, n_, seen, scores_);
    pack_rows(gradients_, rows, rows_ + n_.width * block_bytes);
    multiply_over_keys(rows_ + n_.width * block_bytes, values_over_, n_, seen, flows_);
    pack_summed(queries_, rows, n_, query_rows_ + room);
    pack_summed(gradients_, rows, n_, gradient_rows_ + room);
    for (std::int64_t r = 0; r < rows.count; ++r)
      avx512::attention_math.gradients(strip_.row(r, scores_ + r * pitch),
                                       call_.logsumexp[strip_.index(r)], flows_ + r * pitch);
    std::byte* const turned_flows = shares_ + n_.keys * block_bytes;
    narrow(scores_, pitch, rows.count, seen, shares_);
    narrow(flows_, pitch, rows.count, seen, turned_flows);
    multiply_over_width(turned_flows, keys_summed_, n_, seen, dq_);
    store_rows(call_.problem, call_.dq, head_, rows, dq_, nullptr);
    turn(shares_, seen, values_, place);
    turn(turned_flows, seen, keys_turned_, place);
  }

  // Transposes blocks over the keys: block (key, query) of A at key * chunk_blocks + query. Blocks
  // of unseen keys become 0.
  void turn(const std::byte* blocks, std::int64_t seen, std::byte* to, std::int64_t place) const {
    for (std::int64_t i = 0; i < n_.keys; ++i) {
      std::byte* const block = to + (i * chunk_blocks + place) * block_bytes;
      if (i < seen)
        pack_a_transposed(blocks + i * block_bytes, row_bytes, block);
      else
        __builtin_memset(block, 0, block_bytes);
    }
  }

  // sums [keys][width] += turned times rows, over the queries of a chunk; chunk.count is in blocks.
  void add_chunk(const std::byte* turned, const std::byte* rows, float* sums,
                 RowRange chunk) const {
    before_tile_loads();
    const std::int64_t pitch = n_.width * side;
    for (std::int64_t i = 0; i < n_.keys; ++i)
      for (std::int64_t j = 0; j < n_.width; ++j) {
        float* const at = sums + i * side * pitch + j * side;
        if (chunk.first == 0)
          zero_sums();
        else
          load_block(at, pitch);
        add_products(turned + i * chunk_blocks * block_bytes, 1, rows + j * block_bytes, n_.width,
                     chunk.count);
        store_block(at, pitch);
      }
  }

  const AttentionBackward& call_;
  const AttentionShape& shape_;
  AttentionHead head_;
  Blocks n_;
  HeadRows queries_, gradients_;
  TileScope tiles_;
  // Blocks of B over the keys and summed over the keys; blocks of A of one block of queries.
  std::byte *keys_over_, *values_over_, *keys_summed_, *rows_, *shares_;
  // Blocks of a chunk: of B summed over the queries, and of A, a row for each key.
  std::byte *query_rows_, *gradient_rows_, *values_, *keys_turned_;
  float *scores_, *flows_, *dq_, *dk_, *dv_;
  ScoreStrip strip_;
};

void backward(const AttentionBackward& call, AttentionHead head, std::byte* scratch) {
  Backward(call, head, scratch).run();
}

}  // namespace

const AttentionEngine attention_engine{.forward_bytes = forward_bytes,
                                       .backward_bytes = Backward::bytes,
                                       .forward = forward,
                                       .backward = backward};

}  // namespace narrowgauge::cpu::amx
