// SPDX-License-Identifier: Apache-2.0
// Which pictures of a folder belong to which class and part.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "io/picture_folder.h"
#include "narrowgauge/images.h"

namespace narrowgauge::image_folder_test {
namespace {

using testing_files::picture_classes;
using testing_files::TemporaryFolder;
using testing_files::write_file;
using testing_files::write_pictures;

std::set<std::string> paths_of(const std::vector<ImageFile>& files) {
  std::set<std::string> paths;
  for (const ImageFile& file : files) paths.insert(file.path);
  return paths;
}

std::string refusal(const std::string& folder) {
  try {
    read_image_folder(folder);
  } catch (const DataError& error) {
    return error.what();
  }
  return "none";
}

TEST(image_folder, each_class_gives_its_share_to_the_test) {
  const TemporaryFolder folder;
  write_pictures(folder.path(), 10);
  const ImageFolder found = read_image_folder(folder.path());
  EXPECT_EQ(found.classes, picture_classes);
  ASSERT_EQ(found.training.size(), 32U);
  ASSERT_EQ(found.test.size(), 8U);
  for (std::int64_t label = 0; label < 4; ++label)
    EXPECT_EQ(std::ranges::count(found.test, label, &ImageFile::label), 2);
  for (const ImageFile& file : found.training)
    EXPECT_NE(file.path.find(picture_classes[static_cast<std::size_t>(file.label)]),
              std::string::npos);
  EXPECT_EQ(paths_of(found.training).size() + paths_of(found.test).size(), 40U);
}

TEST(image_folder, the_parts_depend_on_paths_in_the_folder_alone) {
  const TemporaryFolder folder, elsewhere;
  write_pictures(folder.path(), 10);
  write_pictures(elsewhere.path(), 10, 77);
  const ImageFolder a = read_image_folder(folder.path()), b = read_image_folder(elsewhere.path());
  for (std::size_t i = 0; i < a.test.size(); ++i)
    EXPECT_EQ(a.test[i].path.substr(folder.path().size()),
              b.test[i].path.substr(elsewhere.path().size()));
}

TEST(image_folder, a_picture_that_is_added_moves_at_most_one_other) {
  const TemporaryFolder folder;
  write_pictures(folder.path(), 20);
  const std::set<std::string> before = paths_of(read_image_folder(folder.path()).test);
  write_file(folder.path() + "/north east/new.png", testing_files::png_of(0, 1000));
  std::set<std::string> after = paths_of(read_image_folder(folder.path()).test);
  std::size_t gone = 0;
  for (const std::string& path : before) gone += !after.contains(path);
  EXPECT_LE(gone, 1U);
}

TEST(image_folder, the_share_is_taken_and_leaves_something_for_both) {
  const TemporaryFolder folder;
  write_pictures(folder.path(), 4);
  const auto tests = [&](double share) {
    return read_image_folder(folder.path(), {.test_share = share}).test.size();
  };
  EXPECT_EQ(tests(0.5), 8U);
  EXPECT_EQ(tests(0.01), 4U);
  EXPECT_EQ(tests(0.99), 12U);
  EXPECT_EQ(tests(1), 16U);
  EXPECT_EQ(tests(0), 0U);
  EXPECT_THROW(tests(1.1), UsageError);
}

TEST(image_folder, parts_in_folders_are_taken_as_they_are) {
  const TemporaryFolder folder;
  write_pictures(folder / "train", 5);
  write_pictures(folder / "val", 3);
  write_pictures(folder / "test", 2);
  const ImageFolder found = read_image_folder(folder.path());
  EXPECT_EQ(found.training.size(), 20U);
  EXPECT_EQ(found.test.size(), 12U);  // what a training is judged by
  std::filesystem::remove_all(folder / "val");
  std::filesystem::remove_all(folder / "test/north west");
  const ImageFolder fewer = read_image_folder(folder.path());
  EXPECT_EQ(fewer.test.size(), 6U);
  EXPECT_EQ(fewer.test.back().label, 3);
}

TEST(image_folder, other_files_and_hidden_ones_are_no_samples) {
  const TemporaryFolder folder;
  write_pictures(folder.path(), 3);
  write_file(folder / "north east/notes.txt", "x");
  write_file(folder / "north east/.hidden.png", "x");
  std::filesystem::create_directories(folder / ".git/objects");
  std::filesystem::create_directories(folder / "south west/deeper");
  write_file(folder / "south west/deeper/p.PNG", testing_files::png_of(3, 5));
  std::filesystem::create_directory_symlink(folder.path(), folder / "south west/loop");
  const ImageFolder found = read_image_folder(folder.path());
  EXPECT_EQ(found.training.size() + found.test.size(), 13U);
  EXPECT_EQ(found.other_files, std::vector<std::string>{folder / "north east/notes.txt"});
}

TEST(image_folder, what_makes_no_classes_is_refused) {
  const TemporaryFolder folder;
  EXPECT_EQ(refusal(folder / "none"), (folder / "none") + ": there is no such folder");
  write_pictures(folder / "a", 2);
  std::filesystem::create_directories(folder / "a/empty");
  EXPECT_EQ(refusal(folder / "a"),
            (folder / "a/empty") + ": expected pictures or sounds of class 'empty', found none");
  std::filesystem::create_directories(folder / "b/only");
  write_file(folder / "b/only/p.png", testing_files::png_of(0, 1));
  EXPECT_EQ(
      refusal(folder / "b"),
      (folder / "b") +
          ": expected a folder of pictures or sounds for each of two or more classes, found only "
          "'only'");
  write_pictures(folder / "c/train", 2);
  write_pictures(folder / "c/test", 2);
  std::filesystem::rename(folder / "c/test/north east", folder / "c/test/up");
  EXPECT_EQ(refusal(folder / "c"),
            (folder / "c/test") + ": has a class 'up', which " + (folder / "c/train") + " has not");
  std::filesystem::create_directories(folder / "d/bad\xff");
  write_file(folder / "d/bad\xff/p.png", testing_files::png_of(0, 1));
  EXPECT_NE(refusal(folder / "d").find("must be UTF-8"), std::string::npos);
}

TEST(image_folder, pictures_are_found_in_order_and_a_file_is_itself) {
  const TemporaryFolder folder;
  write_pictures(folder.path(), 2);
  const std::vector<std::string> found = find_images(folder.path());
  EXPECT_EQ(found.size(), 8U);
  EXPECT_TRUE(std::ranges::is_sorted(found));
  EXPECT_EQ(find_images(found[3]), std::vector<std::string>{found[3]});
  EXPECT_THROW(find_images(folder / "none"), DataError);
  std::filesystem::create_directories(folder / "empty");
  EXPECT_THROW(find_images(folder / "empty"), DataError);
}

TEST(image_folder, data_are_opened_as_what_they_are) {
  const TemporaryFolder folder;
  write_pictures(folder.path(), 3);
  EXPECT_TRUE(std::holds_alternative<ImageFolder>(open_data(folder.path())));
  EXPECT_TRUE(std::holds_alternative<DataSplit>(open_data("glyphs")));
  EXPECT_THROW(load_data(folder.path()), DataError);
  EXPECT_THROW(open_data("glyphs", {.test_share = -1}), UsageError);
}

}  // namespace
}  // namespace narrowgauge::image_folder_test
