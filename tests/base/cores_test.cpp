// SPDX-License-Identifier: Apache-2.0
#include "base/machine/cores.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <fstream>
#include <string>

#include "base/threads/parallel.h"

namespace narrowgauge::cores_test {
namespace {

namespace fs = std::filesystem;

class ControlGroups : public testing::Test {
 protected:
  ControlGroups() {
    std::string pattern = (fs::temp_directory_path() / "cgroup_XXXXXX").string();
    root_ = mkdtemp(pattern.data());
  }
  ~ControlGroups() override { fs::remove_all(root_); }

  void write(const fs::path& file, const char* text) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }

  fs::path root_;
};

TEST(cpu_max, is_quota_by_period) {
  EXPECT_EQ(parse_cpu_max("200000 100000\n"), 2.0);
  EXPECT_EQ(parse_cpu_max("50000 100000"), 0.5);
  for (const char* none : {"max 100000", "-1 100000", "", "7", "1 0", "words"})
    EXPECT_EQ(parse_cpu_max(none), std::nullopt) << none;
}

TEST_F(ControlGroups, give_the_tightest_limit_along_the_path) {
  write("cpu.max", "800000 100000");
  write("a/cpu.max", "max 100000");
  write("a/b/cpu.max", "300000 100000");
  write("other/cpu.max", "100000 100000");
  EXPECT_EQ(control_group_cores(root_, "0::/a/b\n"), 3.0);
  EXPECT_EQ(control_group_cores(root_, "0::/a\n"), 8.0);
  EXPECT_EQ(control_group_cores(root_, "0::/\n"), 8.0);
  EXPECT_EQ(control_group_cores(root_, "0::/a/b/not/mounted\n"), 3.0);
}

TEST_F(ControlGroups, are_read_in_version_1_too) {
  write("cpu/box/cpu.cfs_quota_us", "150000");
  write("cpu/box/cpu.cfs_period_us", "100000");
  EXPECT_EQ(control_group_cores(root_, "9:memory:/box\n4:cpu,cpuacct:/box\n"), 1.5);
  EXPECT_EQ(control_group_cores(root_, "9:memory:/box\n4:cpuset:/box\n"), std::nullopt);
}

TEST_F(ControlGroups, limit_nothing_where_none_are_mounted) {
  EXPECT_EQ(control_group_cores(root_ / "absent", "0::/a\n"), std::nullopt);
  EXPECT_EQ(control_group_cores(root_, "nonsense\n:\n\n"), std::nullopt);
}

TEST(hardware_threads, follow_the_affinity_mask) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(affinity_cores(), CPU_COUNT(&before));
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(hardware_threads(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

}  // namespace
}  // namespace narrowgauge::cores_test
