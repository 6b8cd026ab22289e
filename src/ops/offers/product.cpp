// SPDX-License-Identifier: Apache-2.0
#include "ops/offers/product.h"

#include "ir/reason.h"
#include "kernels/cpu/contraction/row_product.h"
#include "kernels/cpu/core/workspace.h"
#include "kernels/cpu/floats/float_product.h"
#include "kernels/cpu/pairs/pair_products.h"
#include "kernels/cpu/tiles/tile_gemm.h"
#include "ops/offers/contraction.h"
#include "ops/offers/pairs.h"
#include "ops/offers/tf32.h"

namespace narrowgauge {

namespace {

using PrepareProduct = cpu::Prepared (*)(const cpu::MatMulViews&, const cpu::ContractionOptions&);

Offer offer_plain(const ProductRequest& request, PrepareProduct prepare, std::string reason) {
  if (!reason.empty()) return Offer::decline(std::move(reason));
  cpu::ContractionOptions options = contraction_options(request.request);
  options.lasting = lasting_inputs(request.request, request.inputs);
  return offer_prepared(
      [prepare, views = request.views, options] { return prepare(views, options); },
      request.inputs);
}

template <cpu::PairFormat format>
Offer offer_product_pairs(const ProductRequest& request) {
  return offer_plain(
      request,
      [](const cpu::MatMulViews& views, const cpu::ContractionOptions& options) {
        return prepare_pair_matmul(format, views, options);
      },
      first_reason(
          [&] { return request.scaled; }, [&] { return pair_reason(format, request.request); },
          [&] { return pair_matmul_reason(format, request.views, request.request.target.isa); }));
}

}  // namespace

Offer product_on_tiles(const ProductRequest& request) {
  return offer_plain(
      request,
      [](const cpu::MatMulViews& views, const cpu::ContractionOptions& options) {
        return cpu::prepare_tile_gemm(views, options);
      },
      first_reason([&] { return request.scaled; },
                   [&] { return contraction_reason(Way::tiles, request.request); },
                   [&] { return tile_gemm_reason(request.views, request.request.target.isa); }));
}

Offer product_in_pairs(const ProductRequest& request) {
  return offer_product_pairs<cpu::PairFormat::bf16>(request);
}
Offer product_in_dfp16(const ProductRequest& request) {
  return offer_product_pairs<cpu::PairFormat::dfp16>(request);
}

Offer product_of_rows(const ProductRequest& request) {
  return offer_plain(
      request,
      [](const cpu::MatMulViews& views, const cpu::ContractionOptions&) {
        return cpu::prepare_row_product(views);
      },
      first_reason([&] { return request.scaled; },
                   [&] { return contraction_reason(Way::exact, request.request); },
                   [&] { return row_product_reason(request.views); }));
}

Offer product_in_panels(const ProductRequest& request) {
  return offer_plain(request, cpu::prepare_float_product,
                     first_reason([&] { return request.scaled; },
                                  [&] { return contraction_reason(Way::exact, request.request); },
                                  [&] {
                                    return float_product_reason(
                                        request.views,
                                        lasting_inputs(request.request, request.inputs),
                                        request.request.target.isa);
                                  }));
}

Offer product_in_onednn(const ProductRequest& request) {
  return offer_plain(request, cpu::prepare_matmul,
                     first_reason([&] { return request.scaled; },
                                  [&] { return contraction_reason(Way::exact, request.request); }));
}

Offer scaled_product_in_onednn(const ProductRequest& request) {
  std::string reason = contraction_reason(Way::exact, request.request);
  if (!request.epilogue) reason = "nothing to scale";
  if (!reason.empty()) return Offer::decline(std::move(reason));
  cpu::MatMulViews views = request.views;
  views.bias.reset();
  views.y = cpu::dense_view(views.y.dtype == DType::f64 ? DType::f64 : DType::f32, views.y.dims);
  Offer offer;
  offer.prepare = [views, epilogue = *request.epilogue,
                   options = contraction_options(request.request)](Offer& ready) {
    const cpu::Prepared product = prepare_matmul(views, options);
    cpu::Workspace workspace;
    const auto sums = workspace.add<double>(element_count(views.y.dims));
    const auto own = workspace.add_bytes(product.workspace);
    describe(ready, product);
    ready.implementation += ", scaled";
    ready.workspace = workspace.bytes();
    ready.run = [=, run = product.run](const KernelCall& call) {
      void* const results = sums.in(call.workspace);
      const void* const sources[] = {call.inputs[0].data, call.inputs[1].data};
      run({sources, &results, own.in(call.workspace), nullptr});
      const void* const c = call.inputs.size() > 2 ? call.inputs[2].data : nullptr;
      cpu::gemm_epilogue(epilogue, results, c, call.outputs[0].data, call.flushed_at(0));
    };
  };
  return offer;
}

Offer product_in_tf32(const ProductRequest& request) { return offer_tf32(request.request); }

}  // namespace narrowgauge
