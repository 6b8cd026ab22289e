// SPDX-License-Identifier: Apache-2.0
// What another training left in the folder of a run, and its way out of there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "narrowgauge/checkpoint.h"

namespace narrowgauge {

class OtherRuns {
 public:
  // The run of a checkpoint by its number; "" of a damaged one.
  using RunOf = std::function<std::string(std::int64_t number)>;
  // Notes which files lie beside the checkpoints: the training that begins writes others.
  explicit OtherRuns(std::string run);

  // Moves all that is not of the run of `content`, whose checkpoint is on disk already, into a
  // folder beside this one, RUN.1 or the next number that is free, or within it where that cannot
  // be made. Returns that folder; "" where there was no other run. A run in the earlier form is
  // that of `content` where content.path says that it goes on with it. Throws DataError.
  std::string set_aside(const Checkpoint& content, const RunOf& run_of) const;

 private:
  struct Found {
    std::string name;
    std::filesystem::file_time_type written;
  };
  std::vector<std::string> files_of_others(const Checkpoint& content) const;

  std::string path_;
  std::vector<Found> found_;
};

}  // namespace narrowgauge
