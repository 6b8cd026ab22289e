// SPDX-License-Identifier: Apache-2.0
#include "ops/relayout.h"

#include "ops/reference.h"
#include "ops/strip_program.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

// An elementwise program without instructions: loads in the order of the result, stores.
Offer offer_strips(const Request& request) {
  StripProgram program;
  program.input_count = 1;
  program.outputs = {0};
  return offer_strip_program(request, std::move(program));
}

Offer offer_reference(const Request& request) {
  return reference_offer(request, [](const auto& in, const auto& out, const KernelCall&) {
    for (std::int64_t i = 0; i < out[0].size(); ++i) out[0].copy(i, in[0], i);
  });
}

constexpr Kernel kernel_list[] = {{"strips", offer_strips}, {"reference", offer_reference}};

}  // namespace

std::span<const Kernel> Relayout::kernels() { return kernel_list; }

}  // namespace narrowgauge

NG_OPS(relayout, narrowgauge::Relayout)
