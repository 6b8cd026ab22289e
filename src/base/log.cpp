// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <memory>
#include <mutex>

#include "base/unloading.h"

namespace narrowgauge {
namespace {

constinit std::mutex sink_mutex;

std::shared_ptr<const LogSink>& current_sink() {
  static auto& sink = immortal<std::shared_ptr<const LogSink>>();
  return sink;
}

}  // namespace

void set_log_sink(LogSink sink) {
  auto next = sink ? std::make_shared<const LogSink>(std::move(sink)) : nullptr;
  const std::lock_guard lock(sink_mutex);
  current_sink().swap(next);
}

// The sink is called outside the lock, so that it may log or replace itself; it must accept calls
// from several threads.
void log(LogLevel level, const std::string& message) {
  std::shared_ptr<const LogSink> sink;
  {
    const std::lock_guard lock(sink_mutex);
    sink = current_sink();
  }
  if (sink) (*sink)(level, message);
}

}  // namespace narrowgauge
