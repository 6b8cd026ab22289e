// SPDX-License-Identifier: Apache-2.0
// Calls in a process of their own, for what might end it: a crash or a hang is then an outcome that
// a test compares.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>

namespace narrowgauge::testing_support {

// How a call ends in a child of this process, to which it has a minute: "returned", "UsageError:
// its message" and the same of any other exception, "exit 3" or "signal 11 (Segmentation fault)".
// What it changes, it changes there.
std::string outcome_in_own_process(const std::function<void()>& call);

// Whether a call ends by a UsageError, or one of its kinds, that says `text`.
testing::AssertionResult ends_by_usage_error(const std::function<void()>& call,
                                             std::string_view text);

}  // namespace narrowgauge::testing_support
