// SPDX-License-Identifier: Apache-2.0
// What is no file is refused at once, by name; texts come through pipes too.
#include "base/files/open_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/files.h"
#include "narrowgauge/data.h"
#include "narrowgauge/npz.h"
#include "narrowgauge/safetensors.h"
#include "precision/plan_reader.h"

namespace narrowgauge::open_file_test {
namespace {

using testing_files::TemporaryFolder;

template <class Read>
std::string refusal(const Read& read) {
  try {
    read();
    return "taken";
  } catch (const DataError& error) {
    return error.what();
  } catch (const ModelError& error) {
    return error.what();
  }
}

TEST(open_file, every_reader_refuses_a_folder_and_a_pipe) {
  const TemporaryFolder folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {folder.path(), pipe}) {
    const std::string expected =
        concat(path, ": expected a file, found ", path == pipe ? "a device or pipe" : "a folder");
    EXPECT_EQ(refusal([&] { open_regular_file(path); }), expected);
    EXPECT_EQ(refusal([&] { read_safetensors(path); }), expected);
    EXPECT_EQ(refusal([&] { read_npy(path); }), expected);
    EXPECT_EQ(refusal([&] { read_npz(path); }), expected);
  }
}

TEST(open_file, texts_refuse_a_folder_and_do_not_wait_for_a_pipe) {
  const TemporaryFolder folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::string expected = concat(folder.path(), ": expected a file, found a folder");
  EXPECT_EQ(refusal([&] { read_text_file(folder.path()); }), expected);
  EXPECT_EQ(refusal([&] { narrow_of_plan(folder.path()); }), expected);
  EXPECT_EQ(read_text_file(pipe), "");  // nobody writes
}

TEST(open_file, a_text_may_come_through_a_pipe) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::string text = "Sum=deny\n";
  ASSERT_EQ(write(ends[1], text.data(), text.size()), std::ssize(text));
  close(ends[1]);
  EXPECT_EQ(read_text_file(concat("/dev/fd/", ends[0])), text);
  close(ends[0]);
}

TEST(open_file, says_what_the_system_says) {
  EXPECT_EQ(refusal([] { read_text_file("/nope"); }), "/nope: No such file or directory");
  EXPECT_EQ(refusal([] { read_safetensors("/nope.safetensors"); }),
            "/nope.safetensors: No such file or directory");
}

}  // namespace
}  // namespace narrowgauge::open_file_test
