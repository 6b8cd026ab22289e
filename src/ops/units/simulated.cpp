// SPDX-License-Identifier: Apache-2.0
#include "ops/units/simulated.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "base/threads/parallel.h"
#include "ops/units/unit_choice.h"
#include "ops/units/unit_operand.h"
#include "units/product.h"

namespace narrowgauge {

namespace {

constexpr std::int64_t block_elements = 1 << 20;  // of a left operand made at once

std::int64_t rows_at_once(const ProductLines& a) {
  constexpr std::int64_t least = 64;
  return std::max(least, block_elements / std::max<std::int64_t>(a.depth(), 1));
}

void multiply_by(float* sums, std::int64_t count, float factor) {
  parallel_for(count, 16384, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) sums[i] *= factor;
  });
}

// A product with its memory: the sums, then the right operand, then rows of the left operand.
class Simulation {
 public:
  Simulation(const UnitModel& model, const Request& request, SimulatedProduct product)
      : model_(model),
        product_(std::move(product)),
        rows_(product_.a.lines()),
        columns_(product_.b.lines()),
        depth_(product_.a.depth()),
        at_once_(rows_at_once(product_.a)),
        a_(product_.a, request.inputs[0], model.operand, at_once_),
        b_(product_.b, request.inputs[1], model.operand, columns_) {
    NG_INVARIANT(product_.b.depth() == depth_);
    const std::int64_t count = static_cast<std::int64_t>(product_.batches.size()) * batch_size();
    b_at_ = (count * element_bytes() + 63) / 64 * 64;
    a_at_ = b_at_ + b_.bytes();
  }

  std::int64_t workspace() const { return a_at_ + a_.bytes(); }

  void run(const KernelCall& call) const {
    if (batch_size() == 0 || depth_ == 0) {
      std::fill_n(call.workspace, b_at_, std::byte{});
      return product_.finish(call, call.workspace);
    }
    const void* const a = call.inputs[0].data;
    const void* const b = call.inputs[1].data;
    const UnitOperand::Scale a_scale = a_.scale_of(a, call.workspace + a_at_);
    const UnitOperand::Scale b_scale = b_.scale_of(b, call.workspace + b_at_);
    const float factor = a_scale.factor * b_scale.factor;
    std::optional<sim::PackedColumns> packed;
    for (std::size_t i = 0; i < product_.batches.size(); ++i) {
      const SimulatedProduct::Batch& batch = product_.batches[i];
      if (i == 0 || batch.b != product_.batches[i - 1].b)
        packed.emplace(model_, columns_, depth_,
                       b_.make(b, batch.b, b_scale, 0, columns_, call.workspace + b_at_));
      std::byte* const sums =
          call.workspace + static_cast<std::int64_t>(i) * batch_size() * element_bytes();
      multiply_rows(call, {a, batch.a, a_scale}, *packed, sums);
      if (factor != 1) multiply_by(reinterpret_cast<float*>(sums), batch_size(), factor);
    }
    product_.finish(call, call.workspace);
  }

 private:
  std::int64_t batch_size() const { return rows_ * columns_; }
  std::int64_t element_bytes() const { return model_.result == UnitFormat::f64 ? 8 : 4; }

  struct Rows {
    const void* tensor;
    std::int64_t first;
    UnitOperand::Scale scale;
  };
  void multiply_rows(const KernelCall& call, const Rows& a, const sim::PackedColumns& packed,
                     std::byte* sums) const {
    for (std::int64_t begin = 0; begin < rows_; begin += at_once_) {
      const std::int64_t end = std::min(rows_, begin + at_once_);
      const sim::Elements lines =
          a_.make(a.tensor, a.first, a.scale, begin, end, call.workspace + a_at_);
      sim::multiply(model_, end - begin, lines, packed, {},
                    {sums + begin * columns_ * element_bytes(), columns_});
    }
  }

  const UnitModel& model_;
  SimulatedProduct product_;
  std::int64_t rows_, columns_, depth_, at_once_;
  UnitOperand a_, b_;
  std::int64_t b_at_ = 0, a_at_ = 0;
};

}  // namespace

std::string simulated_reason(const Request& request) {
  if (!is_simulated(request.math)) return concat("math ", request.math);
  if (!request.outputs[0].present) return "nobody reads the result";
  for (const auto operands : {request.inputs, request.outputs})
    for (const Operand& operand : operands) {
      if (!operand.present) continue;
      if (!(operand.storage.blocks.empty() && operand.storage.encoding.empty()))
        return concat("storage ", operand.storage);
      if (operand.dtype != request.outputs[0].dtype)
        return concat("operands of ", operand.dtype, " for results of ", request.outputs[0].dtype);
    }
  return {};
}

Offer offer_simulated(const Request& request, SimulatedProduct product) {
  const UnitModel& model = unit_model(request.math, request.outputs[0].dtype);
  const auto simulation = std::make_shared<const Simulation>(model, request, std::move(product));
  Offer offer;
  offer.implementation = concat("simulated ", name(model.unit), ' ', name(model.operand));
  offer.workspace = simulation->workspace();
  offer.run = [simulation](const KernelCall& call) { simulation->run(call); };
  return offer;
}

}  // namespace narrowgauge
