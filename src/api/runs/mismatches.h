// SPDX-License-Identifier: Apache-2.0
// What trainings by a Trainer and by Steps have in common where they go on from a checkpoint.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/programs/kernel_cache.h"
#include "narrowgauge/checkpoint.h"

namespace narrowgauge {

// A whole number in the metadata of a file; throws DataError naming `path`.
std::int64_t number_in(const TensorFile& file, const std::string& path, const std::string& key);

// All in which a checkpoint is of another training, in one error.
class Mismatches {
 public:
  Mismatches(const TensorFile& file, std::string path) : file_(file), path_(std::move(path)) {}

  void compare(const std::string& key, const std::string& what, const std::string& wanted);
  // Fingerprints say nothing to people: these say what is another.
  void compare_fingerprint(const std::string& key, const std::string& what,
                           const std::string& wanted);
  // Compares the states of the file, or those that count, with the wanted ones.
  void compare_states(const TensorFile& there, const std::vector<NamedTensor>& wanted);
  void add(const std::string& difference) { text_ += (text_.empty() ? "" : "; ") + difference; }
  void refuse() const;  // throws DataError where there are any

 private:
  const TensorFile& file_;
  std::string path_, text_;
};

// A resumed training uses the same kernels, if this machine has them.
std::optional<KernelRecords> kernels_in(const Checkpoint& checkpoint);

// Throws UsageError for the name of a file that a program cannot keep with a checkpoint.
void check_files(const std::map<std::string, std::string>& files);

}  // namespace narrowgauge
