// SPDX-License-Identifier: Apache-2.0
// Writes a model's weights to a file and reads them back.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "api/model/model_implementation.h"
#include "base/log.h"
#include "base/name_index.h"
#include "narrowgauge/checkpoint.h"

namespace narrowgauge {

LoadMatch parse_load_match(std::string_view name) {
  if (name == "exact") return LoadMatch::exact;
  if (name == "shape") return LoadMatch::shape;
  throw UsageError(concat("load: unknown match '", name, "', expected exact or shape"));
}

namespace {

constexpr const char* precision_key = "precision";

// Makes predictions compute as those of the saved model did, unless a Trainer or set_precision()
// says how: then nothing.
std::optional<Model::Implementation::Precision> precision_in(const Model::Implementation& model,
                                                             const TensorFile& file,
                                                             const std::string& path) {
  const auto* request = std::get_if<PrecisionRequest>(&model.precision);
  const bool plain = request && *request == PrecisionRequest{};
  if (model.trainers > 0 || !(plain || model.precision_of_file)) return std::nullopt;
  const auto found = file.metadata.find(precision_key);
  if (found == file.metadata.end()) return PrecisionRequest{};
  try {
    return read_plan(found->second, model.graph(Mode::evaluate));
  } catch (const ModelError& error) {
    log(LogLevel::warning, concat(path, ": predictions are in f32, not as those of the model that ",
                                  "was saved: ", error.what()));
    return PrecisionRequest{};
  }
}

}  // namespace

TensorFile weights_of(const Model::Implementation& model) {
  TensorFile file;
  for (const std::string& state : model.state_names())
    file.tensors.push_back({state, model.store.declared(state)});
  file.metadata = {{"format", "narrowgauge"}, {"model", model.name}};
  const PrecisionPlan plan = model.evaluation_plan(model.graph(Mode::evaluate));
  if (plan.narrow != DType::f32 || plan.f32_math != Math::f32)
    file.metadata[precision_key] = print(plan);
  return file;
}

namespace {

// Files of other programs hold these beside the weights. torchvision's batch normalization counts
// its batches, which only a mean over all of them would need; Hugging Face's BERT once stored the
// position numbers 0, 1, 2, ....
bool is_no_weight(std::string_view name) {
  return name.ends_with(".num_batches_tracked") || name.ends_with(".position_ids");
}

bool fits_wanted(const Tensor& value, const TensorType& wanted, LoadMatch match) {
  if (value.type() == wanted) return true;
  const auto is_wide = [](DType dtype) { return dtype == DType::f32 || dtype == DType::f64; };
  const bool converts = match == LoadMatch::shape
                            ? is_floating(value.dtype()) && is_floating(wanted.dtype)
                            : is_wide(value.dtype()) && is_wide(wanted.dtype);
  return converts && value.type().shape == wanted.shape;
}

std::int64_t count_not_finite_numbers(const Tensor& value) {
  std::int64_t count = 0;
  if (value.dtype() == DType::f32) {
    for (const float number : value.values<float>()) count += !std::isfinite(number);
  } else {
    for (std::int64_t i = 0; i < value.size(); ++i) count += !std::isfinite(value.at(i));
  }
  return count;
}

// At most a few items: "12 (a, b, c, ...)".
template <class Item, class Text>
std::string some_of(const std::vector<Item>& items, const Text& text) {
  constexpr std::size_t most = 4;
  std::string out = concat(items.size(), " (");
  for (std::size_t i = 0; i < items.size() && i < most; ++i)
    out += concat(i == 0 ? "" : ", ", text(items[i]));
  return out + (items.size() > most ? ", ...)" : ")");
}

std::string quoted(const std::string& name) { return concat('\'', name, '\''); }

std::string not_finite_text(const LoadReport& report) {
  const LoadReport::NotFinite& first = report.not_finite.front();
  std::string text = concat(quoted(first.name), " holds ", first.count, " infinities or NaN among ",
                            first.size, " numbers");
  if (const std::size_t more = report.not_finite.size() - 1; more > 0)
    text +=
        concat(", and ", more, more == 1 ? " more tensor holds" : " more tensors hold", " some");
  return text;
}

std::string differences_text(const LoadReport& report) {
  std::vector<std::string> parts;
  if (!report.missing.empty()) parts.push_back("lacks " + some_of(report.missing, quoted));
  if (!report.extra.empty())
    parts.push_back("has " + some_of(report.extra, quoted) + " that the model does not have");
  if (!report.mismatched.empty())
    parts.push_back(
        "differs in " + some_of(report.mismatched, [](const LoadReport::Mismatch& each) {
          return concat(quoted(each.name), " is ", each.file, ", expected ", each.model);
        }));
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
  return text;
}

using Taken = std::vector<StateStore::NewValue>;

LoadReport compare_weights(const Model::Implementation& model, const TensorFile& file,
                           LoadMatch match, Taken& taken) {
  LoadReport report;
  const NameIndex there(file.tensors);
  for (const std::string& name : model.state_names()) {
    const NamedTensor* const found = there.find(name);
    const TensorType wanted = model.store.declared(name).type();
    if (!found) {
      report.missing.push_back(name);
    } else if (!fits_wanted(found->tensor, wanted, match)) {
      report.mismatched.push_back({name, wanted, found->tensor.type()});
    } else {
      taken.push_back({name, found->tensor.cast(wanted.dtype)});
      const Tensor& tensor = taken.back().value;
      if (const std::int64_t count = count_not_finite_numbers(tensor); count > 0)
        report.not_finite.push_back({name, count, tensor.size()});
    }
  }
  const auto& entries = model.store.entries();
  for (const NamedTensor& each : file.tensors) {
    const auto known = entries.find(each.name);
    const bool own = known != entries.end() && is_saved(known->second.role);
    if (!own && !is_no_weight(each.name)) report.extra.push_back(each.name);
  }
  std::sort(report.extra.begin(), report.extra.end());
  report.taken = std::ssize(taken);
  return report;
}

// Says what LoadMatch::shape would still load; "" if nothing.
std::string partial_text(const Model::Implementation& model, const TensorFile& file) {
  Taken taken;
  const std::int64_t count = compare_weights(model, file, LoadMatch::shape, taken).taken;
  if (count == 0) return "";
  return concat("; LoadMatch::shape (--weights-match shape) takes what fits, ", count, " of ",
                model.state_names().size());
}

}  // namespace

FittingWeights fitting_weights(const Model::Implementation& model, const TensorFile& file,
                               const std::string& path, const LoadOptions& options) {
  FittingWeights weights;
  LoadReport& report = weights.report;
  report = compare_weights(model, file, options.match, weights.values);
  const std::string differences = differences_text(report);
  const bool whole = differences.empty();
  require<DataError>(whole || (options.match == LoadMatch::shape && report.taken > 0), path,
                     ": does not fit model '", model.name, "', which has ",
                     model.state_names().size(), " tensors: it ", differences,
                     whole || options.match == LoadMatch::shape ? "" : partial_text(model, file));
  require<DataError>(report.not_finite.empty() || !options.only_finite, path, ": ",
                     report.not_finite.empty() ? "" : not_finite_text(report));
  weights.precision = precision_in(model, file, path);
  if (!report.not_finite.empty())
    log(LogLevel::warning, concat(path, ": ", not_finite_text(report)));
  return weights;
}

LoadReport take_weights(Model::Implementation& model, FittingWeights weights) {
  model.store.set(weights.values);
  model.adopt_of_file(std::move(weights.precision));
  return std::move(weights.report);
}

void Model::save(const std::string& path) const {
  const std::shared_lock reading(implementation_->in_use);
  write_safetensors(path, weights_of(*implementation_));
}

std::vector<std::byte> Model::save() const {
  const std::shared_lock reading(implementation_->in_use);
  return safetensors_bytes(weights_of(*implementation_));
}

LoadReport Model::load(std::span<const std::byte> bytes, const LoadOptions& options,
                       const std::string& name) {
  const TensorFile file = read_safetensors(bytes, name);
  const std::lock_guard alone(implementation_->in_use);
  return take_weights(*implementation_, fitting_weights(*implementation_, file, name, options));
}

LoadReport Model::load(const std::string& path, const LoadOptions& options) {
  std::error_code ignored;
  const bool run = std::filesystem::is_directory(path, ignored);
  const Checkpoint checkpoint =
      run ? read_checkpoint(path) : Checkpoint{path, read_safetensors(path), {}, {}};
  const std::lock_guard alone(implementation_->in_use);
  return take_weights(*implementation_, fitting_weights(*implementation_, checkpoint.model,
                                                        checkpoint.path, options));
}

}  // namespace narrowgauge
