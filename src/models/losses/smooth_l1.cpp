// SPDX-License-Identifier: Apache-2.0
#include "models/losses/table.h"

namespace narrowgauge {

namespace {
Loss make_smooth_l1(LossArguments& arguments) { return smooth_l1(arguments.number("beta", 1)); }
}  // namespace

}  // namespace narrowgauge

NG_LOSS(smooth_l1, "smooth_l1", "huber with slope 1 at large differences", make_smooth_l1)
