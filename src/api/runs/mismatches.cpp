// SPDX-License-Identifier: Apache-2.0
#include "api/runs/mismatches.h"

#include <charconv>

#include "api/runs/checkpoint_files.h"
#include "base/log.h"
#include "base/name_index.h"

namespace narrowgauge {

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

void Mismatches::compare(const std::string& key, const std::string& what,
                         const std::string& wanted) {
  const auto found = file_.metadata.find(key);
  const std::string there = found == file_.metadata.end() ? "" : found->second;
  if (there != wanted) add(concat(what, " is '", there, "', here '", wanted, "'"));
}

void Mismatches::compare_fingerprint(const std::string& key, const std::string& what,
                                     const std::string& wanted) {
  const auto found = file_.metadata.find(key);
  if (found == file_.metadata.end() || found->second != wanted) add(what);
}

void Mismatches::compare_states(const TensorFile& there, const std::vector<NamedTensor>& wanted) {
  std::size_t missing = 0;
  std::string first;
  const NameIndex index(there.tensors);
  for (const auto& [name, tensor] : wanted) {
    const NamedTensor* const found = index.find(name);
    if (found && found->tensor.type() == tensor.type()) continue;
    if (missing++ == 0) first = concat("it has no '", name, "' of type ", tensor.type());
  }
  if (missing > 1) first += concat(" and ", missing - 1, " more");
  if (missing > 0) add(first);
  const std::size_t known = wanted.size() - missing, all = there.tensors.size();
  if (all > known) add(concat("it holds ", all - known, " states that this training lacks"));
}

void Mismatches::refuse() const {
  require<DataError>(text_.empty(), path_, ": is of another training: ", text_);
}

std::optional<KernelRecords> kernels_in(const Checkpoint& checkpoint) {
  const auto file = checkpoint.files.find(kernels_file);
  if (file == checkpoint.files.end()) return std::nullopt;
  try {
    return parse_kernel_records(file->second, path_in(checkpoint.path, kernels_file), "any");
  } catch (const DataError& error) {
    log(LogLevel::warning, concat(error.what(), "; the fastest kernels are chosen anew"));
    return std::nullopt;
  }
}

void check_files(const std::map<std::string, std::string>& files) {
  for (const auto& [name, text] : files) {
    const bool taken = name == model_file || name == state_file || name == manifest_file ||
                       name == plan_file || name == kernels_file;
    require(!name.empty() && name[0] != '.' && name.find('/') == std::string::npos && !taken,
            "checkpoint: \"", name, "\" cannot be the name of a file kept with it");
  }
}

}  // namespace narrowgauge
