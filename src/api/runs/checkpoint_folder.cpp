// SPDX-License-Identifier: Apache-2.0
#include "api/runs/checkpoint_folder.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "api/runs/checkpoint_files.h"
#include "api/runs/run_layout.h"
#include "base/files/atomic_file.h"
#include "base/files/atomic_folder.h"
#include "base/files/folder_content.h"
#include "base/files/output_path.h"
#include "base/log.h"

namespace narrowgauge {
namespace {

namespace fs = std::filesystem;

constexpr const char* latest_link = "latest";
constexpr const char* best_link = "best";

// Where a link leads; "" if the path is no link.
std::string link_target(const std::string& path) {
  std::error_code error;
  return fs::read_symlink(path, error).string();
}

// Matches temporary names of this version, ".run.json.5d41402abc4b.tmp", and of earlier ones,
// ".run.json.1234.0.tmp".
bool is_leftover(const std::string& name) {
  if (name == "plan.txt.part") return true;
  for (const char* file : {FolderLock::file_name, latest_link, best_link, model_file, state_file,
                           next_state_file, plan_file, "run.json", "metrics.csv", kernels_file}) {
    if (is_temporary_name(name, file)) return true;
    const std::string begin = concat('.', file, '.');
    if (!name.starts_with(begin) || !name.ends_with(".tmp")) continue;
    const std::string between = name.substr(begin.size(), name.size() - begin.size() - 4);
    if (!between.empty() && between.find_first_not_of("0123456789.") == std::string::npos)
      return true;
  }
  return false;
}

void remove_file(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(fs::symlink_status(path, ignored))) fs::remove(path, ignored);
}

// Makes the folder and tries to write there: better to fail before a training than after it.
const std::string& made_writable(const std::string& run) {
  require(!run.empty(), "checkpoints: expected a folder, got a path without a name");
  require(!is_there(path_in(run, manifest_file)), run,
          ": is a checkpoint, in which nothing is written; a run has a folder of its own");
  make_folders(run);
  const AtomicFile probe(path_in(run, FolderLock::file_name));
  return run;
}

}  // namespace

CheckpointFolder::CheckpointFolder(const std::string& run)
    : path_(run), made_(!is_there(run)), lock_(made_writable(run)), others_(run) {
  remove_leftovers();
  const auto numbers = numbers_in(path_);
  if (numbers.empty()) return;
  point_to(numbers.front());
  mark_best_of(numbers);
}

CheckpointFolder::~CheckpointFolder() try {
  if (!made_ || names_in(path_) != std::vector<std::string>{FolderLock::file_name}) return;
  std::error_code ignored;
  remove_file(path_in(path_, FolderLock::file_name));
  fs::remove(path_, ignored);
} catch (const std::exception&) {
  return;  // an empty folder stays where no memory is left to look at it
}

void CheckpointFolder::remove_leftovers() const {
  for (const std::string& name : names_in(path_))
    if (is_leftover(name)) remove_file(path_in(path_, name));
  const std::string folder = path_in(path_, checkpoints_folder);
  for (const std::string& name : names_in(folder)) {
    const std::string number = name.substr(name.empty() ? 0 : 1, name.find('.', 1) - 1);
    if (checkpoint_number(number) > 0 && is_temporary_name(name, number))
      remove_all(path_in(folder, name));
  }
}

std::string CheckpointFolder::add(const Checkpoint& content, std::int64_t keep) {
  make_folders(path_in(path_, checkpoints_folder));
  const auto numbers = numbers_in(path_);
  const std::int64_t number = numbers.empty() ? 1 : numbers.front() + 1;
  const std::string path = checkpoint_path(path_, number);
  write_checkpoint(path, content);
  if (const std::string aside =
          others_.set_aside(content, [&](std::int64_t each) { return run_of(each); });
      !aside.empty()) {
    const CheckpointFolder links(aside);
    log(LogLevel::warning, concat(path_, ": held an earlier run, which is kept as ", aside));
  }
  remove_earlier_form();
  point_to(number);
  remove_old(content.state.metadata.at("run"), keep);
  return path;
}

// Removes what is left of the earlier form: it is this run, and older than any checkpoint.
void CheckpointFolder::remove_earlier_form() const {
  for (const char* file : earlier_form_files)
    if (const std::string path = path_in(path_, file); !is_link(path)) remove_file(path);
}

// On a file system without links, or without room for one, the checkpoints still exist. Files of
// the earlier form stay: whose they are is known where a checkpoint is added.
void CheckpointFolder::point_to(std::int64_t newest) const {
  const std::string target = path_in(checkpoints_folder, name_of_checkpoint(newest));
  const std::string latest = path_in(path_, latest_link);
  // A folder here comes from a copy that followed the links.
  if (!is_link(latest) && is_there(path_in(latest, manifest_file))) remove_folder(latest);
  try {
    if (link_target(latest) != target) replace_by_link(latest, target);
    for (const std::string file : {model_file, plan_file, "run.json"}) {
      const std::string path = path_in(path_, file), wanted = path_in(latest_link, file);
      const bool is_file = is_there(path) && !is_link(path);
      if (!is_file && link_target(path) != wanted && is_there(path_in(latest, file)))
        replace_by_link(path, wanted);
    }
  } catch (const DataError&) {
    remove_file(latest);  // no link is better than one to a removed checkpoint
  }
  sync_folder(path_);
}

void CheckpointFolder::mark_best(const std::string& checkpoint) const {
  const std::string name = fs::path(checkpoint).filename().string();
  replace_by_link(path_in(path_, best_link), path_in(checkpoints_folder, name));
  sync_folder(path_);
}

std::string best_path(const std::string& run) {
  const std::string target = link_target(path_in(run, best_link));
  if (target.empty() || !is_there(path_in(path_in(run, target), manifest_file))) return "";
  return path_in(run, target);
}

// Each best checkpoint says so, and the newest of them is the best of all.
void CheckpointFolder::mark_best_of(const std::vector<std::int64_t>& numbers) const {
  const fs::path marked = link_target(path_in(path_, best_link));
  for (const std::int64_t number : numbers) {
    if (number <= checkpoint_number(marked.filename().string())) return;
    const std::string path = checkpoint_path(path_, number);
    if (is_best_checkpoint(path)) return mark_best(path);
  }
}

const std::string& CheckpointFolder::run_of(std::int64_t number) {
  const auto known = runs_.find(number);
  if (known != runs_.end()) return known->second;
  return runs_[number] = run_of_checkpoint(checkpoint_path(path_, number));
}

void CheckpointFolder::forget(std::int64_t number) {
  remove_folder(checkpoint_path(path_, number));
  runs_.erase(number);
}

bool CheckpointFolder::holds_run() const {
  return !numbers_in(path_).empty() || is_there(path_in(path_, model_file));
}

void CheckpointFolder::remove_old(const std::string& run, std::int64_t keep) {
  const std::string best = path_in(path_, best_link), best_target = link_target(best);
  std::int64_t kept = 0;
  for (const std::int64_t number : numbers_in(path_)) {
    const std::string& owner = run_of(number);  // "" of a damaged one
    const bool ours = kept == 0 || owner == run;
    if (!ours && !owner.empty()) continue;
    if (ours && kept < keep)
      ++kept;
    else if (!ours || best_target != path_in(checkpoints_folder, name_of_checkpoint(number)))
      forget(number);
  }
  std::error_code ignored;
  if (is_link(best) && !fs::exists(best, ignored)) remove_file(best);  // of another run
}

std::string run_folder_of(const std::string& path) {
  fs::path folder = fs::path(path_in(path, "")).parent_path();  // no slash at the end
  if (const std::string target = link_target(folder.string()); !target.empty())
    folder = folder.parent_path() / target;
  const bool checkpoint = checkpoint_number(folder.filename().string()) > 0 &&
                          folder.parent_path().filename() == checkpoints_folder &&
                          is_there(path_in(path, manifest_file));
  if (!checkpoint) return path;
  const std::string run = folder.parent_path().parent_path().string();
  return run.empty() ? "." : run;
}

namespace {

// The newest checkpoint; nothing if one was removed while it was read, so that there are newer
// ones.
std::optional<Checkpoint> read_newest(const std::string& run,
                                      const std::vector<std::int64_t>& numbers) {
  std::string damage;
  for (const std::int64_t number : numbers) {
    const std::string path = checkpoint_path(run, number);
    try {
      Checkpoint checkpoint = read_whole_checkpoint(path);
      if (!damage.empty())
        log(LogLevel::warning,
            concat(damage, "; ", path, " is used, of step ", step_of_checkpoint(path)));
      return checkpoint;
    } catch (const DataError& error) {
      if (!is_there(path)) return std::nullopt;
      if (damage.empty()) damage = error.what();
    }
  }
  throw DataError(concat(run, ": no checkpoint is whole: ", damage));
}

}  // namespace

Checkpoint read_checkpoint(const std::string& folder) {
  std::error_code ignored;
  require<DataError>(fs::is_directory(folder, ignored), folder, ": there is no such folder");
  if (is_there(path_in(folder, manifest_file))) return read_whole_checkpoint(folder);
  constexpr int most_tries = 1000;  // each sees a training that saved meanwhile
  for (int i = 0; i < most_tries; ++i) {
    const auto numbers = numbers_in(folder);
    if (numbers.empty()) break;
    if (auto checkpoint = read_newest(folder, numbers)) return *std::move(checkpoint);
  }
  require<DataError>(is_there(path_in(folder, model_file)), folder,
                     ": holds no checkpoint: it is no run folder, or its training saved none yet");
  return read_earlier_form(folder);
}

}  // namespace narrowgauge
