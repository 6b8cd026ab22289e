// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include "kernels/cpu/int8/int8_gemm.h"
#include "kernels/cpu/int8/int8_planes.h"
#include "kernels/cpu/int8/int8_terms.h"
#include "tensor/values.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t strip_bytes = 256 << 10;   // of packed pixels: a part of L2
constexpr std::int64_t weight_bytes = 512 << 10;  // of packed weights that pass them: another
constexpr std::int64_t convolution_tasks = 8;

// Packed weights of all groups, and the sums of their rows.
struct Weights {
  std::byte* panels;
  std::int32_t* sums;
};

// Memory holds the terms, the row terms and the weights; for each image at work its planes; and for
// each thread a slot: a strip of pixels, its sums and terms, and squares of sums.
class Int8Convolution {
 public:
  Int8Convolution(const Int8Operands& operands, const ConvolutionWindow& window,
                  const Int8Quantities& quantities, int threads)
      : kernels_(int8_kernels()),
        operands_(operands),
        groups_(window.groups),
        quantities_(quantities),
        planes_(operands.b.dims, operands.a.dims, operands.y.dims, window),
        sizes_{groups_, operands.a.dims[0] / groups_, 1, std::ssize(planes_.depth_at())},
        terms_(operands, quantities, sizes_) {
    batch_workers_ = images() >= 2 * threads ? threads : 1;
    workers_ = batch_workers_ > 1 ? 1 : threads;
    choose();
    place_memory();
    if (operands.a_constant) {
      constant_ = Tensor(DType::u8, {weights_bytes()});
      pack_weights(static_cast<const std::uint8_t*>(operands.a_constant),
                   weights_at(constant_->data()));
    }
  }
  Int8Convolution(const Int8Convolution&) = delete;
  Int8Convolution& operator=(const Int8Convolution&) = delete;

  std::int64_t workspace() const { return images_at_ + batch_workers_ * image_bytes_; }

  void run(const Call& call) const {
    auto* const memory = static_cast<std::byte*>(call.workspace);
    const Int8Terms terms = terms_.load(call, memory);
    const Weights weights =
        weights_at(constant_ ? const_cast<std::byte*>(constant_->data()) : memory + weights_at_);
    if (!constant_) pack_weights(static_cast<const std::uint8_t*>(call.inputs[0]), weights);
    auto* const row_terms = reinterpret_cast<std::int32_t*>(memory + row_terms_at_);
    terms.row_terms(0, groups_ * sizes_.padded(), weights.sums, row_terms);
    const std::int64_t element = bits(operands_.y.dtype) / 8;
    hand_out(images(), batch_workers_, [&](std::int64_t image, std::int64_t worker) {
      std::byte* const own = memory + images_at_ + worker * image_bytes_;
      one_image(
          {static_cast<const std::byte*>(call.inputs[1]) + image * channels() * channel_pixels(),
           static_cast<std::byte*>(call.outputs[0]) +
               image * operands_.y.dims[1] * pixels() * element,
           own, &terms, weights, row_terms, zero_of(call)});
    });
  }

 private:
  struct Image {
    const std::byte* x;
    std::byte *y, *memory;
    const Int8Terms* terms;
    Weights weights;
    const std::int32_t* row_terms;
    std::uint8_t zero;
  };
  struct Slot {
    std::byte* columns;
    std::int32_t *column_sums, *column_terms, *sums;
  };

  std::int64_t images() const { return operands_.b.dims[0]; }
  std::int64_t channels() const { return operands_.b.dims[1]; }
  std::int64_t channel_pixels() const {
    return element_count(operands_.b.dims) / (images() * channels());
  }
  std::int64_t pixels() const {  // of y
    return element_count(operands_.y.dims) / (images() * operands_.y.dims[1]);
  }
  std::int64_t panels() const { return ceil_divide(planes_.places(), int8_square); }
  std::int64_t steps() const { return ceil_divide(sizes_.depth, int8_step); }
  std::int64_t panel_bytes() const { return steps() * int8_step_bytes; }
  std::int64_t squares() const { return sizes_.padded() / int8_square; }
  std::int64_t weights_bytes() const {
    return groups_ * (squares() * panel_bytes() + sizes_.padded() * 4);
  }
  Weights weights_at(std::byte* memory) const {
    return {memory, reinterpret_cast<std::int32_t*>(memory + groups_ * squares() * panel_bytes())};
  }
  std::uint8_t zero_of(const Call& call) const {
    const Int8Numbers& zero = quantities_.b_zero;
    if (zero.count == 0) return 0;
    return static_cast<std::uint8_t>(
        static_cast<int>(load_element(zero.dtype, call.inputs[zero.input], 0)));
  }

  void choose() {
    const std::int64_t fitting = std::max<std::int64_t>(strip_bytes / panel_bytes(), 1);
    const std::int64_t wanted = ceil_divide(workers_ > 1 ? convolution_tasks : 1, groups_);
    const std::int64_t strips =
        std::max(ceil_divide(panels(), fitting), std::min(wanted, panels()));
    strip_panels_ = ceil_divide(panels(), strips);
    strips_ = ceil_divide(panels(), strip_panels_);
    block_squares_ = std::clamp<std::int64_t>(weight_bytes / panel_bytes(),
                                              std::min<std::int64_t>(4, squares()), squares());
    workers_ = std::min(workers_, groups_ * strips_);
    const std::int64_t element = bits(operands_.y.dtype) / 8;
    for (std::int64_t panel = 0; panel < panels(); ++panel) {
      first_piece_.push_back(std::ssize(pieces_));
      for (Int8Finish::Piece piece : planes_.pieces(panel)) {
        piece.offset *= element;
        pieces_.push_back(piece);
      }
    }
    first_piece_.push_back(std::ssize(pieces_));
  }

  void place_memory() {
    row_terms_at_ = round_up(terms_.bytes(), 64);
    weights_at_ = row_terms_at_ + groups_ * sizes_.padded() * 4;
    images_at_ = weights_at_ + (operands_.a_constant ? 0 : round_up(weights_bytes(), 64));
    slots_at_ = planes_.copies() ? round_up(channels() * planes_.channel_bytes(), 64) : 0;
    column_sums_at_ = strip_panels_ * panel_bytes();
    sums_at_ = column_sums_at_ + 2 * strip_panels_ * int8_square * 4;
    slot_bytes_ = sums_at_ + block_squares_ * int8_square_bytes;
    image_bytes_ = slots_at_ + workers_ * slot_bytes_;
  }

  void pack_weights(const std::uint8_t* w, const Weights& to) const {
    const Int8Form form = terms_.rows();
    hand_out(groups_ * squares(), thread_count(), [&](std::int64_t index, std::int64_t) {
      const std::int64_t group = index / squares(), row = index % squares() * int8_square;
      std::int32_t* const sums = to.sums + group * sizes_.padded() + row;
      std::fill_n(sums, int8_square, 0);
      kernels_.pack({w + (group * sizes_.in_group + row) * sizes_.depth,
                     std::min(int8_square, sizes_.in_group - row), sizes_.depth, sizes_.depth, 1},
                    form, to.panels + index * panel_bytes(), sums);
    });
  }

  void one_image(const Image& image) const {
    if (planes_.copies())
      hand_out(channels(), workers_, [&](std::int64_t channel, std::int64_t) {
        planes_.fill(reinterpret_cast<const std::uint8_t*>(image.x) + channel * channel_pixels(),
                     image.zero, image.memory + channel * planes_.channel_bytes());
      });
    hand_out(groups_ * strips_, workers_, [&](std::int64_t index, std::int64_t worker) {
      one_strip(image, index / strips_, index % strips_ * strip_panels_,
                slot_at(image.memory + slots_at_ + worker * slot_bytes_));
    });
  }

  Slot slot_at(std::byte* memory) const {
    auto* const sums = reinterpret_cast<std::int32_t*>(memory + column_sums_at_);
    return {memory, sums, sums + strip_panels_ * int8_square,
            reinterpret_cast<std::int32_t*>(memory + sums_at_)};
  }

  void one_strip(const Image& image, std::int64_t group, std::int64_t first,
                 const Slot& slot) const {
    const std::int64_t count = std::min(strip_panels_, panels() - first);
    pack_strip(image, group, first, count, slot);
    for (std::int64_t square = 0; square < squares(); square += block_squares_)
      for (std::int64_t panel = 0; panel < count; ++panel)
        multiply(image, {group, square, first + panel, panel}, slot,
                 slot.columns + count * panel_bytes());
  }

  void pack_strip(const Image& image, std::int64_t group, std::int64_t first, std::int64_t count,
                  const Slot& slot) const {
    const std::byte* const planes = (planes_.copies() ? image.memory : image.x) +
                                    group * (channels() / groups_) * planes_.channel_bytes();
    const Int8Form form = terms_.columns();
    std::fill_n(slot.column_sums, count * int8_square, 0);
    for (std::int64_t panel = 0; panel < count; ++panel) {
      const std::int64_t place = (first + panel) * int8_square;
      kernels_.pack(
          {reinterpret_cast<const std::uint8_t*>(planes) + place,
           std::min(int8_square, planes_.places() - place), sizes_.depth, 1, 0,
           planes_.depth_at().data()},
          form, slot.columns + panel * panel_bytes(),
          image.terms->needs_column_sums ? slot.column_sums + panel * int8_square : nullptr);
    }
    for (std::int64_t panel = 0; panel < count; ++panel)  // one zero for all columns
      image.terms->column_terms(0, int8_square, slot.column_sums + panel * int8_square,
                                slot.column_terms + panel * int8_square);
  }

  struct Place {
    std::int64_t group, square, panel, in_strip;
  };

  void multiply(const Image& image, const Place& place, const Slot& slot,
                const std::byte* end) const {
    const std::int64_t row = place.square * int8_square;
    const std::int64_t padded_row = place.group * sizes_.padded() + row;
    const std::int64_t element = bits(operands_.y.dtype) / 8;
    const std::int64_t column = place.in_strip * int8_square;
    Int8Finish finish = int8_finish(
        *image.terms, {padded_row, 0, image.weights.sums + padded_row, image.row_terms + padded_row,
                       slot.column_sums + column, slot.column_terms + column});
    const auto piece = static_cast<std::size_t>(place.panel);
    finish.pieces = pieces_.data() + first_piece_[piece];
    finish.piece_count = first_piece_[piece + 1] - first_piece_[piece];
    finish.pitch = pixels() * element;
    finish.y = image.y + (place.group * sizes_.in_group + row) * finish.pitch;
    finish.rows = std::min(block_squares_ * int8_square, sizes_.in_group - row);
    Int8Strip strip{};
    strip.a = image.weights.panels + (place.group * squares() + place.square) * panel_bytes();
    strip.b = slot.columns + place.in_strip * panel_bytes();
    strip.a_step = panel_bytes();
    strip.squares = ceil_divide(finish.rows, int8_square);
    strip.steps = steps();
    strip.a_signed = terms_.rows().is_signed;
    strip.b_signed = terms_.columns().is_signed;
    strip.sums = slot.sums;
    strip.first = true;
    strip.last = &finish;
    int8_multiply_runs(kernels_, strip, end);
  }

  const Int8Kernels& kernels_;
  Int8Operands operands_;
  std::int64_t groups_;
  Int8Quantities quantities_;
  Int8Planes planes_;
  Int8Sizes sizes_;
  Int8TermsPlan terms_;
  std::optional<Tensor> constant_;
  std::vector<Int8Finish::Piece> pieces_;  // of all panels
  std::vector<std::int64_t> first_piece_;  // of each panel, and the end
  std::int64_t batch_workers_ = 1, workers_ = 1;
  std::int64_t strip_panels_ = 1, strips_ = 1, block_squares_ = 1;
  std::int64_t row_terms_at_ = 0, weights_at_ = 0, images_at_ = 0, image_bytes_ = 0;
  std::int64_t slots_at_ = 0, column_sums_at_ = 0, sums_at_ = 0, slot_bytes_ = 0;
};

}  // namespace

std::string int8_convolution_reason(const Int8Operands& operands) {
  const auto& [a, b, y, a_constant, b_constant] = operands;
  if (!is_byte(a.dtype) || !is_byte(b.dtype))
    return concat("operands of ", b.dtype, " and ", a.dtype);
  if (!is_byte(y.dtype) && y.dtype != DType::i32) return concat("result of ", y.dtype);
  for (const View* view : {&a, &b, &y}) {
    if (element_count(view->dims) == 0) return "nothing to compute";
    if (!is_dense(*view)) return "an operand with gaps";
  }
  return {};
}

Prepared prepare_int8_convolution(const Int8Operands& operands, const ConvolutionWindow& window,
                                  const Int8Quantities& quantities, int threads) {
  const std::string reason = int8_convolution_reason(operands);
  require(reason.empty(), "int8 convolution: ", reason);
  const auto convolution = std::make_shared<const Int8Convolution>(
      operands, window, quantities, threads > 0 ? threads : thread_count());
  return {std::string(int8_kernels().name),
          convolution->workspace(),
          [convolution](const Call& call) { convolution->run(call); },
          {.isa = int8_kernels().isa}};
}

}  // namespace narrowgauge::cpu
