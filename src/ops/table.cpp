// SPDX-License-Identifier: Apache-2.0
#include "ops/table.h"

#include <mutex>

#include "base/unloading.h"

namespace narrowgauge {

namespace {

struct SharedTable {
  SharedTable() {
    table.add(record_of<Input>());
    table.add(record_of<StateValue>());
    table.add(record_of<Constant>());
    for (const OpRecord* op : built_in_ops()) table.add(*op);
  }
  OpTable table;
  std::mutex mutex;
};

SharedTable& shared_table() {
  static auto& table = immortal<SharedTable>();
  return table;
}

}  // namespace

const OpTable& op_table() { return shared_table().table; }

void register_op(const OpRecord& op) {
  SharedTable& shared = shared_table();
  const std::lock_guard lock(shared.mutex);
  shared.table.add(op);
}

Graph parse(std::string_view text) { return parse(text, op_table()); }

}  // namespace narrowgauge
