// SPDX-License-Identifier: Apache-2.0
#include "base/files/memory.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "base/machine/cpu.h"

namespace narrowgauge::memory_test {
namespace {

namespace fs = std::filesystem;

class GroupMemory : public testing::Test {
 protected:
  GroupMemory() {
    std::string pattern = (fs::temp_directory_path() / "cgroup_XXXXXX").string();
    root_ = mkdtemp(pattern.data());
  }
  ~GroupMemory() override { fs::remove_all(root_); }

  void write(const fs::path& file, const char* text) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }

  fs::path root_;
};

TEST_F(GroupMemory, is_the_tightest_limit_less_what_is_used_and_not_cache) {
  write("memory.max", "9000\n");
  write("memory.current", "1000\n");
  write("a/memory.max", "max\n");
  write("a/memory.current", "900\n");
  write("a/b/memory.max", "5000\n");
  write("a/b/memory.current", "800\n");
  write("a/b/memory.stat", "anon 100\ninactive_file 300\nactive_file 400\n");
  EXPECT_EQ(control_group_memory(root_, "0::/a/b\n"), 4900);
  EXPECT_EQ(control_group_memory(root_, "0::/a\n"), 8000);
}

TEST_F(GroupMemory, is_read_in_version_1_too) {
  write("memory/box/memory.limit_in_bytes", "7000\n");
  write("memory/box/memory.usage_in_bytes", "2000\n");
  write("memory/box/memory.stat", "inactive_file 1\ntotal_inactive_file 500\n");
  write("memory/free/memory.limit_in_bytes", "9223372036854771712\n");
  write("memory/free/memory.usage_in_bytes", "2000\n");
  EXPECT_EQ(control_group_memory(root_, "9:memory:/box\n4:cpu:/box\n"), 5500);
  EXPECT_EQ(control_group_memory(root_, "9:memory:/free\n"), std::nullopt);
  EXPECT_EQ(control_group_memory(root_, "9:cpuset:/box\n"), std::nullopt);
}

TEST_F(GroupMemory, is_nothing_where_more_is_used_than_the_limit) {
  write("memory.max", "500\n");
  write("memory.current", "700\n");
  EXPECT_EQ(control_group_memory(root_, "0::/\n"), 0);
}

TEST(available_memory, is_some_of_the_machines) {
  EXPECT_GT(available_memory(), 0);
  EXPECT_LE(available_memory(), memory_bytes());
}

}  // namespace
}  // namespace narrowgauge::memory_test
