// SPDX-License-Identifier: Apache-2.0
#include "cli/task/run_network.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "api/runs/checkpoint_files.h"
#include "base/files/open_file.h"
#include "base/files/output_path.h"
#include "cli/task/run_folder.h"
#include "io/onnx/read.h"
#include "io/onnx/write.h"

namespace narrowgauge::cli {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> paths_in(const std::string& folder) {
  std::error_code error;
  std::vector<fs::path> paths;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    paths.push_back(entry->path());
  return paths;
}

// The name of the network in a record; "" where it has none. Throws where it cannot be read.
std::string network_in(const std::string& record) {
  const auto json = nlohmann::json::parse(read_text_file(record));
  return json.contains("onnx") ? json.at("onnx").value("file", network_file) : std::string();
}

// The networks that the records of all checkpoints name, and that of an earlier version's folder.
std::set<std::string> networks_used_in(const std::string& folder) {
  std::set<std::string> used;
  std::vector<fs::path> places = paths_in(path_in(folder, "checkpoints"));
  places.emplace_back(folder);
  for (const fs::path& place : places)
    if (const fs::path record = place / run_file; fs::exists(record))
      used.insert(network_in(record.string()));
  return used;
}

bool is_unfinished_network(const std::string& name) {
  const std::size_t end = name.find(".onnx.");
  if (!name.starts_with('.') || end == std::string::npos) return false;
  const std::string network = name.substr(1, end + 4);
  return is_network_name(network) && is_temporary_name(name, network);
}

}  // namespace

bool is_network_name(const std::string& name) {
  if (name == network_file) return true;
  constexpr std::string_view begin = "network.", end = ".onnx";
  constexpr std::size_t digits = 12;
  return name.size() == begin.size() + digits + end.size() && name.starts_with(begin) &&
         name.ends_with(end) &&
         name.find_first_not_of("0123456789abcdef", begin.size()) == begin.size() + digits;
}

std::string keep_network(const std::string& folder, const std::string& network) {
  const std::string name = fs::path(network).filename().string();
  std::error_code ignored;
  if (is_network_name(name) && fs::equivalent(network, path_in(folder, name), ignored)) return name;
  const onnx::Model model = onnx::read_model(network);
  remove_unused_networks(folder);
  const bool taken = fs::exists(path_in(folder, network_file), ignored);
  const std::string kept = taken ? concat("network.", random_digits(), ".onnx") : network_file;
  onnx::write_model(path_in(folder, kept), model);
  return kept;
}

void remove_unused_networks(const std::string& folder) try {
  const std::set<std::string> used = networks_used_in(folder);
  for (const fs::path& path : paths_in(folder)) {
    const std::string name = path.filename().string();
    std::error_code ignored;
    if ((is_network_name(name) && !used.contains(name)) || is_unfinished_network(name))
      fs::remove(path, ignored);
  }
} catch (const std::exception&) {
  // A record that cannot be read may name any of them.
}

}  // namespace narrowgauge::cli
