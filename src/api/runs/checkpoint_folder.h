// SPDX-License-Identifier: Apache-2.0
// The checkpoints of a run (include/narrowgauge/checkpoint.h has the layout): the one writer, its
// lock, and the cleaning up.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "api/runs/other_runs.h"
#include "base/files/folder_lock.h"
#include "narrowgauge/checkpoint.h"

namespace narrowgauge {

// The checkpoint to which RUN/best leads; "" where there is none.
std::string best_path(const std::string& run);

class CheckpointFolder {
 public:
  // Makes the folder, locks it and removes what an ended process left unfinished. Throws UsageError
  // naming the process that holds the lock, DataError where nothing can be written.
  explicit CheckpointFolder(const std::string& run);
  // Removes a folder that it made if nothing was written to it.
  ~CheckpointFolder();
  const std::string& path() const { return path_; }

  // Writes the next checkpoint and returns its path. Keeps the last `keep` of this run. What
  // another run left here moves to a folder of its own beside this one, RUN.1 or the next number
  // that is free, and a warning says so; of a run in the earlier form, content.path says whether
  // this one goes on with it. An error leaves everything as it was.
  std::string add(const Checkpoint& content, std::int64_t keep);
  bool holds_run() const;  // of whichever training
  // Lets RUN/best lead to this checkpoint, which add() wrote: it is kept until another is best. The
  // next to open the folder does so where the process ended before it could.
  void mark_best(const std::string& checkpoint) const;
  bool has_best() const { return !best_path(path_).empty(); }

 private:
  void remove_leftovers() const;
  void mark_best_of(const std::vector<std::int64_t>& numbers) const;
  void point_to(std::int64_t newest) const;
  void remove_old(const std::string& run, std::int64_t keep);
  const std::string& run_of(std::int64_t number);
  void forget(std::int64_t number);  // removes the checkpoint
  void remove_earlier_form() const;

  std::string path_;
  std::map<std::int64_t, std::string> runs_;  // of the checkpoints whose manifest was read
  bool made_ = false;
  FolderLock lock_;
  OtherRuns others_;
};

// RUN of RUN/checkpoints/000042, RUN/latest and RUN/best, else the path itself.
std::string run_folder_of(const std::string& path);

}  // namespace narrowgauge
