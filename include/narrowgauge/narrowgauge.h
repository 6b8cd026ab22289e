// SPDX-License-Identifier: Apache-2.0
// The whole public interface.
#pragma once

#include "narrowgauge/checkpoint.h"
#include "narrowgauge/data.h"
#include "narrowgauge/log.h"
#include "narrowgauge/model.h"
#include "narrowgauge/models.h"
#include "narrowgauge/network.h"
#include "narrowgauge/optimizer.h"
#include "narrowgauge/out_of_memory.h"
#include "narrowgauge/precision.h"
#include "narrowgauge/tf32.h"
