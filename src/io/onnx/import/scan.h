// SPDX-License-Identifier: Apache-2.0
// ONNX's Scan along any axes as an op that scans along axis 0.
#pragma once

#include "io/onnx/import/node_import.h"

namespace narrowgauge::onnx {

Items scan(NodeImport& node);
// The items one after another along a new axis 0. ModelError where there is none, or one is no
// tensor.
Item stack(NodeImport& node, const Items& items);

}  // namespace narrowgauge::onnx
