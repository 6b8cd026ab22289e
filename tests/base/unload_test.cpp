// SPDX-License-Identifier: Apache-2.0
// A host program loads a plug-in and unloads it while the workers of its team live.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <thread>

namespace {

// Threads of this process.
std::ptrdiff_t threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

void load_use_and_unload() {
  void* const plugin = dlopen(NARROWGAUGE_UNLOAD_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(plugin, nullptr) << dlerror();
  const auto sum = reinterpret_cast<std::int64_t (*)()>(dlsym(plugin, "sum_with_three_threads"));
  ASSERT_NE(sum, nullptr);
  EXPECT_EQ(sum(), 4950);
  EXPECT_EQ(dlclose(plugin), 0);
  EXPECT_EQ(dlopen(NARROWGAUGE_UNLOAD_PLUGIN, RTLD_NOW | RTLD_NOLOAD), nullptr);
}

// Threads that were joined leave the list of the kernel a moment later.
std::ptrdiff_t threads_once_there_are(std::ptrdiff_t expected) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (threads() != expected && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return threads();
}

TEST(unload, ends_the_workers_first) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer keeps what is unloaded";
#endif
  std::thread([] {}).join();  // with the first one the thread sanitizer starts its own
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // until it has left the list
  const std::ptrdiff_t before = threads();
  for (int repeat = 0; repeat < 20; ++repeat) {
    load_use_and_unload();
    EXPECT_EQ(threads_once_there_are(before), before);
  }
  std::thread(load_use_and_unload).join();
}

}  // namespace
