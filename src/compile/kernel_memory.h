// SPDX-License-Identifier: Apache-2.0
// Remembers which kernel was fastest where several take a node.
#pragma once

#include <optional>
#include <string>

namespace narrowgauge {

struct KernelRecord {
  std::string kernel;   // its name in the op's list
  std::string why;      // "fastest of 2: onednn 1.20 ms, tiles 0.80 ms"
  bool lasting = true;  // false: measured on a busy machine, for this process and its checkpoints
  bool operator==(const KernelRecord&) const = default;
};

// Keyed by op, attributes, math, operands and threads; see choose_fastest().
class KernelMemory {
 public:
  virtual ~KernelMemory() = default;
  virtual std::optional<KernelRecord> find(const std::string& key) = 0;
  virtual void keep(const std::string& key, const KernelRecord& record) = 0;
  virtual void save() {}                          // called when a plan is complete
  virtual bool measures() const { return true; }  // false: what it does not know is not measured
};

}  // namespace narrowgauge
