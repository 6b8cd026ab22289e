// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "base/machine/floating_environment.h"
#include "base/text/nearest.h"
#include "io/files/input_file.h"
#include "io/readers/reader.h"
#include "io/readers/test_share.h"

namespace narrowgauge {
namespace {

constexpr std::size_t head_bytes = 4096;

DataPlace look_at(const std::string& name) {
  DataPlace place{.name = name};
  std::error_code ignored;
  place.is_folder = std::filesystem::is_directory(name, ignored);
  place.is_file = std::filesystem::is_regular_file(name, ignored);
  if (!place.is_file) return place;
  place.head.resize(head_bytes);
  place.head.resize(open_maybe_gzip(name)->read(std::as_writable_bytes(std::span(place.head))));
  return place;
}

std::string what_is(const DataPlace& place, const std::vector<std::string>& names) {
  if (place.is_folder) return ", found a folder of other files";
  if (place.is_file) return ", found a file of another format";
  return ", found none of them" + suggestion(place.name, names);
}

}  // namespace

bool DataPlace::holds(const std::string& file) const {
  std::error_code ignored;
  const std::filesystem::path path = std::filesystem::path(name) / file;
  return is_folder && (std::filesystem::exists(path, ignored) ||
                       std::filesystem::exists(path.string() + ".gz", ignored));
}

std::string data_help() {
  std::string text;
  const std::vector<const DataReader*> all = readers();
  for (std::size_t i = 0; i < all.size(); ++i)
    text += concat(i == 0 ? "" : i + 1 == all.size() ? " or " : ", ", all[i]->help);
  return text;
}

std::vector<std::string> data_names() {
  std::vector<std::string> names;
  for (const DataReader* reader : readers()) {
    const bool is_word = reader->takes({.name = std::string(reader->name)});
    if (is_word) names.emplace_back(reader->name);
  }
  return names;
}

Data open_data(const std::string& name_or_path, const DataOptions& options) {
  const FloatingEnvironment environment(Subnormals::keep);
  check_test_share(options.test_share, "data");
  const DataPlace place = look_at(name_or_path);
  for (const DataReader* reader : readers())
    if (reader->takes(place)) return reader->read(name_or_path, options);
  throw DataError(
      concat("data ", name_or_path, ": expected ", data_help(), what_is(place, data_names())));
}

DataSplit load_data(const std::string& name_or_path) {
  Data data = open_data(name_or_path);
  DataSplit* const split = std::get_if<DataSplit>(&data);
  require<DataError>(split != nullptr, "data ", name_or_path,
                     ": is a folder of pictures, which are read while they are used");
  return std::move(*split);
}

}  // namespace narrowgauge
