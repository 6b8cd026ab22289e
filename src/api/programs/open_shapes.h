// SPDX-License-Identifier: Apache-2.0
// Models of ONNX whose shapes cannot be told by symbols: planned anew for each shape of the inputs,
// or, where shapes depend on values, computed node by node while the model is imported.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/programs/program.h"
#include "io/onnx/model.h"
#include "narrowgauge/named_tensor.h"

namespace narrowgauge {

class OpenShapes {
 public:
  // Makes a program of a graph, in the precision of the model.
  using MakeProgram = std::function<std::unique_ptr<Program>(const Graph&, CompileOptions)>;

  OpenShapes(std::shared_ptr<const onnx::Model> model, StateStore& store, std::uint64_t seed,
             std::shared_ptr<const PlanMemory> memory)
      : model_(std::move(model)), store_(store), seed_(seed), memory_(std::move(memory)) {}

  // Another one that predicts as this does, over another store.
  std::unique_ptr<OpenShapes> over(StateStore& store,
                                   std::shared_ptr<const PlanMemory> memory) const {
    return std::make_unique<OpenShapes>(model_, store, seed_, std::move(memory));
  }

  // The graph that predicts for inputs of these types. Throws UnknownValueError where the model is
  // computed node by node.
  Graph graph_for(std::span<const NamedTensor> inputs) const;

  // An executor for inputs of these shapes, with the inputs and the names of the outputs in the
  // order of its plan; none where the model is computed node by node.
  struct Answering {
    Program::Lease executor{};
    std::vector<Tensor> inputs{};
    std::vector<std::string> outputs{};
  };
  // May add to the store: nothing else may use it meanwhile.
  Answering answering(std::span<const NamedTensor> inputs, const MakeProgram& make_program);
  // All outputs. The same holds. Throws UsageError where nodes are planned one by one, and the
  // model is computed node by node, which follows no plan.
  std::vector<NamedTensor> run(std::span<const NamedTensor> inputs, const MakeProgram& make_program,
                               bool planned_by_node);
  void forget() { shaped_.clear(); }  // the plans, for another precision

 private:
  // The program for inputs of these types; none where values are needed.
  struct Shaped {
    std::map<std::string, TensorType> types;
    std::vector<std::string> inputs, outputs;  // names, in the order of the program
    std::unique_ptr<Program> program;
  };

  Graph graph_for(const std::map<std::string, TensorType>& types) const;
  Shaped& shaped_for(std::span<const NamedTensor> inputs, const MakeProgram& make_program);
  void drop_surplus();
  std::vector<NamedTensor> run_by_nodes(std::span<const NamedTensor> inputs) const;

  std::shared_ptr<const onnx::Model> model_;
  StateStore& store_;
  std::uint64_t seed_;
  std::shared_ptr<const PlanMemory> memory_;
  std::list<Shaped> shaped_;  // the latest first
};

}  // namespace narrowgauge
