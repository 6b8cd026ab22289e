// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/model.h"

#include "api/kernel_cache.h"
#include "api/model_implementation.h"
#include "base/sha256.h"
#include "narrowgauge/safetensors.h"
#include "precision/follow.h"

namespace narrowgauge {

Graph Model::Implementation::graph(Mode mode) const {
  Network network(name, mode);
  network.graph().output("prediction", build(network));
  return std::move(network.graph());
}

Graph Model::Implementation::with_precision(const Graph& evaluation_graph) const {
  PrecisionPlan plan;
  if (const auto* trained = std::get_if<PrecisionPlan>(&precision))
    plan = follow(*trained, evaluation_graph);
  else if (const auto* request = std::get_if<MixedPrecision>(&precision))
    plan = colour_by_lists(evaluation_graph, {.request = *request});
  else
    plan = f32_plan(evaluation_graph);
  return apply(evaluation_graph, plan);
}

void Model::Implementation::set_precision(decltype(precision) wanted) {
  precision = std::move(wanted);
  ++precisions;
  prediction.reset();
}

Program& Model::Implementation::prediction_program() {
  if (!prediction) {
    CompileOptions options;
    options.kernels = kernel_cache();
    prediction =
        std::make_unique<Program>(with_precision(graph(Mode::evaluate)), options, store, seed);
  }
  return *prediction;
}

Model::Model(std::string name, BuildNetwork build, std::uint64_t seed)
    : implementation_(std::make_unique<Implementation>()) {
  implementation_->name = std::move(name);
  implementation_->build = std::move(build);
  implementation_->seed = seed;
  implementation_->store.add(implementation_->graph(Mode::evaluate), seed);
}

Model::~Model() = default;
Model::Model(Model&&) noexcept = default;

const std::string& Model::name() const { return implementation_->name; }
Graph Model::graph(Mode mode) const { return implementation_->graph(mode); }

Tensor Model::predict(const Tensor& input) { return predict(std::span(&input, 1)); }

Tensor Model::predict(std::span<const Tensor> inputs) {
  return implementation_->prediction_program().executor_for(inputs).run(inputs).at(0);
}

void Model::set_precision(std::optional<MixedPrecision> precision) {
  if (precision)
    implementation_->set_precision(*std::move(precision));
  else
    implementation_->set_precision(std::monostate{});
}

namespace {

bool is_saved(Role role) { return role == Role::parameter || role == Role::statistic; }

}  // namespace

std::vector<std::string> Model::state_names() const {
  std::vector<std::string> names;
  for (const auto& [state, entry] : implementation_->store.entries())
    if (is_saved(entry.role)) names.push_back(state);
  return names;
}

Tensor Model::state(std::string_view state) const {
  return implementation_->store.at(state).clone();
}

void Model::set_state(std::string_view state, const Tensor& value) {
  implementation_->store.set(state, value);
}

std::string Model::sha256() const {
  Sha256 hash;
  for (const std::string& state : state_names()) {
    const Tensor& value = implementation_->store.at(state);
    hash.update(std::as_bytes(std::span(state)));
    hash.update(std::span(value.data(), static_cast<std::size_t>(value.bytes())));
  }
  return hash.hex();
}

void Model::save(const std::string& path) const {
  TensorFile file;
  for (const std::string& state : state_names())
    file.tensors.push_back({state, implementation_->store.at(state)});
  file.metadata = {{"format", "narrowgauge"}, {"model", name()}};
  write_safetensors(path, file);
}

namespace {

// Files of other programs hold these beside the weights. torchvision's batch normalization counts
// its batches, which only a mean over all of them would need; Hugging Face's BERT once stored the
// numbers 0, 1, 2, ... of its positions.
bool is_no_weight(std::string_view name) {
  return name.ends_with(".num_batches_tracked") || name.ends_with(".position_ids");
}

}  // namespace

void load_weights(Model::Implementation& model, const std::string& path) {
  TensorFile file = read_safetensors(path);
  std::erase_if(file.tensors, [&](const NamedTensor& tensor) {
    return is_no_weight(tensor.name) && !model.store.has(tensor.name);
  });
  std::size_t wanted = 0;
  for (const auto& [name, entry] : model.store.entries()) {
    if (!is_saved(entry.role)) continue;
    ++wanted;
    const Tensor* value = file.find(name);
    require<DataError>(value, path, ": has no '", name, "', which model '", model.name, "' needs");
    require<DataError>(value->type() == entry.value.type(), path, ": '", name, "' is ",
                       value->type(), ", model '", model.name, "' needs ", entry.value.type());
  }
  for (const NamedTensor& tensor : file.tensors) {
    const auto known = model.store.entries().find(tensor.name);
    require<DataError>(known != model.store.entries().end() && is_saved(known->second.role), path,
                       ": has '", tensor.name, "', which model '", model.name, "' does not");
  }
  require<DataError>(file.tensors.size() == wanted, path, ": holds ", file.tensors.size(),
                     " tensors, model '", model.name, "' has ", wanted);
  for (const NamedTensor& tensor : file.tensors) model.store.set(tensor.name, tensor.tensor);
}

void Model::load(const std::string& path) { load_weights(*implementation_, path); }

}  // namespace narrowgauge
