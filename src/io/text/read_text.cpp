// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <filesystem>

#include "base/files/memory.h"
#include "base/text/utf8.h"
#include "io/files/input_file.h"
#include "narrowgauge/text_data.h"

namespace narrowgauge {
namespace {

constexpr std::int64_t test_share = 10;  // one byte in so many of a single file
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
constexpr std::string_view replacement = "\xef\xbf\xbd";

std::string read_bytes(const std::string& path) {
  const std::unique_ptr<InputFile> file = open_maybe_gzip(path);
  constexpr std::size_t step = std::size_t{4} << 20;
  std::string text;
  if (!file->is_packed()) {
    require_memory({path, {{"text", file->largest_size()}}});
    text.reserve(static_cast<std::size_t>(file->largest_size()) + step);
  }
  for (std::size_t size = 0;; size = text.size()) {
    text.resize(size + step);
    text.resize(size + file->read(std::as_writable_bytes(std::span(text)).subspan(size)));
    if (text.size() == size) return text;
    require_memory({path, {{"text", std::ssize(text)}}});
  }
}

// The text of a file, once what is no UTF-8 is replaced.
struct CleanText {
  std::string text{};
  std::int64_t replaced = 0, first = 0;
};

bool is_ascii_text(char c) { return c > 0; }

CleanText cleaned(std::string bytes, const std::string& path) {
  const auto zero = std::ranges::find(bytes, '\0') - bytes.begin();
  require<DataError>(zero == std::ssize(bytes), path, ": is no text: byte ", zero, " is 0",
                     bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff")
                         ? " (it is in UTF-16: expected UTF-8)"
                         : "");
  CleanText clean;
  std::string_view rest(bytes);
  std::size_t kept = 0;  // bytes that are written already
  const auto write = [&](std::size_t until) { clean.text.append(bytes, kept, until - kept); };
  while (!rest.empty()) {
    const auto plain = std::ranges::find_if_not(rest, is_ascii_text) - rest.begin();
    rest.remove_prefix(static_cast<std::size_t>(plain));
    if (rest.empty()) break;
    const Character next = first_character(rest);
    const std::size_t at = bytes.size() - rest.size();
    if (next.bytes == 0) {
      if (clean.replaced++ == 0) clean.first = static_cast<std::int64_t>(at);
      write(at);
      clean.text += replacement;
      kept = at + 1;
    }
    rest.remove_prefix(std::max<std::size_t>(next.bytes, 1));
  }
  if (clean.replaced == 0) return {.text = std::move(bytes)};
  write(bytes.size());
  return clean;
}

CleanText read_one(const std::string& path, const TextReading& reading) {
  std::string bytes = read_bytes(path);
  if (!reading.utf8) {
    require<DataError>(!bytes.empty(), path, ": expected a text, found an empty file");
    return {.text = std::move(bytes)};
  }
  if (bytes.starts_with(byte_order_mark)) bytes.erase(0, byte_order_mark.size());
  require<DataError>(!bytes.empty(), path, ": expected a text, found an empty file");
  return cleaned(std::move(bytes), path);
}

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

TextSplit split_file(const std::string& path, const TextReading& reading) {
  CleanText all = read_one(path, reading);
  std::size_t cut = all.text.size() - all.text.size() / test_share;
  while (reading.utf8 && cut < all.text.size() && continues_character(all.text[cut])) ++cut;
  TextSplit split;
  split.test = all.text.substr(cut);
  split.replaced = all.replaced;
  split.first_replaced = all.first;
  all.text.resize(cut);
  split.train = std::move(all.text);
  require<DataError>(!split.test.empty(), path, ": expected at least ", test_share,
                     " characters, of which a tenth is for the test, found ", split.train.size());
  return split;
}

std::string file_in(const std::string& folder, const std::string& name) {
  const std::string path = (std::filesystem::path(folder) / name).string();
  std::error_code ignored;
  return std::filesystem::exists(path + ".gz", ignored) && !std::filesystem::exists(path, ignored)
             ? path + ".gz"
             : path;
}

TextSplit read_folder(const std::string& folder, const TextReading& reading) {
  CleanText train = read_one(file_in(folder, "train.txt"), reading);
  CleanText test = read_one(file_in(folder, "test.txt"), reading);
  return {std::move(train.text), std::move(test.text), train.replaced + test.replaced,
          train.replaced > 0 ? train.first : test.first};
}

}  // namespace

TextSplit read_text(const std::string& path, const TextReading& reading) {
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(path, ignored);
  return is_folder ? read_folder(path, reading) : split_file(path, reading);
}

}  // namespace narrowgauge
