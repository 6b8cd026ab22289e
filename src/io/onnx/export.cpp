// SPDX-License-Identifier: Apache-2.0
#include "io/onnx/export.h"

#include "io/onnx/export/expressible.h"
#include "io/onnx/export/graph_export.h"
#include "narrowgauge/version.h"

namespace narrowgauge::onnx {

Model export_graph(const narrowgauge::Graph& graph, const std::map<std::string, Tensor>& states) {
  const narrowgauge::Graph plain = expressible(graph);
  ModelExport shared{states};
  Model model;
  model.graph = GraphExport(shared, plain).run();
  OpsetImport& opset = model.opset_imports.emplace_back();
  opset.version = shared.opset;
  model.ir_version = ir_version_for(shared.opset);
  model.producer_name = "narrowgauge";
  model.producer_version = NARROWGAUGE_VERSION;
  return model;
}

}  // namespace narrowgauge::onnx
