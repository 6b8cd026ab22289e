// SPDX-License-Identifier: Apache-2.0
#include "api/programs/kernel_cache.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/programs/fingerprint.h"
#include "base/environment.h"
#include "base/files/open_file.h"
#include "base/log.h"
#include "base/machine/cpu.h"
#include "base/text/ascii.h"
#include "base/text/json_reading.h"
#include "base/text/json_writing.h"
#include "narrowgauge/version.h"

namespace narrowgauge {
namespace {

using Json = nlohmann::json;
constexpr int kernel_records_version = 1;

// The tier is part of the text: under NARROWGAUGE_ISA other kernels compute a node.
std::string version_text() {
  return concat(cpu_name(), ", ", name(isa()), ", narrowgauge ", NARROWGAUGE_VERSION);
}

// The file's name, the same for each build of a version, so that files of earlier builds are
// replaced.
std::string file_name() {
  std::string slug;
  for (const char c : version_text())
    if (is_letter(c) || is_digit(c) || c == '.')
      slug += c;
    else if (!slug.empty() && slug.back() != '-')
      slug += '-';
  return "kernels-" + slug + ".log";
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// The default path of the cache; "" if there is no folder for it.
std::string usual_path() {
  std::filesystem::path folder = variable("XDG_CACHE_HOME");
  if (folder.empty() && !variable("HOME").empty())
    folder = std::filesystem::path(variable("HOME")) / ".cache";
  if (!folder.is_absolute()) return "";
  return (folder / "narrowgauge" / file_name()).string();
}

}  // namespace

std::string machine_text() { return concat(version_text(), ", kernels ", kernels_fingerprint()); }

namespace {

struct KernelFile {
  std::string machine;
  JsonDocument<Json> kernels;
};

KernelFile parse_kernel_file(const std::string& text, const std::string& path) {
  auto json = parse_json<Json>(text, path);
  require<DataError>(whole_number<int>(json, "version", path) == kernel_records_version, path,
                     ": is of another version");
  Json kernels;
  if (json.contains("kernels")) kernels.swap(json["kernels"]);
  return {json.at("machine").get<std::string>(), JsonDocument<Json>(std::move(kernels))};
}

KernelRecords records_in(const KernelFile& file, const std::string& path) {
  require<DataError>(!file.kernels.is_null(), path, ": is damaged: it has no kernels");
  KernelRecords records;
  for (const auto& [key, record] : file.kernels.items())
    records[key] = {record.at("kernel").get<std::string>(), record.at("why").get<std::string>(),
                    true};
  return records;
}

}  // namespace

KernelRecords parse_kernel_records(const std::string& text, const std::string& path,
                                   const std::string& machine) {
  try {
    const KernelFile file = parse_kernel_file(text, path);
    require<DataError>(file.machine == machine, path, ": was written for ", file.machine);
    return records_in(file, path);
  } catch (const Json::exception& error) {
    throw DataError(concat(path, ": is damaged: ", error.what()));
  }
}

std::string kernel_records_text(const KernelRecords& records, const std::string& machine) {
  const auto quoted = [](const std::string& text) {
    return json_text<Json>(text, Json::error_handler_t::replace);
  };
  std::string text = concat("{\n \"version\": ", kernel_records_version,
                            ",\n \"machine\": ", quoted(machine), ",\n \"kernels\": {");
  for (const char* comma = ""; const auto& [key, record] : records) {
    text += concat(comma, "\n  ", quoted(key), ": {\n   \"kernel\": ", quoted(record.kernel),
                   ",\n   \"why\": ", quoted(record.why), "\n  }");
    comma = ",";
  }
  return text + (records.empty() ? "}\n}\n" : "\n }\n}\n");
}

KernelCache::KernelCache(std::string path, std::string machine, std::int64_t most_bytes)
    : machine_(std::move(machine)), log_(std::move(path), machine_, most_bytes) {
  try {
    if (!read_json()) log_.refresh();
  } catch (const DataError& error) {
    replaces_ = true;
    warn(concat(error.what(), "; it is left aside, and kernels are measured anew"));
  }
}

// Takes the records of a file as earlier versions wrote it, if they are of this machine.
bool KernelCache::read_json() {
  const std::string& path = log_.path();
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  if (std::ifstream(path).peek() != '{') return false;
  replaces_ = true;
  try {
    const KernelFile file = parse_kernel_file(read_text_file(path), path);
    if (file.machine != machine_) return true;
    for (const auto& [key, record] : records_in(file, path)) keep(key, record);
    return true;
  } catch (const Json::exception& error) {
    throw DataError(concat(path, ": is damaged: ", error.what()));
  }
}

void KernelCache::warn(const std::string& message) {
  if (!warned_) log(LogLevel::warning, message);
  warned_ = true;
}

std::optional<KernelRecord> KernelCache::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  if (const auto own = own_.find(key); own != own_.end()) return own->second;
  if (auto known = log_.find(key)) return known;
  if (!replaces_) try {
      log_.refresh();  // another process may have measured it since
    } catch (const DataError&) {
      // What is damaged meanwhile costs a measurement.
    }
  return log_.find(key);
}

void KernelCache::keep(const std::string& key, const KernelRecord& record) {
  constexpr std::size_t most_own = 1 << 16;
  const std::lock_guard lock(mutex_);
  if (own_.size() >= most_own) own_.clear();
  own_[key] = record;
  if (record.lasting) unsaved_ += kernel_log_line(machine_, key, record);
}

// Nothing is left for the end of the process: a line costs less than to wait for more of them.
void KernelCache::save() {
  const std::lock_guard lock(mutex_);
  const std::string lines = std::exchange(unsaved_, {});
  if (lines.empty()) return;
  try {
    if (std::exchange(replaces_, false))
      log_.replace(lines);
    else
      log_.append(lines);
  } catch (const DataError& failure) {
    warn(concat(failure.what(), "; which kernels are fastest is not kept"));
  }
}

KernelMemory* kernel_cache() {
  const std::string wish = environment("KERNEL_CACHE");
  if (wish == "off") return nullptr;
  const std::string machine = machine_text();
  const std::string path = wish.empty() ? usual_path() : wish;
  if (path.empty()) return nullptr;
  // Never destroyed: threads, and the destructors of static objects, may compile to the very end.
  static auto& mutex = *new std::mutex;
  static auto& caches = *new std::map<std::pair<std::string, std::string>, KernelCache*>;
  const std::lock_guard lock(mutex);
  KernelCache*& cache = caches[{path, machine}];
  if (!cache) cache = new KernelCache(path, machine);
  return cache;
}

std::optional<KernelRecord> KernelChoices::find(const std::string& key) {
  const auto found = records_.find(key);
  if (found != records_.end()) return found->second;
  auto known = cache_ ? cache_->find(key) : std::nullopt;
  if (known) records_[key] = *known;
  return known;
}

void KernelChoices::keep(const std::string& key, const KernelRecord& record) {
  records_[key] = record;
  if (cache_) cache_->keep(key, record);
}

void KernelChoices::save() {
  if (cache_) cache_->save();
}

}  // namespace narrowgauge
