// SPDX-License-Identifier: Apache-2.0
// Offers of kernels that a program brings along are checked before anybody relies on them.
#pragma once

#include "narrowgauge/kernel.h"

namespace narrowgauge {

// Of an offer that is ready: it runs something or gives every output the memory of an input of the
// same size, and all ports that it names exist. UsageError naming node, op and kernel. Built-in
// kernels are not checked: tests run them all.
void check_offer(const Request& request, const Offer& offer);

}  // namespace narrowgauge
