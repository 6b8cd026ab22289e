// SPDX-License-Identifier: Apache-2.0
// Makes and removes a folder as a whole: its name exists with all its content or not at all, even
// after a power failure. Errors are DataErrors.
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

// Brings the names in a folder to disk, on file systems that can.
void sync_folder(const std::string& path);
// Makes the folder and any missing folders above it.
void make_folders(const std::string& path);
// Removes a folder, renaming it first. What cannot be removed keeps the temporary name.
void remove_folder(const std::string& path);
// Puts a symbolic link to `to` in place of whatever file has the name. Not brought to disk.
void replace_by_link(const std::string& path, const std::string& to);

}  // namespace narrowgauge
