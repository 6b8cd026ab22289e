// SPDX-License-Identifier: Apache-2.0
#include "base/files/atomic_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <functional>

#include "base/files/atomic_folder.h"
#include "base/files/output_path.h"
#include "io/files.h"
#include "narrowgauge/error.h"

namespace narrowgauge::atomic_file_test {
namespace {

using namespace testing_files;

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const DataError& error) {
    return error.what();
  }
  return "no error";
}

std::ptrdiff_t files_in(const std::string& folder) {
  return std::distance(std::filesystem::directory_iterator(folder), {});
}

// Files of this process can be no larger; what goes beyond fails, as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : signal_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit lower{.rlim_cur = bytes, .rlim_max = old_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &lower);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, signal_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  void (*signal_)(int);
  rlimit old_{};
};

TEST(atomic_file, replaces_the_file_at_commit) {
  const TemporaryFolder folder;
  const std::string path = folder / "x";
  write_file(path, "old");
  {
    AtomicFile file(path);
    file.write("new ");
    file.write("content");
    EXPECT_EQ(read_file(path), "old");
    file.commit();
    EXPECT_EQ(read_file(path), "new content");
  }
  EXPECT_EQ(files_in(folder.path()), 1);
}

TEST(atomic_file, without_commit_nothing_remains) {
  const TemporaryFolder folder;
  const std::string path = folder / "x";
  { AtomicFile(path).write("new"); }
  EXPECT_EQ(files_in(folder.path()), 0);
  write_file(path, "old");
  { AtomicFile(path).write("new"); }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(files_in(folder.path()), 1);
}

TEST(atomic_file, a_failed_write_leaves_the_old_file_and_no_temporary) {
  const TemporaryFolder folder;
  const std::string path = folder / "x";
  write_file(path, "old");
  {
    const FileSizeLimit limit(1000);
    EXPECT_EQ(error_of([&] { write_file_atomically(path, std::string(5000, 'x')); }),
              path + ": cannot be written (File too large: needs 5000 bytes, the limit is 1000)");
  }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(files_in(folder.path()), 1);
}

TEST(atomic_file, a_full_disk_leaves_the_old_file_and_no_temporary) {
  const TemporaryFolder folder;
  if (mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=64k") != 0)
    GTEST_SKIP() << "a small file system can be mounted by root only";
  const std::string path = folder / "x";
  write_file(path, "old");
  EXPECT_EQ(error_of([&] { write_file_atomically(path, std::string(200'000, 'x')); }),
            path +
                ": cannot be written (No space left on device: needs 200000 bytes, 61440 are "
                "free)");
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(files_in(folder.path()), 1);
  write_file_atomically(path, "new");
  EXPECT_EQ(read_file(path), "new");
  EXPECT_EQ(umount(folder.path().c_str()), 0);
}

TEST(atomic_file, places_that_cannot_be_written_are_named) {
  const TemporaryFolder folder;
  const std::string missing = folder / "nowhere/x";
  EXPECT_EQ(error_of([&] { write_file_atomically(missing, "x"); }),
            missing + ": cannot be written (No such file or directory)");
  std::filesystem::create_directory(folder / "taken");
  EXPECT_EQ(error_of([&] { write_file_atomically(folder / "taken", "x"); }),
            folder / "taken" + ": expected a file, found a folder");
  EXPECT_EQ(files_in(folder.path()), 1);
  EXPECT_EQ(error_of([&] { write_file_atomically("/proc/x", "x"); }),
            "/proc/x: cannot be written (No such file or directory)");
  EXPECT_EQ(error_of([&] { write_file_atomically("", "x"); }),
            "\"\": expected the name of a file to write");
}

TEST(atomic_file, a_folder_without_permission_is_named) {
  constexpr uid_t nobody = 65534;
  const TemporaryFolder folder;
  const std::string path = folder / "x";
  write_file(path, "old");
  chmod(folder.path().c_str(), 0555);
  const uid_t user = geteuid();
  EXPECT_EQ(seteuid(user == 0 ? nobody : user), 0);  // root may write everywhere
  const std::string error = error_of([&] { write_file_atomically(path, "x"); });
  EXPECT_EQ(seteuid(user), 0);
  chmod(folder.path().c_str(), 0700);
  EXPECT_EQ(error, path + ": cannot be written (Permission denied)");
  EXPECT_EQ(read_file(path), "old");
}

TEST(atomic_file, permissions_and_links_stay) {
  const TemporaryFolder folder;
  const std::string path = folder / "x";
  write_file(path, "old");
  chmod(path.c_str(), 0640);
  std::filesystem::create_symlink("x", folder / "link");
  write_file_atomically(folder / "link", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(read_file(path), "new");
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0640u);
  std::filesystem::create_symlink("not yet there", folder / "dangling");
  write_file_atomically(folder / "dangling", "made");
  EXPECT_EQ(read_file(folder / "not yet there"), "made");
}

TEST(atomic_file, a_pipe_is_written_through_and_stays) {
  const TemporaryFolder folder;
  const std::string path = folder / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  write_file_atomically(path, "through");
  char text[16]{};
  EXPECT_EQ(read(reader, text, sizeof text), 7);
  EXPECT_STREQ(text, "through");
  close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(path));
  EXPECT_EQ(files_in(folder.path()), 1);
}

TEST(atomic_file, a_device_is_written_through_and_stays) {
  const TemporaryFolder folder;
  write_file_atomically("/dev/null", "nowhere");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  std::filesystem::create_symlink("/dev/full", folder / "link");
  EXPECT_EQ(error_of([&] { write_file_atomically(folder / "link", "x"); }),
            folder / "link" + ": cannot be written (No space left on device)");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
  EXPECT_EQ(files_in(folder.path()), 1);
}

// The descriptor is as after `> log` in a shell: its place in the file counts, and the file stays.
TEST(atomic_file, an_open_descriptor_is_written_through_where_it_stands) {
  const TemporaryFolder folder;
  const std::string path = folder / "log";
  const int log = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ASSERT_EQ(write(log, "before ", 7), 7);
  const std::string number = std::to_string(log);
  write_file_atomically("/dev/fd/" + number, "through ");
  std::filesystem::create_symlink("/proc/self/fd/" + number, folder / "link");
  write_file_atomically(folder / "link", "linked ");
  ASSERT_EQ(write(log, "after", 5), 5);
  close(log);
  EXPECT_EQ(read_file(path), "before through linked after");
  EXPECT_EQ(files_in(folder.path()), 2);
}

TEST(atomic_file, links_in_a_circle_are_named) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("b", folder / "a");
  std::filesystem::create_symlink("a", folder / "b");
  EXPECT_EQ(error_of([&] { write_file_atomically(folder / "a", "x"); }),
            folder / "a" + ": cannot be written (Too many levels of symbolic links)");
}

TEST(atomic_file, a_new_file_has_the_permissions_that_the_umask_leaves) {
  const TemporaryFolder folder;
  const mode_t before = umask(027);
  write_file_atomically(folder / "x", "new");
  umask(before);
  struct stat status {};
  ASSERT_EQ(stat((folder / "x").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777u, 0640u);
}

TEST(atomic_file, the_longest_names_can_be_written) {
  const TemporaryFolder folder;
  const std::string path = folder / std::string(255, 'n');
  write_file_atomically(path, "content");
  EXPECT_EQ(read_file(path), "content");
}

TEST(atomic_folder, is_there_with_all_its_files_or_not_at_all) {
  const TemporaryFolder folder;
  const std::string path = folder / "made";
  {
    AtomicFolder left(path);
    AtomicFile file(left, "x");
    file.write("content");
    file.commit();
  }
  EXPECT_EQ(files_in(folder.path()), 0);
  AtomicFolder made(path);
  AtomicFile file(made, "x");
  file.write("content");
  file.commit();
  EXPECT_FALSE(std::filesystem::exists(path));
  made.commit();
  EXPECT_EQ(read_file(path + "/x"), "content");
  EXPECT_EQ(files_in(folder.path()), 1);
  EXPECT_EQ(error_of([&] { AtomicFolder(path).commit(); }),
            path + ": cannot be made (Directory not empty)");
  remove_folder(path);
  EXPECT_EQ(files_in(folder.path()), 0);
}

TEST(atomic_folder, makes_the_folders_above_it) {
  const TemporaryFolder folder;
  make_folders(folder / "a/b/c/");
  EXPECT_TRUE(std::filesystem::is_directory(folder / "a/b/c"));
  write_file(folder / "file", "x");
  EXPECT_EQ(error_of([&] { make_folders(folder / "file/below"); }),
            folder / "file/below" + ": cannot be made (Not a directory)");
}

TEST(temporary_name, is_known_again_and_never_the_same) {
  const std::string a = temporary_path("f/x.txt"), b = temporary_path("f/x.txt");
  EXPECT_NE(a, b);
  ASSERT_TRUE(a.starts_with("f/")) << a;
  EXPECT_TRUE(is_temporary_name(a.substr(2), "x.txt")) << a;
  EXPECT_FALSE(is_temporary_name(a.substr(2), "x"));
  EXPECT_FALSE(is_temporary_name(".x.txt.12345678901g.tmp", "x.txt"));
  EXPECT_FALSE(is_temporary_name("x.txt", "x.txt"));
}

TEST(atomic_file, a_name_without_a_folder_lies_in_the_current_one) {
  const TemporaryFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  write_file_atomically("x", "here");
  std::filesystem::current_path(before);
  EXPECT_EQ(read_file(folder / "x"), "here");
}

}  // namespace
}  // namespace narrowgauge::atomic_file_test
