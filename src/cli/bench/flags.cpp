// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/flags.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/files/atomic_file.h"
#include "cli/task/settings.h"

namespace narrowgauge::cli {

void require_writable_file(const std::string& path) {
  require<DataError>(!std::filesystem::is_directory(path), path, ": is a folder, not a file");
  AtomicFile(path).write("");
}

NetworkChoice choose_one(const BenchFlags& flags, const std::string& name) {
  for (const std::string& model : flags.models) require_model(model);
  NetworkFlags own_flags = flags.network;
  own_flags.model = name;
  const InputKind own = model_facts(name).input;
  const bool alike = std::ranges::all_of(
      flags.models, [&](const auto& model) { return model_facts(model).input == own; });
  if (alike) return choose_network(own_flags);
  if (own == InputKind::images) {
    own_flags.sequence.reset();
    own_flags.head.reset();
  } else {
    own_flags.image.reset();
  }
  return choose_network(own_flags);
}

std::vector<std::int64_t> batch_sizes(const BenchFlags& flags) {
  std::vector<std::int64_t> sizes;
  for (const std::string& text : flags.batches)
    for (const double size : parse_numbers("--batch", text)) {
      require(size >= 1 && size <= most_samples && size == std::floor(size),
              "--batch: expected whole numbers from 1 to ", most_samples, ", got ", text);
      sizes.push_back(static_cast<std::int64_t>(size));
    }
  return sizes;
}

}  // namespace narrowgauge::cli
