// SPDX-License-Identifier: Apache-2.0
// Skips a test of kernels on tiles where they cannot run.
#pragma once

#include <gtest/gtest.h>

#include "base/machine/cpu.h"

#define NG_NEEDS_TILES() \
  if (isa() != Isa::amx) GTEST_SKIP() << "tiles need amx, this is " << name(isa())
