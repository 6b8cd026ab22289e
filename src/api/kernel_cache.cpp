// SPDX-License-Identifier: Apache-2.0
#include "api/kernel_cache.h"

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "api/fingerprint.h"
#include "base/atomic_file.h"
#include "base/cpu.h"
#include "base/environment.h"
#include "base/json_reading.h"
#include "base/log.h"
#include "base/open_file.h"
#include "narrowgauge/version.h"

namespace narrowgauge {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;  // as it is written
constexpr int kernel_records_version = 1;

// The tier is part of the text: under NARROWGAUGE_ISA other kernels compute a node.
std::string version_text() {
  return concat(cpu_name(), ", ", name(isa()), ", narrowgauge ", NARROWGAUGE_VERSION);
}

// The same for each build of a version, so that files of earlier builds are replaced.
std::string file_name() {
  std::string slug;
  for (const char c : version_text())
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '.')
      slug += c;
    else if (!slug.empty() && slug.back() != '-')
      slug += '-';
  return "kernels-" + slug + ".json";
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

KernelRecords read_kernel_records(const std::string& path, const std::string& machine) {
  return parse_kernel_records(read_text_file(path), path, machine);
}

KernelRecords parse_kernel_records(const std::string& text, const std::string& path,
                                   const std::string& machine) {
  KernelRecords records;
  try {
    const auto json = parse_json<Json>(text, path);
    require<DataError>(whole_number<int>(json, "version", path) == kernel_records_version, path,
                       ": is of another version");
    const auto written_for = json.at("machine").get<std::string>();
    require<DataError>(written_for == machine, path, ": was written for ", written_for);
    for (const auto& [key, record] : json.at("kernels").items())
      records[key] = {record.at("kernel").get<std::string>(), record.at("why").get<std::string>(),
                      true};
  } catch (const Json::exception& error) {
    throw DataError(concat(path, ": is damaged: ", error.what()));
  }
  return records;
}

std::string kernel_records_text(const KernelRecords& records, const std::string& machine) {
  OrderedJson kernels = OrderedJson::object();
  for (const auto& [key, record] : records)
    kernels[key] = {{"kernel", record.kernel}, {"why", record.why}};
  const OrderedJson json{
      {"version", kernel_records_version}, {"machine", machine}, {"kernels", std::move(kernels)}};
  return json.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + '\n';
}

void write_kernel_records(const std::string& path, const std::string& machine,
                          const KernelRecords& records) {
  write_file_atomically(path, kernel_records_text(records, machine));
}

KernelCache::KernelCache(std::string path, std::string machine)
    : path_(std::move(path)), machine_(std::move(machine)) {
  std::error_code ignored;
  if (!std::filesystem::exists(path_, ignored)) return;
  try {
    records_ = read();
  } catch (const DataError& error) {
    warn(concat(error.what(), "; it is left aside, and kernels are measured anew"));
  }
}

KernelRecords KernelCache::read() const { return read_kernel_records(path_, machine_); }

void KernelCache::warn(const std::string& message) {
  if (!warned_) log(LogLevel::warning, message);
  warned_ = true;
}

std::optional<KernelRecord> KernelCache::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(key);
  if (found == records_.end()) return std::nullopt;
  return found->second;
}

void KernelCache::keep(const std::string& key, const KernelRecord& record) {
  const std::lock_guard lock(mutex_);
  records_[key] = record;
  changed_ |= record.lasting;
}

void KernelCache::save() {
  const std::lock_guard lock(mutex_);
  if (!changed_) return;
  changed_ = false;
  KernelRecords all = records_;
  std::erase_if(all, [](const auto& entry) { return !entry.second.lasting; });
  std::error_code error;
  if (std::filesystem::exists(path_, error)) try {
      all.merge(read());
    } catch (const DataError&) {
      // A damaged file is replaced.
    }
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), error);
  try {
    write_kernel_records(path_, machine_, all);
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
  static std::mutex mutex;
  static std::map<std::pair<std::string, std::string>, std::unique_ptr<KernelCache>> caches;
  const std::lock_guard lock(mutex);
  std::unique_ptr<KernelCache>& cache = caches[{path, machine}];
  if (!cache) cache = std::make_unique<KernelCache>(path, machine);
  return cache.get();
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
