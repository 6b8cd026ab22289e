// SPDX-License-Identifier: Apache-2.0
#include "io/onnx/export/export.h"

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
  for (const std::string& domain : shared.domains) {
    model.opset_imports.emplace_back().domain = domain;
    model.opset_imports.back().version = 1;
  }
  model.ir_version = ir_version_for(shared.opset);
  model.producer_name = "narrowgauge";
  model.producer_version = NARROWGAUGE_VERSION;
  return model;
}

}  // namespace narrowgauge::onnx
