// SPDX-License-Identifier: Apache-2.0
// Offers of kernels that a program brings along are checked before anybody relies on them.
#pragma once

#include "narrowgauge/kernel.h"

namespace narrowgauge {

// Checks an offer that is ready: it must run something or give every output the memory of an input
// of the same size, and all ports that it names must exist. Throws UsageError naming node, op and
// kernel. Built-in kernels are not checked: tests run them all.
void check_offer(const Request& request, const Offer& offer);

}  // namespace narrowgauge
