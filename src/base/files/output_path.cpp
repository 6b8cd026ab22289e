// SPDX-License-Identifier: Apache-2.0
#include "base/files/output_path.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include "narrowgauge/error.h"

namespace narrowgauge {
namespace {

namespace fs = std::filesystem;

// The number N if the path is the link /proc/<this process>/fd/N, however it is reached.
int own_descriptor(const fs::path& path) {
  const std::string name = path.filename().string();
  int number = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc{} || end != name.data() + name.size()) return -1;
  std::error_code ignored;
  const fs::path folder = fs::canonical(path.parent_path(), ignored);
  const bool ours = folder == concat("/proc/", getpid(), "/fd");
  return ours ? number : -1;
}

constexpr std::size_t digits = 12;
constexpr std::string_view ending = ".tmp";

}  // namespace

std::string random_digits() {
  constexpr char hex[] = "0123456789abcdef";
  std::uint8_t bytes[digits / 2];
  require<DataError>(getrandom(bytes, sizeof bytes, 0) == static_cast<ssize_t>(sizeof bytes),
                     "the system gives no random numbers for the name of a temporary file");
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += hex[byte >> 4];
    text += hex[byte & 15];
  }
  return text;
}

std::optional<OutputPath> follow_output_path(const std::string& path) {
  constexpr int most_links = 40;  // the kernel's own limit
  OutputPath result;
  fs::path target = path;
  std::error_code error;
  for (int links = 0; fs::is_symlink(target, error); ++links) {
    if (links == most_links) {
      errno = ELOOP;
      return std::nullopt;
    }
    result.descriptor = own_descriptor(target);
    if (result.descriptor >= 0) break;
    target = target.parent_path() / fs::read_symlink(target, error);
  }
  result.target = target.string();
  struct stat status {};
  if (stat(result.target.c_str(), &status) == 0)
    result.existing = status;
  else if (errno != ENOENT)
    return std::nullopt;
  return result;
}

std::string temporary_path(const std::string& target) {
  constexpr std::size_t longest = 200;  // of a name, which may have 255 bytes
  const fs::path path = target;
  const std::string name = path.filename().string().substr(0, longest);
  const std::string temporary = concat('.', name, '.', random_digits(), ending);
  return (path.parent_path() / temporary).string();
}

bool is_temporary_name(const std::string& file_name, const std::string& name) {
  const std::string_view text = file_name;
  if (text.size() != name.size() + digits + ending.size() + 2 || !text.ends_with(ending))
    return false;
  const std::string_view drawn = text.substr(name.size() + 2, digits);
  return text.starts_with(concat('.', name, '.')) && std::ranges::all_of(drawn, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace narrowgauge
