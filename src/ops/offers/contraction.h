// SPDX-License-Identifier: Apache-2.0
// What offers of contractions share: views of operands, reasons to decline, the offer.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "kernels/cpu/contraction/contraction.h"
#include "narrowgauge/kernel.h"
#include "ops/offers/ways.h"

namespace narrowgauge {

cpu::View kernel_view(const Operand& operand);

// Why the operands are not in plain storage, or nobody reads the result; "" if neither.
std::string storage_reason(const Request& request);
// The reason of way_reason() for the first input, or else that of storage_reason(); "" if neither
// has one.
std::string contraction_reason(Way way, const Request& request);
cpu::ContractionOptions contraction_options(const Request& request);
// The places of constants among a prepared kernel's inputs; `inputs` as offer_prepared() takes
// them.
std::vector<int> lasting_inputs(const Request& request, const std::vector<int>& inputs);

// Writes into an offer what its prepared kernel is and how much workspace it needs.
void describe(Offer& offer, const cpu::Prepared& prepared);

// What a prepared kernel packs, as the node's: its input i is the node's input ports[i].
Packing packing_of(cpu::Packed packed, const std::vector<int>& ports);

// Offers a prepared kernel: its input i is the node's input inputs[i], or null for -1; its output
// is the first output.
Offer offer_prepared(cpu::Prepared prepared, std::vector<int> inputs);
// Calls `prepare` when the kernel is chosen; the function must not refer to the request.
Offer offer_prepared(std::function<cpu::Prepared()> prepare, std::vector<int> inputs);

template <const auto& kernels, auto convert, std::size_t i>
Offer offer_converted(const Request& request) {
  return kernels[i].offer(convert(request));
}

// The kernels of an op that is a contraction: those of `kernels`, an array of entries with a name
// and an offer for what `convert` makes of a Request; then the op's reference.
template <const auto& kernels, auto convert, Offer (*reference)(const Request&)>
std::span<const Kernel> contraction_kernels() {
  static constexpr auto all = []<std::size_t... i>(std::index_sequence<i...>) {
    return std::array<Kernel, sizeof...(i) + 1>{
        Kernel{kernels[i].name, offer_converted<kernels, convert, i>}...,
        Kernel{"reference", reference}};
  }
  (std::make_index_sequence<std::size(kernels)>());
  return all;
}

}  // namespace narrowgauge
