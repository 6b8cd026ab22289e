// SPDX-License-Identifier: Apache-2.0
// What a Model holds, shared with its Trainer.
#pragma once

#include <variant>

#include "api/model/engine_cache.h"
#include "api/programs/open_shapes.h"
#include "api/programs/program.h"
#include "base/threads/fair_shared_mutex.h"
#include "base/threads/parallel.h"
#include "io/onnx/model.h"
#include "narrowgauge/model.h"
#include "narrowgauge/safetensors.h"
#include "precision/apply.h"

namespace narrowgauge {

inline bool is_saved(Role role) { return role == Role::parameter || role == Role::statistic; }

// The way to the inside of a Model, for the parts of the library that share it.
struct ModelAccess {
  static Model::Implementation& of(Model& model) { return *model.implementation_; }
  static const Model::Implementation& of(const Model& model) { return *model.implementation_; }
  static std::shared_ptr<Model::Implementation> shared(const Model& model) {
    return model.implementation_.pointer();
  }
  // The same model once more, for a holder of its own.
  static Model share(const Model& model) { return Model(shared(model)); }
  // The model of a file that was read; `path` is its name in messages.
  static Model from_onnx(const std::string& path, onnx::Model read, const KnownInputs& known = {},
                         const OnnxTraining& training = {});
};

struct Model::Implementation {
  std::string name;
  BuildNetwork build;
  std::uint64_t seed = 1;
  std::vector<ModelPort> inputs, outputs;  // of the evaluation graph
  // Guards the members below: shared to read, alone to change. What it calls must not lock it
  // again.
  mutable FairSharedMutex in_use;
  StateStore store;
  // How evaluation computes: as set_precision() asked, or as the latest Trainer trains.
  using Precision = std::variant<PrecisionRequest, PrecisionPlan>;
  Precision precision;
  bool precision_of_file = false;                    // it came with the weights that were loaded
  int precisions = 0;                                // set so far
  int trainers = 0;                                  // made so far
  std::map<std::string, std::weak_ptr<void>> steps;  // that train it, by name
  std::string run_of_steps;                          // what their checkpoints have in common
  std::shared_ptr<EngineCache> cache;                // of an engine in a file; mostly none
  std::shared_ptr<PlanMemory> plan_memory = std::make_shared<PlanMemory>();  // of all programs
  std::unique_ptr<Program> prediction;      // made on first use, again for another precision
  std::unique_ptr<OpenShapes> open_shapes;  // where `build` cannot tell the shapes

  // Sets the precision, and brings the weights into f64 or back where that is asked for.
  void set_precision(Precision wanted);
  // Whether it names nodes: all by a plan, or some by overrides.
  bool has_precision_of_nodes() const;
  // Sets the precision where the weights are in the format already.
  void adopt(Precision wanted) noexcept;
  // The same for what a file of weights says; nothing: they compute as before.
  void adopt_of_file(std::optional<Precision> wanted) noexcept;
  static bool is_in_f64(const Precision& given);
  bool is_in_f64() const { return is_in_f64(precision); }
  Graph graph(Mode mode) const;
  // The graph that predicts for these inputs, also where `build` cannot tell the shapes.
  Graph graph_for(std::span<const NamedTensor> given) const;
  PrecisionPlan evaluation_plan(const Graph& evaluation_graph) const;
  // The graph in the formats of the evaluation plan, all parameters in f32.
  Graph with_masters(const Graph& evaluation_graph) const;
  // A program that computes such a graph in the model's precision, with the parameters as the store
  // keeps them.
  std::unique_ptr<Program> program(const Graph& evaluation_graph, CompileOptions options,
                                   std::uint64_t run_seed);
  OpenShapes::MakeProgram programs();  // that, for the shapes of a call
  Program& prediction_program();
  // Runs a program that changes no state: together with other threads if `known` returns it and it
  // is compiled, else alone, after `made` made it.
  std::vector<Tensor> run(FunctionRef<Program*()> known, FunctionRef<Program&()> made,
                          std::span<const Tensor> given);
  // Runs a program in this way, where `use` runs the executor.
  void run(FunctionRef<Program*()> known, FunctionRef<Program&()> made,
           std::span<const Tensor> given, FunctionRef<void(Executor&)> use);
  // The part that predicts for inputs by name, called with the model to itself.
  OpenShapes::Answering answering(std::span<const NamedTensor> given);
  // All outputs, for inputs in the order of the evaluation graph.
  std::vector<Tensor> predict(std::span<const Tensor> given);
  void predict(std::span<const Tensor> given, FunctionRef<void(Executor&)> use);
  std::vector<std::string> state_names() const;
  std::string sha256() const;
};

// The graph of a network with all of its outputs.
Graph network_graph(const std::string& name, const BuildNetwork& build, Mode mode);

// The inputs and outputs of a graph, in its order.
std::vector<ModelPort> input_ports(const Graph& graph);
std::vector<ModelPort> output_ports(const Graph& graph);
// Throws UsageError unless each name is an input, or an element of one, and none is missing.
void require_inputs(const std::vector<ModelPort>& ports, std::span<const NamedTensor> given);

// Parameters and statistics as model.safetensors holds them, with the precision plan of predictions
// unless they are in plain f32.
TensorFile weights_of(const Model::Implementation& model);
// The weights that a model takes of such a file.
struct FittingWeights {
  std::vector<StateStore::NewValue> values;  // in the model's formats
  LoadReport report;
  // How predictions are to compute from then on; nothing: as before.
  std::optional<Model::Implementation::Precision> precision;
};
// Throws DataError. `path` is the file's name in messages.
FittingWeights fitting_weights(const Model::Implementation& model, const TensorFile& file,
                               const std::string& path, const LoadOptions& options);
// Takes all of them or, where it throws, none.
LoadReport take_weights(Model::Implementation& model, FittingWeights weights);

}  // namespace narrowgauge
