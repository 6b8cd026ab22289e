// SPDX-License-Identifier: Apache-2.0
// A model of a disk: what a process did to a folder, by the shim's log, and what of it a loss of
// power may leave. Sure is only what was brought to disk: bytes of a file by fsync of the file,
// names by fsync of their folder.
#pragma once

#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "disk/disk_log.h"
#include "io/files.h"

namespace narrowgauge::testing_disk {

struct Record {
  LogHeader header;
  std::string first, second;
};

inline std::vector<Record> read_log(const std::string& path) {
  const std::string text = testing_files::read_file(path);
  std::vector<Record> records;
  for (std::size_t at = 0; at < text.size();) {
    Record record;
    std::memcpy(static_cast<void*>(&record.header), text.data() + at, sizeof record.header);
    at += sizeof record.header;
    record.first = text.substr(at, record.header.first);
    at += record.header.first;
    record.second = text.substr(at, record.header.second);
    at += record.header.second;
    records.push_back(std::move(record));
  }
  return records;
}

enum class Survival {
  what_is_sure,   // nothing else
  names,          // all names, no bytes that were not brought to disk
  half_of_bytes,  // all names, half of those bytes
  some,           // names and bytes by chance
  all             // no loss of power: the process ended
};

class Disk {
 public:
  explicit Disk(const std::string& folder) { root_ = load(folder); }

  void apply(const Record& record) {
    const LogHeader& call = record.header;
    switch (call.call) {
      case Call::make:
        add_name(call.a, record.first, make(call.b, {}));
        break;
      case Call::make_folder:
        add_name(call.a, record.first, make(call.b, {.folder = true}));
        break;
      case Call::link:
        add_name(call.a, record.first, make(0, {.target = record.second}));
        break;
      case Call::remove:
        change(call.a, {record.first, "", 0});
        break;
      case Call::rename:
        rename(record);
        break;
      case Call::sync:
        sync(node(call.a));
        break;
      case Call::cut:
        node(call.a).bytes.resize(call.b);
        break;
      case Call::write: {
        std::string& bytes = node(call.a).bytes;
        bytes.resize(std::max<std::size_t>(bytes.size(), call.b + record.second.size()));
        bytes.replace(call.b, record.second.size(), record.second);
      }
    }
  }

  // The state as text, the same for the same files.
  std::string state(Survival survival, unsigned seed = 0) const {
    std::mt19937 random(seed);
    std::string text;
    describe(root_, "", survival, random, text);
    return text;
  }
  static void write_out(const std::string& state, const std::string& folder);

 private:
  struct Change {
    std::string removed, added;
    std::size_t id = 0;
  };
  struct Node {
    bool folder = false;
    std::string target{};  // of a link
    std::string bytes{}, sure_bytes{};
    std::map<std::string, std::size_t> names{}, sure_names{};
    std::vector<Change> changes{};  // of the names, not sure yet
  };

  Node& node(std::uint64_t inode) { return nodes_.at(by_inode_.at(inode)); }
  std::size_t make(std::uint64_t inode, Node node) {
    nodes_.push_back(std::move(node));
    if (inode != 0) by_inode_[inode] = nodes_.size() - 1;
    return nodes_.size() - 1;
  }
  std::size_t load(const std::filesystem::path& path) {
    namespace fs = std::filesystem;
    struct stat status {};
    lstat(path.c_str(), &status);
    Node node{.folder = S_ISDIR(status.st_mode)};
    if (S_ISLNK(status.st_mode)) node.target = fs::read_symlink(path).string();
    if (S_ISREG(status.st_mode)) node.bytes = node.sure_bytes = testing_files::read_file(path);
    if (node.folder)
      for (const auto& entry : fs::directory_iterator(path))
        node.names[entry.path().filename().string()] = load(entry.path());
    node.sure_names = node.names;
    return make(status.st_ino, std::move(node));
  }
  static void apply(std::map<std::string, std::size_t>& names, const Change& change) {
    if (!change.removed.empty()) names.erase(change.removed);
    if (!change.added.empty()) names[change.added] = change.id;
  }
  void change(std::uint64_t folder, const Change& change) {
    Node& in = node(folder);
    apply(in.names, change);
    in.changes.push_back(change);
  }
  void add_name(std::uint64_t folder, const std::string& name, std::size_t id) {
    change(folder, {"", name, id});
  }
  void rename(const Record& record) {
    const std::size_t id = node(record.header.a).names.at(record.first);
    if (record.header.a == record.header.b) {
      change(record.header.a, {record.first, record.second, id});
    } else {
      change(record.header.b, {"", record.second, id});
      change(record.header.a, {record.first, "", 0});
    }
  }
  static void sync(Node& node) {
    node.sure_bytes = node.bytes;
    node.sure_names = node.names;
    node.changes.clear();
  }

  static std::map<std::string, std::size_t> names_of(const Node& node, Survival survival,
                                                     std::mt19937& random) {
    if (survival == Survival::what_is_sure) return node.sure_names;
    if (survival != Survival::some) return node.names;
    auto names = node.sure_names;
    for (const Change& change : node.changes)
      if (random() % 2) apply(names, change);
    return names;
  }
  static std::string bytes_of(const Node& node, Survival survival, std::mt19937& random) {
    if (survival == Survival::all || node.bytes == node.sure_bytes) return node.bytes;
    unsigned choice = survival == Survival::half_of_bytes;
    if (survival == Survival::some) choice = static_cast<unsigned>(random() % 3);
    if (choice == 2) return node.bytes;
    return choice == 1 ? node.bytes.substr(0, node.bytes.size() / 2) : node.sure_bytes;
  }
  static void put(std::string& text, const std::string& part) {
    text += std::to_string(part.size()) + ' ' + part;
  }
  void describe(std::size_t id, const std::string& path, Survival survival, std::mt19937& random,
                std::string& text) const {
    const Node& node = nodes_[id];
    text += node.folder ? 'd' : node.target.empty() ? 'f' : 'l';
    put(text, path);
    put(text, node.target.empty() ? bytes_of(node, survival, random) : node.target);
    if (!node.folder) return;
    for (const auto& [name, inner] : names_of(node, survival, random))
      describe(inner, path + '/' + name, survival, random, text);
  }

  std::vector<Node> nodes_;
  std::map<std::uint64_t, std::size_t> by_inode_;
  std::size_t root_ = 0;
};

inline void Disk::write_out(const std::string& state, const std::string& folder) {
  std::size_t at = 0;
  const auto part = [&] {
    const std::size_t space = state.find(' ', at);
    const std::size_t size = std::stoul(state.substr(at, space - at));
    at = space + 1 + size;
    return state.substr(space + 1, size);
  };
  while (at < state.size()) {
    const char kind = state[at++];
    const std::string path = folder + part(), content = part();
    if (kind == 'd') std::filesystem::create_directories(path);
    if (kind == 'f') testing_files::write_file(path, content);
    if (kind == 'l') std::filesystem::create_symlink(content, path);
  }
}

}  // namespace narrowgauge::testing_disk
