// SPDX-License-Identifier: Apache-2.0
// Threads with a small stack, as servers and other languages make them.
#pragma once

#include <gtest/gtest.h>
#include <pthread.h>

#include <exception>
#include <functional>
#include <string>

namespace narrowgauge::testing_support {

// Runs the work in a thread with a stack of 200 KiB; returns the text of what it throws.
inline std::string on_small_stack(const std::function<void()>& work) {
  struct Call {
    const std::function<void()>& work;
    std::string error{};
  } call{work};
  const auto run = [](void* given) -> void* {
    auto& todo = *static_cast<Call*>(given);
    try {
      todo.work();
    } catch (const std::exception& error) {
      todo.error = error.what();
    }
    return nullptr;
  };
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  EXPECT_EQ(pthread_attr_setstacksize(&attributes, 200 << 10), 0);
  pthread_t thread{};
  EXPECT_EQ(pthread_create(&thread, &attributes, run, &call), 0);
  pthread_join(thread, nullptr);
  return call.error;
}

}  // namespace narrowgauge::testing_support
