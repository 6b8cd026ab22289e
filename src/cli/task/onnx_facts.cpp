// SPDX-License-Identifier: Apache-2.0
#include "cli/task/onnx_facts.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/common/json.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "narrowgauge/onnx_info.h"

namespace narrowgauge::cli {

namespace {

std::string type_text(const ModelPort& port) {
  return port.type ? concat(*port.type) : "known when it runs";
}

std::string opsets_text(const OnnxInfo& info) {
  std::string text;
  for (const auto& [domain, version] : info.opsets)
    text += concat(text.empty() ? "" : ", ", domain.empty() ? "opset" : domain, ' ', version);
  return text;
}

std::vector<JsonObject> ports_json(const std::vector<ModelPort>& ports) {
  std::vector<JsonObject> list;
  for (const ModelPort& port : ports) {
    list.emplace_back();
    list.back().add("name", port.name).add("type", type_text(port));
  }
  return list;
}

void print_json(const std::string& path, const OnnxInfo& info) {
  std::vector<JsonObject> ops;
  for (const OnnxOpCount& op : info.ops) {
    ops.emplace_back();
    ops.back().add("op", op.op).add("nodes", op.nodes).add("known", op.known);
    ops.back().add("gradient", op.differentiable);
  }
  JsonObject json;
  json.add("model", path).add("producer", info.producer).add("ir_version", info.ir_version);
  json.add("opsets", opsets_text(info)).add("inputs", ports_json(info.inputs));
  json.add("outputs", ports_json(info.outputs)).add("parameters", info.parameters);
  json.add("initializer_bytes", info.bytes).add("ops", ops);
  if (info.costs) json.add("macs", info.costs->macs);
  if (!info.reason.empty()) json.add("reason", info.reason);
  print(json.line());
}

void print_onnx_table(const std::string& path, const OnnxInfo& info) {
  const std::string maker = info.producer.empty() ? "" : concat(", by ", info.producer);
  print_text(concat(path, ": ", opsets_text(info), maker, '\n'));
  TextTable ports({words(""), folding("name", 12), folding("type", 16)});
  for (const ModelPort& port : info.inputs) ports.add({"input", port.name, type_text(port)});
  for (const ModelPort& port : info.outputs) ports.add({"output", port.name, type_text(port)});
  print(ports.text(output_width()) + '\n');
  TextTable ops({folding("op", 16), numbers("nodes"), words("computed"), words("gradient")});
  for (const OnnxOpCount& op : info.ops)
    ops.add({op.op, grouped(op.nodes), op.known ? "yes" : "no", op.differentiable ? "yes" : "no"});
  print(ops.text(output_width()) + '\n');
  print_text(concat(grouped(info.parameters), " parameters, ", bytes_text(info.bytes), '\n'));
  if (info.costs)
    print_text(
        concat(grouped(std::llround(info.costs->macs)), " multiply-adds; open sizes count as 1\n"));
  else
    print_text(concat("not counted: ", info.reason, '\n'));
}

}  // namespace

void print_onnx_info(const std::string& path, const KnownInputs& known, bool json) {
  const OnnxInfo info = onnx_info(path, known);
  if (json)
    print_json(path, info);
  else
    print_onnx_table(path, info);
}

}  // namespace narrowgauge::cli
