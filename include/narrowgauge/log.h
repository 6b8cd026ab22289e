// SPDX-License-Identifier: Apache-2.0
// Where the library's messages go: to the sink of the host program, or nowhere.
#pragma once

#include <functional>
#include <string>

#include "narrowgauge/export.h"

namespace narrowgauge {

// How urgent a message is. Only warnings ask for somebody to act.
enum class LogLevel { debug, info, warning };
// A function that takes the messages, from any thread.
using LogSink = std::function<void(LogLevel, const std::string& message)>;

// Replaces the sink of the whole process (thread-safe); an empty one drops messages again.
NG_API void set_log_sink(LogSink sink);

}  // namespace narrowgauge
