// SPDX-License-Identifier: Apache-2.0
#include "api/checkpoint_folder.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <functional>
#include <optional>

#include "api/checkpoint_files.h"
#include "base/atomic_file.h"
#include "base/atomic_folder.h"
#include "base/log.h"
#include "base/output_path.h"

namespace narrowgauge {
namespace {

namespace fs = std::filesystem;

constexpr const char* checkpoints_folder = "checkpoints";
constexpr const char* latest_link = "latest";
constexpr const char* best_link = "best";

// The number of a checkpoint by its name; 0: not a checkpoint's name.
std::int64_t number_of(const std::string& name) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc{} && end == name.data() + name.size() ? number : 0;
}

std::string name_of(std::int64_t number) {
  constexpr std::size_t width = 6;
  const std::string digits = std::to_string(number);
  return std::string(width - std::min(width, digits.size()), '0') + digits;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    names.push_back(entry->path().filename().string());
  return names;
}

// The numbers of the checkpoints in a run, newest first.
std::vector<std::int64_t> numbers_in(const std::string& run) {
  std::vector<std::int64_t> numbers;
  for (const std::string& name : names_in(path_in(run, checkpoints_folder)))
    if (number_of(name) > 0) numbers.push_back(number_of(name));
  std::ranges::sort(numbers, std::greater{});
  return numbers;
}

std::string checkpoint_path(const std::string& run, std::int64_t number) {
  return path_in(path_in(run, checkpoints_folder), name_of(number));
}

bool is_link(const std::string& path) {
  std::error_code ignored;
  return fs::is_symlink(path, ignored);
}

bool is_there(const std::string& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

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

constexpr std::array earlier_form_files{model_file, plan_file,       "run.json",
                                        state_file, next_state_file, kernels_file};

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

// Makes the folder and tries to write there: better to fail before a training than after it.
const std::string& made_writable(const std::string& run) {
  make_folders(run);
  const AtomicFile probe(path_in(run, FolderLock::file_name));
  return run;
}

}  // namespace

CheckpointFolder::CheckpointFolder(const std::string& run)
    : path_(run), made_(!is_there(run)), lock_(made_writable(run)) {
  remove_leftovers();
  for (const std::string& name : names_below(path_)) {
    std::error_code error;
    const auto written = fs::last_write_time(path_in(path_, name), error);
    if (is_beside_checkpoints(name) && !error) found_.push_back({name, written});
  }
  const auto numbers = numbers_in(path_);
  if (numbers.empty()) return;
  point_to(numbers.front());
  mark_best_of(numbers);
}

CheckpointFolder::~CheckpointFolder() {
  if (!made_ || names_in(path_) != std::vector<std::string>{FolderLock::file_name}) return;
  std::error_code ignored;
  remove_file(path_in(path_, FolderLock::file_name));
  fs::remove(path_, ignored);
}

void CheckpointFolder::remove_leftovers() const {
  for (const std::string& name : names_in(path_))
    if (is_leftover(name)) remove_file(path_in(path_, name));
  const std::string folder = path_in(path_, checkpoints_folder);
  for (const std::string& name : names_in(folder)) {
    const std::string number = name.substr(name.empty() ? 0 : 1, name.find('.', 1) - 1);
    std::error_code ignored;
    if (number_of(number) > 0 && is_temporary_name(name, number))
      fs::remove_all(path_in(folder, name), ignored);
  }
}

std::string CheckpointFolder::add(const Checkpoint& content, std::int64_t keep) {
  make_folders(path_in(path_, checkpoints_folder));
  const auto numbers = numbers_in(path_);
  const std::int64_t number = numbers.empty() ? 1 : numbers.front() + 1;
  const std::string path = checkpoint_path(path_, number);
  write_checkpoint(path, content);
  set_aside_others(content);
  point_to(number);
  remove_old(content.state.metadata.at("run"), keep);
  return path;
}

// Files of the earlier form are older than any checkpoint. On a file system without links, or
// without room for one, the checkpoints still exist.
void CheckpointFolder::point_to(std::int64_t newest) const {
  const std::string target = path_in(checkpoints_folder, name_of(newest));
  const std::string latest = path_in(path_, latest_link);
  // A folder here comes from a copy that followed the links.
  if (!is_link(latest) && is_there(path_in(latest, manifest_file))) remove_folder(latest);
  try {
    if (link_target(latest) != target) replace_by_link(latest, target);
    for (const std::string file : {model_file, plan_file, "run.json"}) {
      const std::string path = path_in(path_, file), wanted = path_in(latest_link, file);
      if (link_target(path) != wanted && is_there(path_in(latest, file)))
        replace_by_link(path, wanted);
    }
  } catch (const DataError&) {
    remove_file(latest);  // no link is better than one to a removed checkpoint
  }
  for (const char* file : earlier_form_files)
    if (const std::string path = path_in(path_, file); !is_link(path)) remove_file(path);
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
    if (number <= number_of(marked.filename().string())) return;
    const std::string path = checkpoint_path(path_, number);
    if (is_best_checkpoint(path)) return mark_best(path);
  }
}

bool CheckpointFolder::holds_run() const {
  return !numbers_in(path_).empty() || is_there(path_in(path_, model_file));
}

// Files of the earlier form that the run of `content` did not begin with, and what lies beside
// checkpoints and was not written since the folder was opened.
std::vector<std::string> CheckpointFolder::files_of_others(const Checkpoint& content) const {
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
void CheckpointFolder::set_aside_others(const Checkpoint& content) const {
  const std::string& run = content.state.metadata.at("run");
  const std::string checkpoints = path_in(path_, checkpoints_folder);
  std::vector<std::int64_t> others = numbers_in(path_);
  bool another = false;
  std::erase_if(others, [&](std::int64_t number) {
    const std::string owner = run_of_checkpoint(checkpoint_path(path_, number));
    another |= !owner.empty() && owner != run;
    return owner == run;
  });
  const std::vector<std::string> files = files_of_others(content);
  const bool earlier_form = !files.empty() && !is_beside_checkpoints(files.front());
  if (!another && !earlier_form) return;
  const std::string aside = folder_for_others(path_);
  for (const std::int64_t number : others)
    move_between(checkpoints, path_in(aside, checkpoints_folder), name_of(number));
  for (const std::string& file : files) move_between(path_, aside, file);
  sync_folder(aside);
  if (!others.empty()) sync_folder(path_in(aside, checkpoints_folder));
  sync_folder(checkpoints);
  sync_folder(path_);
  const CheckpointFolder links(aside);
  log(LogLevel::warning, concat(path_, ": held an earlier run, which is kept as ", aside));
}

void CheckpointFolder::remove_old(const std::string& run, std::int64_t keep) const {
  const std::string best = path_in(path_, best_link), best_target = link_target(best);
  std::int64_t kept = 0;
  for (const std::int64_t number : numbers_in(path_)) {
    const std::string path = checkpoint_path(path_, number);
    const std::string owner = run_of_checkpoint(path);  // "" of a damaged one
    const bool ours = kept == 0 || owner == run;
    if (!ours && !owner.empty()) continue;
    if (ours && kept < keep)
      ++kept;
    else if (!ours || best_target != path_in(checkpoints_folder, name_of(number)))
      remove_folder(path);
  }
  std::error_code ignored;
  if (is_link(best) && !fs::exists(best, ignored)) remove_file(best);  // of another run
}

std::string run_folder_of(const std::string& path) {
  fs::path folder = fs::path(path_in(path, "")).parent_path();  // no slash at the end
  if (const std::string target = link_target(folder.string()); !target.empty())
    folder = folder.parent_path() / target;
  const bool checkpoint = number_of(folder.filename().string()) > 0 &&
                          folder.parent_path().filename() == checkpoints_folder &&
                          is_there(path_in(path, manifest_file));
  if (!checkpoint) return path;
  const std::string run = folder.parent_path().parent_path().string();
  return run.empty() ? "." : run;
}

namespace {

// Nothing if a checkpoint was removed while it was read, so that there are newer ones.
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
