// SPDX-License-Identifier: Apache-2.0
// Which kernels were measured to be fastest on this machine, kept on disk; and those that one
// training used, kept in its checkpoint.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <unordered_map>

#include "api/programs/kernel_log.h"
#include "compile/kernel_memory.h"

namespace narrowgauge {

using KernelRecords = std::map<std::string, KernelRecord>;

// The records as JSON, as checkpoints and engines keep them, and earlier versions their cache.
// parse_kernel_records throws DataError for a text that is damaged, or was written for another
// machine; `machine` is any text, and `path` its name in messages.
KernelRecords parse_kernel_records(const std::string& text, const std::string& path,
                                   const std::string& machine);
std::string kernel_records_text(const KernelRecords& records, const std::string& machine);

// The CPU, its tier of instructions, the version of the library and the fingerprint of its kernels.
std::string machine_text();

// A log that processes share (kernel_log.h): each adds what it measures, and finds what others
// added. JSON of an earlier version is taken over. A damaged or unwritable file costs a warning and
// nothing else. Thread-safe.
class KernelCache : public KernelMemory {
 public:
  KernelCache(std::string path, std::string machine,
              std::int64_t most_bytes = KernelLog::usual_most_bytes);
  std::optional<KernelRecord> find(const std::string& key) override;
  void keep(const std::string& key, const KernelRecord& record) override;
  void save() override;

 private:
  bool read_json();
  void warn(const std::string& message);

  const std::string machine_;
  std::mutex mutex_;
  KernelLog log_;
  std::unordered_map<std::string, KernelRecord> own_;  // that this process measured
  std::string unsaved_;                                // lines of the log
  bool replaces_ = false;                              // the file, which is no log
  bool warned_ = false;
};

// The cache of this process: NARROWGAUGE_KERNEL_CACHE=PATH, or else kernels-<machine>.log in
// $XDG_CACHE_HOME/narrowgauge or ~/.cache/narrowgauge. nullptr with NARROWGAUGE_KERNEL_CACHE=off or
// without such a folder: then nothing is measured.
KernelMemory* kernel_cache();

// The choices of one training: first those it remembers itself, then the cache's.
class KernelChoices : public KernelMemory {
 public:
  explicit KernelChoices(KernelMemory* cache) : cache_(cache) {}
  std::optional<KernelRecord> find(const std::string& key) override;
  void keep(const std::string& key, const KernelRecord& record) override;
  void save() override;
  bool measures() const override { return cache_ != nullptr; }

  const KernelRecords& records() const { return records_; }
  void set_records(KernelRecords records) { records_ = std::move(records); }

 private:
  KernelMemory* cache_;
  KernelRecords records_;
};

}  // namespace narrowgauge
