// SPDX-License-Identifier: Apache-2.0
// Which kernels were measured to be fastest on this machine, kept on disk; and those that one
// training used, kept in its checkpoint.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "compile/kernel_memory.h"

namespace narrowgauge {

using KernelRecords = std::map<std::string, KernelRecord>;

// The records as JSON. read_kernel_records throws DataError for a file that cannot be read, is
// damaged, or was written for another machine; `machine` is any text.
KernelRecords read_kernel_records(const std::string& path, const std::string& machine);
KernelRecords parse_kernel_records(const std::string& text, const std::string& path,
                                   const std::string& machine);
std::string kernel_records_text(const KernelRecords& records, const std::string& machine);
void write_kernel_records(const std::string& path, const std::string& machine,
                          const KernelRecords& records);

// The CPU, its tier of instructions, the version of the library and the fingerprint of its kernels.
std::string machine_text();

// A file that several processes may share: read once, and written as a whole with what others added
// since. A damaged or unwritable one costs a warning and nothing else. Thread-safe.
class KernelCache : public KernelMemory {
 public:
  KernelCache(std::string path, std::string machine);
  std::optional<KernelRecord> find(const std::string& key) override;
  void keep(const std::string& key, const KernelRecord& record) override;
  void save() override;

 private:
  KernelRecords read() const;
  void warn(const std::string& message);

  std::string path_, machine_;
  std::mutex mutex_;
  KernelRecords records_;
  bool changed_ = false, warned_ = false;
};

// The cache of this process: NARROWGAUGE_KERNEL_CACHE=PATH, or else kernels-<machine>.json in
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
