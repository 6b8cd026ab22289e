// SPDX-License-Identifier: Apache-2.0
#include "ops/table.h"

#include <mutex>
#include <set>

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

bool is_built_in(const OpRecord& op) {
  static const auto& names = immortal<std::set<std::string>>([] {
    std::set<std::string> all{record_of<Input>().full_name(), record_of<StateValue>().full_name(),
                              record_of<Constant>().full_name()};
    for (const OpRecord* each : built_in_ops()) all.insert(each->full_name());
    return all;
  }());
  return names.contains(op.full_name());
}

void register_op(const OpRecord& op) {
  SharedTable& shared = shared_table();
  const std::lock_guard lock(shared.mutex);
  shared.table.add(op);
}

Graph parse(std::string_view text) { return parse(text, op_table()); }

}  // namespace narrowgauge
