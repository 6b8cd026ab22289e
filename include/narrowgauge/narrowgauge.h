// SPDX-License-Identifier: Apache-2.0
// The whole public interface.
#pragma once

#include "narrowgauge/bench.h"
#include "narrowgauge/checkpoint.h"
#include "narrowgauge/compare.h"
#include "narrowgauge/csv_log.h"
#include "narrowgauge/data.h"
#include "narrowgauge/event_file.h"
#include "narrowgauge/explain.h"
#include "narrowgauge/generate.h"
#include "narrowgauge/grad_scaler.h"
#include "narrowgauge/images.h"
#include "narrowgauge/language_models.h"
#include "narrowgauge/log.h"
#include "narrowgauge/losses.h"
#include "narrowgauge/model.h"
#include "narrowgauge/model_info.h"
#include "narrowgauge/models.h"
#include "narrowgauge/network.h"
#include "narrowgauge/onnx_info.h"
#include "narrowgauge/op.h"
#include "narrowgauge/ops.h"
#include "narrowgauge/optimizer.h"
#include "narrowgauge/out_of_memory.h"
#include "narrowgauge/precision.h"
#include "narrowgauge/precision_presets.h"
#include "narrowgauge/roofline.h"
#include "narrowgauge/step.h"
#include "narrowgauge/tables.h"
#include "narrowgauge/text_data.h"
#include "narrowgauge/tf32.h"
#include "narrowgauge/tokenizer.h"
#include "narrowgauge/trace.h"
#include "narrowgauge/training_log.h"

// The library. Functions stand with the header that declares them.
namespace narrowgauge {}
