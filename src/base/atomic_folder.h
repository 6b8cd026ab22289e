// SPDX-License-Identifier: Apache-2.0
// Making and removing a folder as a whole: its name is there with all that belongs in it, or not at
// all, also after the power failed. Errors are DataErrors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace narrowgauge {

// Files are put into temporary() by AtomicFile; commit() gives the folder its name, which must not
// be taken. Without commit() nothing remains.
class AtomicFolder {
 public:
  explicit AtomicFolder(std::string path);
  ~AtomicFolder();
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;

  const std::string& path() const { return path_; }
  const std::string& temporary() const { return temporary_; }
  void commit();  // once, when its files are committed

  struct File {
    std::string name;
    std::uint64_t bytes = 0;
    std::string sha256;
  };
  const std::vector<File>& files() const { return files_; }  // that are committed
  void add(File file) { files_.push_back(std::move(file)); }

 private:
  std::string path_, temporary_;  // the latter is empty when there is none
  std::vector<File> files_;
};

// Brings the names in a folder to disk. File systems that cannot are passed over.
void sync_folder(const std::string& path);
// The folder and those above it that are missing.
void make_folders(const std::string& path);
// Takes its name away first. What cannot be removed stays under a temporary name.
void remove_folder(const std::string& path);
// A symbolic link to `to` in place of whatever file has the name. Not brought to disk.
void replace_by_link(const std::string& path, const std::string& to);

}  // namespace narrowgauge
