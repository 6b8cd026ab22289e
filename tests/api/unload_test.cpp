// SPDX-License-Identifier: Apache-2.0
// A host program loads a plug-in that uses the library, and unloads both.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace {

// What of ours is mapped into this process; "" if nothing is.
std::string mapped() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    for (const char* const name : {"libnarrowgauge.so", "api_unload_plugin"})
      if (line.find(name) != std::string::npos) return line;
  return "";
}

std::ptrdiff_t threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

void load_use_and_unload(int threads_of_plugin) {
  void* const plugin = dlopen(NARROWGAUGE_UNLOAD_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(plugin, nullptr) << dlerror();
  const auto use = reinterpret_cast<int (*)(int)>(dlsym(plugin, "train_and_answer"));
  ASSERT_NE(use, nullptr);
  EXPECT_EQ(use(threads_of_plugin), 0);
  EXPECT_NE(mapped(), "");
  EXPECT_EQ(dlclose(plugin), 0);
  EXPECT_EQ(mapped(), "");
}

// Threads that were joined leave the list of the kernel a moment later.
std::ptrdiff_t threads_once_there_are(std::ptrdiff_t expected) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (threads() != expected && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return threads();
}

TEST(unload, takes_the_library_out_of_the_process) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer keeps what is unloaded";
#endif
  const std::ptrdiff_t before = threads();
  for (int repeat = 0; repeat < 3; ++repeat) {
    load_use_and_unload(1 + repeat);
    EXPECT_EQ(threads_once_there_are(before), before);
  }
  std::thread(load_use_and_unload, 3).join();
}

}  // namespace
