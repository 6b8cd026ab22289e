// SPDX-License-Identifier: Apache-2.0
#include "base/machine/core_time.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>

namespace narrowgauge {
namespace {

constexpr const char* threads_folder = "/proc/self/task";

// Seconds on a run queue: the second number of the thread's schedstat, in nanoseconds.
double seconds_in_queue(const std::string& thread) {
  const std::string path = std::string(threads_folder) + '/' + thread + "/schedstat";
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  std::array<char, 128> text{};
  const ssize_t length = read(file, text.data(), text.size() - 1);
  close(file);
  long long ran = 0, waited = 0;
  if (length <= 0 || std::sscanf(text.data(), "%lld %lld", &ran, &waited) != 2) return 0;
  return 1e-9 * static_cast<double>(waited);
}

}  // namespace

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double CoreWait::longest() {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(threads_folder), closedir);
  double longest = 0;
  while (const dirent* entry = folder ? readdir(folder.get()) : nullptr) {
    const int thread = std::atoi(entry->d_name);
    if (thread == 0) continue;
    double& before = waited_[thread];
    const double waited = seconds_in_queue(entry->d_name);
    longest = std::max(longest, waited - before);
    before = waited;
  }
  return longest;
}

}  // namespace narrowgauge
