// SPDX-License-Identifier: Apache-2.0
#include "api/runs/other_runs.h"

#include <cstdint>

#include "api/runs/run_layout.h"
#include "base/files/atomic_folder.h"
#include "base/files/folder_content.h"
#include "narrowgauge/error.h"

namespace narrowgauge {
namespace {

namespace fs = std::filesystem;

bool is_network(const std::string& name) {
  return name.starts_with("network.") && name.ends_with(".onnx");
}

// What a run of the program has beside its checkpoints; event files lie in a folder of their own.
bool is_beside_checkpoints(const std::string& name) {
  return name == "metrics.csv" || name == "report.html" || is_network(name) ||
         name.find("/events.out.tfevents.") != std::string::npos;
}

// Files in a folder, and in the folders in it.
std::vector<std::string> names_below(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const std::string& name : names_in(folder)) {
    names.push_back(name);
    const fs::file_status status = fs::symlink_status(path_in(folder, name), ignored);
    if (!fs::is_directory(status)) continue;
    for (const std::string& inner : names_in(path_in(folder, name)))
      names.push_back(path_in(name, inner));
  }
  return names;
}

// The folder that another run in `run` moves to, made: beside it, or where that cannot be within
// it.
std::string folder_for_others(const std::string& run) {
  std::error_code error;
  fs::path place = fs::path(path_in(run, "")).parent_path();  // no slash at the end
  const std::string last = place.filename().string();
  // A link leads to another disk perhaps, and these names to other folders.
  if (is_link(place.string()) || last == "." || last == "..") place = fs::canonical(run, error);
  const auto next_free = [](const std::string& begin) {
    int number = 1;
    while (is_there(begin + std::to_string(number))) ++number;
    return begin + std::to_string(number);
  };
  const std::string beside = next_free(place.string() + '.');
  try {
    make_folders(beside);
    return beside;
  } catch (const DataError&) {
    const std::string within = next_free(path_in(run, "earlier."));
    make_folders(within);
    return within;
  }
}

// Moves what is in one folder into another on the same disk. A network stays too: both runs may be
// of the same one, and whoever knows the records removes it.
void move_between(const std::string& from, const std::string& to, const std::string& name) {
  std::error_code error;
  make_folders(fs::path(path_in(to, name)).parent_path().string());
  if (is_network(name)) {
    fs::create_hard_link(path_in(from, name), path_in(to, name), error);
    if (error) fs::copy_file(path_in(from, name), path_in(to, name), error);
  } else {
    fs::rename(path_in(from, name), path_in(to, name), error);
  }
  require<DataError>(!error, path_in(from, name), ": cannot be moved to ", to, " (",
                     error.message(), ')');
}

}  // namespace

OtherRuns::OtherRuns(std::string run) : path_(std::move(run)) {
  for (const std::string& name : names_below(path_)) {
    std::error_code error;
    const auto written = fs::last_write_time(path_in(path_, name), error);
    if (is_beside_checkpoints(name) && !error) found_.push_back({name, written});
  }
}

// Files of the earlier form that the run of `content` did not begin with, and what lies beside
// checkpoints and was not written since the folder was opened.
std::vector<std::string> OtherRuns::files_of_others(const Checkpoint& content) const {
  std::vector<std::string> names;
  std::error_code ignored;
  const bool goes_on = !content.path.empty() && fs::equivalent(content.path, path_, ignored);
  for (const char* file : earlier_form_files)
    if (const std::string path = path_in(path_, file);
        !goes_on && is_there(path) && !is_link(path) && !fs::is_directory(path, ignored))
      names.emplace_back(file);
  for (const Found& file : found_) {
    std::error_code error;
    const auto written = fs::last_write_time(path_in(path_, file.name), error);
    if (!error && written == file.written) names.push_back(file.name);
  }
  return names;
}

// The new checkpoint is on disk already: wherever this ends, the folder has a whole run.
std::string OtherRuns::set_aside(const Checkpoint& content, const RunOf& run_of) const {
  const std::string& run = content.state.metadata.at("run");
  const std::string checkpoints = path_in(path_, checkpoints_folder);
  std::vector<std::int64_t> others = numbers_in(path_);
  bool another = false;
  std::erase_if(others, [&](std::int64_t number) {
    const std::string owner = run_of(number);
    another |= !owner.empty() && owner != run;
    return owner == run;
  });
  const std::vector<std::string> files = files_of_others(content);
  const bool earlier_form = !files.empty() && !is_beside_checkpoints(files.front());
  if (!another && !earlier_form) return "";
  const std::string aside = folder_for_others(path_);
  for (const std::int64_t number : others)
    move_between(checkpoints, path_in(aside, checkpoints_folder), name_of_checkpoint(number));
  for (const std::string& file : files) move_between(path_, aside, file);
  sync_folder(aside);
  if (!others.empty()) sync_folder(path_in(aside, checkpoints_folder));
  sync_folder(checkpoints);
  sync_folder(path_);
  return aside;
}

}  // namespace narrowgauge
