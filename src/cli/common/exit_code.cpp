// SPDX-License-Identifier: Apache-2.0
#include "cli/common/exit_code.h"

#include <filesystem>
#include <new>

#include "base/files/memory.h"
#include "cli/common/terminal.h"
#include "narrowgauge/error.h"

namespace narrowgauge::cli {
namespace {

template <class Error>
bool is(const std::exception& error) {
  return dynamic_cast<const Error*>(&error) != nullptr;
}

int code_of(const std::exception& error) {
  if (is<ModelError>(error)) return ExitCode::model;
  if (is<DataError>(error) || is<std::filesystem::filesystem_error>(error)) return ExitCode::data;
  if (is<UsageError>(error)) return ExitCode::usage;
  if (is<DivergedError>(error)) return ExitCode::diverged;
  if (is<DeviceError>(error) || is<std::bad_alloc>(error)) return ExitCode::device;
  if (is<CheckError>(error)) return ExitCode::check;
  return ExitCode::internal;
}

}  // namespace

int report(const std::exception& error) {
  const int code = code_of(error);
  if (is<std::bad_alloc>(error))
    say("error",
        concat("memory: there is not enough; ", bytes_text(obtainable_memory()), " can be had"));
  else if (code == ExitCode::internal)
    say("error", concat("internal error, please report it: ", error.what()));
  else
    say("error", error.what());
  return code;
}

}  // namespace narrowgauge::cli
