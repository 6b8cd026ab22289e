// SPDX-License-Identifier: Apache-2.0
// Files of pictures in folders, and how they are divided into parts.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

namespace narrowgauge {

bool is_image_name(const std::filesystem::path& path);  // by its ending

// What lies in a folder, in order of names, without what begins with a dot. Throws DataError.
std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder);
std::vector<std::filesystem::path> folders_in(const std::filesystem::path& folder);
// Calls `take` for each file below a folder, in order, until it says false. Links to folders are
// not followed: they may lead back.
bool each_file(const std::filesystem::path& folder,
               const std::function<bool(const std::filesystem::path&)>& take);

// Whether each of some files is for the test: the first by a hash of their paths in `root`, so that
// a file that is added moves at most one other. Where both parts are wanted, both get some.
std::vector<bool> tests_among(const std::vector<std::filesystem::path>& files,
                              const std::filesystem::path& root, double share);

// The part for training and that for the test, where there are folders of these names.
struct FolderParts {
  std::filesystem::path training, test;
  explicit operator bool() const { return !training.empty() && !test.empty(); }
};
FolderParts parts_in(const std::filesystem::path& folder);

// The folder of the masks beside a folder images; empty where there are no such two.
std::filesystem::path masks_in(const std::filesystem::path& folder);
bool has_masks(const std::filesystem::path& folder);  // it, or its part for training

}  // namespace narrowgauge
