// SPDX-License-Identifier: Apache-2.0
// The file in which kernels are remembered: what it costs when it is long, and what it loses.
#include "api/programs/kernel_log.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "api/programs/kernel_cache.h"
#include "io/files.h"
#include "narrowgauge/log.h"
#include "support/bytes_moved.h"

namespace narrowgauge::kernel_log_test {
namespace {

using testing_files::read_file;
using testing_files::TemporaryFolder;
using testing_files::write_file;

std::string line(const std::string& key, const std::string& machine = "machine") {
  return kernel_log_line(machine, key, {"tiles", std::string(300, 'w')});
}

std::string lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += line(concat("key ", i));
  return text;
}

ino_t file_number(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(stat(path.c_str(), &status), 0);
  return status.st_ino;
}

TEST(kernel_log, finds_any_text_again) {
  TemporaryFolder folder;
  const std::string path = folder / "log";
  const std::string odd = "tab\tline\nback\\slash \\n \\t\r\x01 \xc3\xa4 ";
  const KernelRecord record{odd + "1", odd + "2", true};
  KernelLog log(path, odd);
  log.append(kernel_log_line(odd, odd, record) + kernel_log_line(odd, "", {}));
  log.refresh();
  EXPECT_EQ(log.find(odd), record);
  EXPECT_EQ(log.find(""), KernelRecord{});
  EXPECT_EQ(log.find("tab"), std::nullopt);
}

TEST(kernel_log, the_later_of_two_lines_counts_and_other_machines_have_their_own) {
  TemporaryFolder folder;
  const std::string path = folder / "log";
  write_file(path, kernel_log_line("a", "key", {"one", ""}) +
                       kernel_log_line("b", "key", {"two", ""}) +
                       kernel_log_line("a", "key", {"three", ""}));
  KernelLog a(path, "a"), b(path, "b"), c(path, "c");
  for (KernelLog* log : {&a, &b, &c}) log->refresh();
  EXPECT_EQ(a.find("key")->kernel, "three");
  EXPECT_EQ(b.find("key")->kernel, "two");
  EXPECT_EQ(c.find("key"), std::nullopt);
}

// What one more record costs must not depend on how many there are.
TEST(kernel_log, a_record_costs_its_own_bytes_however_long_the_file_is) {
  TemporaryFolder folder;
  const std::string path = folder / "log";
  write_file(path, lines(25'000));
  const auto length = std::filesystem::file_size(path);
  ASSERT_GT(length, std::size_t{8} << 20);
  const ino_t number = file_number(path);
  KernelCache cache(path, "machine");
  const auto moved = testing_support::bytes_moved_by([&] {
    EXPECT_EQ(cache.find("fresh"), std::nullopt);
    cache.keep("fresh", {"tiles", "fastest"});
    cache.save();
    EXPECT_EQ(cache.find("also fresh"), std::nullopt);
  });
  EXPECT_LE(moved.read, 512);
  EXPECT_LE(moved.written, 256);
  EXPECT_EQ(file_number(path), number);
  EXPECT_LE(std::filesystem::file_size(path) - length, 256u);
}

TEST(kernel_log, finds_what_another_process_added_since) {
  TemporaryFolder folder;
  const std::string path = folder / "log";
  KernelCache first(path, "machine"), second(path, "machine");
  EXPECT_EQ(first.find("key"), std::nullopt);
  second.keep("key", {"tiles", "fastest"});
  second.save();
  EXPECT_EQ(first.find("key")->kernel, "tiles");
  std::filesystem::remove(path);
  write_file(path, line("another"));  // a file of its own
  EXPECT_EQ(first.find("another")->kernel, "tiles");
}

TEST(kernel_log, a_cut_or_damaged_line_costs_that_line_alone) {
  for (const std::size_t cut : {1u, 5u, 100u, 300u}) {
    TemporaryFolder folder;
    const std::string path = folder / "log";
    std::string text = line("a") + line("b") + line("c");
    text[line("a").size() + 40] ^= 1;
    write_file(path, text.substr(0, text.size() - cut));
    KernelLog log(path, "machine");
    log.refresh();
    EXPECT_TRUE(log.find("a"));
    EXPECT_FALSE(log.find("b"));
    EXPECT_FALSE(log.find("c"));
    log.append(line("d"));
    log.refresh();
    EXPECT_TRUE(log.find("d")) << cut;
    EXPECT_TRUE(log.find("a"));
  }
}

TEST(kernel_log, an_empty_file_is_a_log_and_one_without_any_record_is_refused) {
  TemporaryFolder folder;
  const std::string path = folder / "log";
  write_file(path, "");
  KernelLog log(path, "machine");
  EXPECT_NO_THROW(log.refresh());
  for (const std::string text : {"{}\n", "0123456789abcdef machine\tkey\n", "\n"}) {
    write_file(path, text);
    EXPECT_THROW(KernelLog(path, "machine").refresh(), DataError) << text;
  }
  EXPECT_THROW(KernelLog(folder / "", "machine").refresh(), DataError);
  EXPECT_NO_THROW(KernelLog(folder / "none", "machine").refresh());
}

TEST(kernel_log, beyond_its_bound_the_newer_half_stays) {
  TemporaryFolder folder;
  const std::string path = folder / "log";
  constexpr std::int64_t most = 20'000;
  KernelLog log(path, "machine", most);
  for (int i = 0; i < 500; ++i) {
    log.append(line(concat("key ", i % 400)) + line("the same"));
    ASSERT_LE(std::filesystem::file_size(path), static_cast<std::size_t>(most));
    log.refresh();
    ASSERT_TRUE(log.find(concat("key ", i % 400))) << i;
    ASSERT_TRUE(log.find("the same"));
  }
  EXPECT_LT(log.size(), 100u);
  KernelLog again(path, "machine", most);
  again.refresh();
  EXPECT_EQ(again.size(), log.size());
}

TEST(kernel_log, a_process_that_is_killed_leaves_whole_lines) {
  TemporaryFolder folder;
  const std::string path = folder / "log";
  const pid_t writer = fork();
  if (writer == 0) {
    KernelLog log(path, "machine");
    for (int i = 0;; ++i) log.append(line(concat("key ", i)));
  }
  while (!std::filesystem::exists(path) || std::filesystem::file_size(path) < 100'000) usleep(1000);
  kill(writer, SIGKILL);
  waitpid(writer, nullptr, 0);
  const std::string text = read_file(path);
  KernelLog log(path, "machine");
  log.refresh();
  EXPECT_EQ(log.size(), static_cast<std::size_t>(std::ranges::count(text, '\n')));
}

// A limit on the size of files stands for a full disk.
TEST(kernel_log, a_full_disk_costs_one_warning_and_no_earlier_record) {
  TemporaryFolder folder;
  const std::string path = folder / "log";
  write_file(path, lines(20));
  const pid_t writer = fork();
  if (writer == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{8000, 8000};
    setrlimit(RLIMIT_FSIZE, &limit);
    int warnings = 0;
    set_log_sink([&](LogLevel, const std::string&) { ++warnings; });
    KernelCache cache(path, "machine");
    for (int i = 0; i < 30; ++i) {
      cache.keep(concat("fresh ", i), {"tiles", std::string(300, 'f')});
      cache.save();
      if (!cache.find(concat("fresh ", i))) _exit(2);
    }
    _exit(warnings == 1 ? 0 : 3);
  }
  int status = 0;
  waitpid(writer, &status, 0);
  EXPECT_EQ(status, 0);
  KernelCache cache(path, "machine");
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(cache.find(concat("key ", i))) << i;
  cache.keep("later", {"tiles", "fastest"});
  cache.save();
  EXPECT_TRUE(KernelCache(path, "machine").find("later"));
}

}  // namespace
}  // namespace narrowgauge::kernel_log_test
