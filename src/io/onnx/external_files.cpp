// SPDX-License-Identifier: Apache-2.0
#include "io/onnx/external_files.h"

#include <algorithm>
#include <charconv>

#include "base/text/printable.h"
#include "narrowgauge/error.h"

namespace narrowgauge::onnx {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_of_a_path = 200;  // bytes in a message

const std::string* find(const Entries& entries, std::string_view key) {
  const auto found = std::ranges::find(entries, key, &Entry::key);
  return found == entries.end() ? nullptr : &found->value;
}

std::optional<std::int64_t> number(const Entries& entries, std::string_view key) {
  const std::string* const text = find(entries, key);
  if (!text) return {};
  std::int64_t value = -1;
  const char* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, value);
  require<DataError>(error == std::errc() && stop == end && value >= 0,
                     "expected a number of bytes as ", key, " of its external data, found '",
                     printable(*text, most_of_a_path), "'");
  return value;
}

// The real path of a file of the folder, which has no symbolic links left.
fs::path path_inside(const fs::path& folder, const std::string& location) {
  const std::string shown = concat("external data '", printable(location, most_of_a_path), "'");
  const fs::path relative(location);
  require<DataError>(!location.empty() && relative.is_relative() &&
                         location.find('\0') == std::string::npos &&
                         std::ranges::count(relative, fs::path("..")) == 0,
                     shown, ": expected a path inside of the model's folder");
  std::error_code error;
  const fs::path root = fs::canonical(folder.empty() ? fs::path(".") : folder, error);
  const fs::path real = error ? fs::path() : fs::canonical(root / relative, error);
  require<DataError>(!error, shown, ": ", error.message());
  const auto [end_of_root, at] = std::ranges::mismatch(root, real);
  require<DataError>(end_of_root == root.end(), shown, ": leads out of the model's folder");
  return real;
}

}  // namespace

ExternalFiles::ExternalFiles(fs::path folder, Mapping mapping)
    : ExternalFiles([folder = std::move(folder), mapping](const std::string& location) {
        return map_file(path_inside(folder, location).string(), mapping);
      }) {}

const SharedBytes& ExternalFiles::file(const std::string& location) {
  const auto found = files_.find(location);
  if (found != files_.end()) return found->second;
  return files_[location] = find_(location);
}

SharedBytes ExternalFiles::bytes_of(const TensorData& tensor) {
  const std::string* const location = find(tensor.external_data, "location");
  require<DataError>(location != nullptr, "its external data have no location");
  const std::int64_t offset = number(tensor.external_data, "offset").value_or(0);
  const std::optional<std::int64_t> stated = number(tensor.external_data, "length");
  const std::optional<std::int64_t> needed = raw_bytes(tensor);
  require<DataError>(needed.has_value(), name_of(tensor.data_type), " cannot be external data");
  require<DataError>(stated.value_or(*needed) == *needed, "expected ", *needed,
                     " bytes of external data, its length is ", stated.value_or(0));
  const SharedBytes& held = file(*location);
  const auto size = static_cast<std::int64_t>(held.size());
  require<DataError>(offset <= size && *needed <= size - offset, "external data '",
                     printable(*location, most_of_a_path), "': expected ", *needed,
                     " bytes at offset ", offset, ", the file has ", size);
  return held.part(
      held.view().substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(*needed)));
}

}  // namespace narrowgauge::onnx
