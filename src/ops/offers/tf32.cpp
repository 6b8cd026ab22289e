// SPDX-License-Identifier: Apache-2.0
#include "ops/offers/tf32.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "kernels/cpu/convert/tf32.h"
#include "kernels/cpu/core/strided_copy.h"
#include "kernels/cpu/core/workspace.h"
#include "narrowgauge/tf32.h"
#include "ops/composition/interpret.h"
#include "ops/offers/ways.h"

namespace narrowgauge {

namespace {

// An operand for a dense copy of the values, with the axes in the same order.
Operand packed(const Operand& operand) {
  Operand made = operand;
  made.strides = strides_of(operand.dims, operand.storage);
  made.constant = nullptr;  // not these values
  return made;
}

cpu::View view_of(const Operand& operand) { return {operand.dtype, operand.dims, operand.strides}; }

float* floats(const KernelCall& call, std::int64_t offset) {
  return reinterpret_cast<float*>(call.workspace + offset);
}

// One of the first two operands and the places of its parts.
struct Factor {
  Operand given, copy;
  std::int64_t count = 0, high = 0, low = 0;

  // The values densely: in place if they are dense, else as a copy in `high`.
  const float* gather(const KernelCall& call, std::size_t input) const {
    const float* const from = call.inputs[input].as<const float>();
    if (given.strides == copy.strides) return from;
    copy_strided(view_of(given), from, view_of(copy), floats(call, high));
    return floats(call, high);
  }
};

// Runs ieee's kernel of the same op on copies of the operands.
struct Product {
  Offer offer;

  Product(const Request& request, const std::array<Factor, 2>& factors, bool with_others) {
    std::vector<Operand> inputs(request.inputs.begin(), request.inputs.end());
    inputs[0] = factors[0].copy;
    inputs[1] = factors[1].copy;
    for (std::size_t i = 2; i < inputs.size(); ++i)
      if (!with_others) inputs[i] = {.present = false};
    // The copies are made in every run, and nobody packs for a kernel inside of another.
    for (Operand& input : inputs) input.lasts = false;
    const Operand y = packed(request.outputs[0]);
    const Request ieee{request.op,     request.attributes, inputs,       {&y, 1},
                       request.target, Math::ieee,         request.name, request.deterministic};
    offer = choose_kernel(ieee, false);
    NG_INVARIANT(offer.packing.bytes == 0);
  }

  // The call's own inputs hold what else the op adds; `others` says whether to add it.
  void run(const KernelCall& call, std::array<float*, 2> factors, float* result,
           std::int64_t workspace, bool others) const {
    std::array<View, 3> inputs{View{factors[0]}, View{factors[1]}, View{}};
    if (others && call.inputs.size() > 2) inputs[2] = call.inputs[2];
    const View output{result};
    offer.run({{inputs.data(), call.inputs.size()},
               {&output, 1},
               call.workspace + workspace,
               {},
               call.context});
  }
};

std::string reason_against(const Request& request) {
  std::string reason = way_reason(Way::tf32, request.math, request.inputs[0].dtype, request.target);
  if (!reason.empty()) return reason;
  NG_INVARIANT(request.inputs.size() <= 3 && request.outputs.size() == 1);
  if (!request.outputs[0].present) return "nobody reads the result";
  for (const auto operands : {request.inputs, request.outputs})
    for (const Operand& operand : operands) {
      if (!operand.present) continue;
      if (operand.dtype != DType::f32) return concat("math ", request.math, " of ", operand.dtype);
      if (!(operand.storage.blocks.empty() && operand.storage.encoding.empty()))
        return concat("storage ", operand.storage);
    }
  return {};
}

// The layout of the workspace; the ieee kernel's own part comes last.
struct Layout {
  std::array<Factor, 2> factors;
  bool strided_result = false;
  std::int64_t results = 0, count = 0, bytes = 0;  // results: one array behind the other
  std::int64_t each = 0;                           // bytes from one result to the next

  Layout(const Request& request, bool split) {
    cpu::Workspace arrays;
    for (std::size_t i = 0; i < 2; ++i) {
      Factor& factor = factors[i];
      factor.given = request.inputs[i];
      factor.copy = packed(factor.given);
      factor.count = element_count(factor.given.dims);
      factor.high = arrays.add<float>(factor.count).offset;
      if (split) factor.low = arrays.add<float>(factor.count).offset;
    }
    const Operand& y = request.outputs[0];
    strided_result = y.strides != packed(y).strides;
    count = element_count(y.dims);
    const int kept = (split ? 2 : 0) + (strided_result ? 1 : 0);
    results = arrays.bytes();
    for (int i = 0; i < kept; ++i) each = arrays.add<float>(count).offset;
    each = kept > 0 ? (arrays.bytes() - results) / kept : 0;
    bytes = arrays.bytes();
  }
  // The corrections come first, then the sums if y has strides.
  float* result(const KernelCall& call, int index) const {
    return floats(call, results + index * each);
  }
};

// Computes a dense y and copies it to its place.
template <class Compute>
void store(const Layout& layout, const Operand& y, int corrections, const KernelCall& call,
           const Compute& compute) {
  float* const target = call.outputs[0].as<float>();
  float* const sums = layout.strided_result ? layout.result(call, corrections) : target;
  compute(sums);
  if (layout.strided_result) copy_strided(view_of(packed(y)), sums, view_of(y), target);
}

Offer offer_rounded(const Request& request) {
  const Layout layout(request, false);
  const Product product(request, layout.factors, true);
  Offer offer;
  offer.implementation = concat("tf32 operands, ", product.offer.implementation);
  offer.facts = product.offer.facts;
  offer.workspace = layout.bytes + product.offer.workspace;
  offer.run = [layout, product, y = request.outputs[0]](const KernelCall& call) {
    std::array<float*, 2> factors{};
    for (std::size_t i = 0; i < 2; ++i) {
      const Factor& factor = layout.factors[i];
      factors[i] = floats(call, factor.high);
      cpu::round_to_tf32(factor.gather(call, i), factors[i], factor.count);
    }
    store(layout, y, 0, call,
          [&](float* sums) { product.run(call, factors, sums, layout.bytes, true); });
  };
  return offer;
}

Offer offer_split(const Request& request) {
  const Layout layout(request, true);
  const Product product(request, layout.factors, true), bare(request, layout.factors, false);
  Offer offer;
  offer.implementation = concat("3 products of tf32, ", product.offer.implementation);
  offer.facts = product.offer.facts;
  offer.workspace = layout.bytes + std::max(product.offer.workspace, bare.offer.workspace);
  offer.run = [layout, product, bare, y = request.outputs[0]](const KernelCall& call) {
    std::array<float*, 2> high{}, low{};
    for (std::size_t i = 0; i < 2; ++i) {
      const Factor& factor = layout.factors[i];
      high[i] = floats(call, factor.high);
      low[i] = floats(call, factor.low);
      cpu::split_tf32(factor.gather(call, i), high[i], low[i], factor.count);
    }
    float *const first = layout.result(call, 0), *const second = layout.result(call, 1);
    bare.run(call, {high[0], low[1]}, first, layout.bytes, false);
    bare.run(call, {low[0], high[1]}, second, layout.bytes, false);
    store(layout, y, 2, call, [&](float* sums) {
      product.run(call, high, sums, layout.bytes, true);
      cpu::add_corrections(first, second, sums, layout.count);
    });
  };
  return offer;
}

// A request that outlives the one it was made of.
class KeptRequest {
 public:
  explicit KeptRequest(const Request& request)
      : op_(request.op),
        attributes_(request.attributes),
        inputs_(request.inputs.begin(), request.inputs.end()),
        outputs_(request.outputs.begin(), request.outputs.end()),
        target_(request.target),
        math_(request.math),
        name_(request.name),
        deterministic_(request.deterministic) {}

  Request view() const {
    return {op_, attributes_, inputs_, outputs_, target_, math_, name_, deterministic_};
  }

 private:
  const OpRecord& op_;
  Attributes attributes_;
  std::vector<Operand> inputs_, outputs_;
  Target target_;
  Math math_;
  std::string name_;
  bool deterministic_;
};

}  // namespace

Offer offer_tf32(const Request& request) {
  std::string reason = reason_against(request);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  Offer offer;
  offer.prepare = [kept = std::make_shared<const KeptRequest>(request)](Offer& ready) {
    const Request again = kept->view();
    ready = again.math == Math::tf32 ? offer_rounded(again) : offer_split(again);
  };
  return offer;
}

}  // namespace narrowgauge
