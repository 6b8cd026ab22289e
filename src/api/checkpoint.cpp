// SPDX-License-Identifier: Apache-2.0
// A checkpoint is a folder: model.safetensors holds parameters and statistics, state.safetensors
// the rest of the state table, with the place in the data and the digest of the model file that it
// belongs to. The new state waits as state.safetensors.next while the model file is replaced, so
// that at every moment one of the two states belongs to the model file that is there. kernels.json
// says which kernels were chosen by measurement.
#include <charconv>
#include <filesystem>

#include "api/trainer_implementation.h"
#include "base/log.h"
#include "base/sha256.h"
#include "narrowgauge/safetensors.h"

namespace narrowgauge {

namespace {

constexpr const char* model_file = "model.safetensors";
constexpr const char* state_file = "state.safetensors";
constexpr const char* kernels_file = "kernels.json";
constexpr const char* next_state_file = "state.safetensors.next";

std::string path_in(const std::string& folder, const char* file) {
  return (std::filesystem::path(folder) / file).string();
}

std::int64_t number_in(const TensorFile& file, const std::string& path, const std::string& key) {
  const auto found = file.metadata.find(key);
  require<DataError>(found != file.metadata.end(), path, ": has no '", key,
                     "': not a checkpoint of narrowgauge");
  std::int64_t value = 0;
  const std::string& text = found->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  require<DataError>(error == std::errc{} && end == text.data() + text.size() && value >= 0, path,
                     ": '", key, "' is '", text, "', expected a number");
  return value;
}

void require_same(const TensorFile& file, const std::string& path, const std::string& key,
                  const std::string& wanted) {
  const auto found = file.metadata.find(key);
  require<DataError>(found != file.metadata.end() && found->second == wanted, path, ": is of ", key,
                     " '", found == file.metadata.end() ? "" : found->second, "', expected '",
                     wanted, "'");
}

std::string digest_of(const TensorFile& file) {
  Sha256 hash;
  for (const NamedTensor& entry : file.tensors) {
    hash.update(std::as_bytes(std::span(entry.name)));
    hash.update(std::span(entry.tensor.data(), static_cast<std::size_t>(entry.tensor.bytes())));
  }
  return hash.hex();
}

// The state at `path` if it is whole and belongs to weights of this digest.
std::optional<TensorFile> matching_state(const std::string& path, const std::string& digest) try {
  TensorFile file = read_safetensors(path);
  if (file.metadata["weights"] != digest) return std::nullopt;
  return file;
} catch (const DataError&) {
  return std::nullopt;
}

std::string digest_of_weights(const std::string& folder) {
  return digest_of(read_safetensors(path_in(folder, model_file)));
}

// The state that belongs to the model file.
TensorFile read_state(const std::string& folder) {
  const std::string path = path_in(folder, state_file);
  const std::string digest = digest_of_weights(folder);
  if (auto next = matching_state(path_in(folder, next_state_file), digest)) return *next;
  TensorFile file = read_safetensors(path);
  require_same(file, path, "weights", digest);
  return file;
}

bool is_in_place(const std::string& folder, const std::string& digest) try {
  return digest_of_weights(folder) == digest;
} catch (const DataError&) {
  return false;
}

bool is_trainers(Role role) { return role == Role::moment || role == Role::control; }

// Whoever goes on with a training computes it with the same kernels, where they are there.
void resume_kernels(KernelChoices& kernels, const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return;
  try {
    kernels.set_records(read_kernel_records(path, "any"));
  } catch (const DataError& error) {
    log(LogLevel::warning, concat(error.what(), "; the fastest kernels are chosen anew"));
  }
}

}  // namespace

void Trainer::save(const std::string& folder) const {
  const Implementation& self = *implementation_;
  const std::shared_lock reading(self.model->in_use);
  self.require_latest();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  require<DataError>(!error, folder, ": cannot be made: ", error.message());
  const TensorFile model = weights_of(*self.model);
  TensorFile state;
  for (const auto& [name, entry] : self.model->store.entries())
    if (is_trainers(entry.role)) state.tensors.push_back({name, entry.value});
  state.metadata = {{"format", "narrowgauge"},
                    {"model", self.model->name},
                    {"graph", self.plan.model},
                    {"precision", concat(self.plan.narrow)},
                    {"steps", concat(self.steps)},
                    {"epoch", concat(self.position.epoch)},
                    {"batch", concat(self.position.batch)},
                    {"batch_size", concat(self.fit_batch)},
                    {"seed", concat(self.options.seed)},
                    {"weights", digest_of(model)}};
  if (!self.kernels.records().empty())
    write_kernel_records(path_in(folder, kernels_file), "any", self.kernels.records());
  const std::string next = path_in(folder, next_state_file);
  write_safetensors(next, state);
  try {
    write_safetensors(path_in(folder, model_file), model);
  } catch (...) {
    // The new weights may be there all the same, if only the folder could not be brought to disk.
    if (!is_in_place(folder, state.metadata["weights"])) std::filesystem::remove(next, error);
    throw;
  }
  std::filesystem::rename(next, path_in(folder, state_file), error);
  require<DataError>(!error, next, ": cannot be renamed: ", error.message());
}

void Trainer::resume(const std::string& folder) {
  Implementation& self = *implementation_;
  const std::lock_guard alone(self.model->in_use);
  self.require_latest();
  const std::string path = path_in(folder, state_file);
  const TensorFile file = read_state(folder);
  require_same(file, path, "model", self.model->name);
  require_same(file, path, "graph", self.plan.model);
  require_same(file, path, "precision", concat(self.plan.narrow));
  require_same(file, path, "seed", concat(self.options.seed));
  StateStore& store = self.model->store;
  std::size_t wanted = 0;
  for (const auto& [name, entry] : store.entries()) {
    if (!is_trainers(entry.role)) continue;
    ++wanted;
    const Tensor* value = file.find(name);
    require<DataError>(value && value->type() == entry.value.type(), path, ": has no '", name,
                       "' of type ", entry.value.type());
  }
  require<DataError>(wanted == file.tensors.size(), path, ": holds ", file.tensors.size(),
                     " tensors, this trainer has ", wanted);
  const std::int64_t steps = number_in(file, path, "steps");
  const BatchPosition position{number_in(file, path, "epoch"), number_in(file, path, "batch")};
  const std::int64_t fit_batch = number_in(file, path, "batch_size");
  const std::string weights = path_in(folder, model_file);
  take_weights(*self.model, read_safetensors(weights), weights, {.only_finite = true});
  resume_kernels(self.kernels, path_in(folder, kernels_file));
  for (const NamedTensor& tensor : file.tensors) store.set(tensor.name, tensor.tensor);
  self.steps = static_cast<std::uint64_t>(steps);
  self.position = position;
  self.fit_batch = fit_batch;
}

std::int64_t Trainer::epochs_done() const { return implementation_->position.epoch; }

}  // namespace narrowgauge
