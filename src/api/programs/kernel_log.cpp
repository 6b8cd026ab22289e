// SPDX-License-Identifier: Apache-2.0
#include "api/programs/kernel_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <ranges>
#include <span>
#include <system_error>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/files/atomic_file.h"
#include "base/files/descriptor.h"
#include "base/files/open_file.h"
#include "base/hash/xxh64.h"
#include "narrowgauge/error.h"

namespace narrowgauge {
namespace {

constexpr std::size_t hash_size = 16;  // hexadecimal digits

std::string hash_digits(std::string_view text) {
  std::uint64_t hash = xxh64(std::as_bytes(std::span(text)));
  std::string result(hash_size, '0');
  for (std::size_t i = hash_size; i-- > 0; hash >>= 4) result[i] = "0123456789abcdef"[hash & 15];
  return result;
}

// The text without the signs that separate fields and lines.
std::string escaped(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    if (c == '\\' || c == '\t' || c == '\n') result += '\\';
    result += c == '\t' ? 't' : c == '\n' ? 'n' : c;
  }
  return result;
}

std::string unescaped(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '\\' && i + 1 < text.size();
    const char c = is_escape ? text[++i] : text[i];
    result += is_escape && c == 't' ? '\t' : is_escape && c == 'n' ? '\n' : c;
  }
  return result;
}

// A line without its checksum; nothing for one that is not whole.
std::optional<std::string_view> whole_line(std::string_view line) {
  if (line.size() <= hash_size || line[hash_size] != ' ') return {};
  const std::string_view rest = line.substr(hash_size + 1);
  if (hash_digits(rest) != line.substr(0, hash_size)) return {};
  return rest;
}

template <class Visit>
void for_each_log_line(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    visit(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
}

std::string reason_text() { return std::generic_category().message(errno); }

class LogFile {
 public:
  LogFile(const std::string& path, Descriptor file) : path_(path), file_(std::move(file)) {
    check(file_.get() >= 0);
  }

  void check(bool condition) const {
    require<DataError>(condition, path_, ": cannot be used (", reason_text(), ")");
  }

  struct stat status() const {
    struct stat found {};
    check(fstat(file_.get(), &found) == 0);
    return found;
  }

  std::string read(std::int64_t begin, std::int64_t end) const {
    std::string text(static_cast<std::size_t>(end - begin), '\0');
    std::size_t done = 0;
    while (done < text.size()) {
      const ssize_t got = pread(file_.get(), text.data() + done, text.size() - done,
                                static_cast<off_t>(begin) + static_cast<off_t>(done));
      if (got < 0 && errno == EINTR) continue;
      check(got >= 0);
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    text.resize(done);
    return text;
  }

  // All at once, so that what others append at the same time stands before or behind it.
  void write(std::string_view text) const {
    ssize_t done = 0;
    do done = ::write(file_.get(), text.data(), text.size());
    while (done < 0 && errno == EINTR);
    check(done >= 0);
    require<DataError>(done == std::ssize(text), path_, ": only a part could be written");
  }

 private:
  const std::string& path_;
  Descriptor file_;
};

}  // namespace

std::string kernel_log_line(std::string_view machine, std::string_view key,
                            const KernelRecord& record) {
  const std::string rest = concat(hash_digits(machine), '\t', escaped(key), '\t',
                                  escaped(record.kernel), '\t', escaped(record.why));
  return concat(hash_digits(rest), ' ', rest, '\n');
}

KernelLog::KernelLog(std::string path, std::string machine, std::int64_t most_bytes)
    : path_(std::move(path)), machine_(hash_digits(machine)), most_bytes_(most_bytes) {}

void KernelLog::forget() {
  records_.clear();
  texts_.clear();
  read_ = 0;
}

void KernelLog::refresh() {
  struct stat named {};
  if (stat(path_.c_str(), &named) != 0) return;
  const bool same = named.st_dev == device_ && named.st_ino == number_ && named.st_size >= read_;
  if (same && named.st_size == read_) return;
  const LogFile file(path_, open_regular_file(path_));
  // A new file may have the number of one that was removed.
  const std::string begins = file.read(0, hash_size);
  if (!same || begins != begins_) forget();
  begins_ = begins;
  const struct stat found = file.status();
  device_ = found.st_dev;
  number_ = found.st_ino;
  const bool first = read_ == 0;
  const std::int64_t begin = std::max<std::int64_t>(read_, found.st_size - most_bytes_);
  std::string text = file.read(begin, std::max<std::int64_t>(begin, found.st_size));
  text.resize(text.rfind('\n') + 1);  // a line may be on its way
  read_ = begin + std::ssize(text);
  take(std::move(text));
  require<DataError>(!first || found.st_size == 0 || !texts_.empty(), path_,
                     ": is damaged: it holds no record of a kernel");
}

// Keeps a text only if it has a record of any machine.
void KernelLog::take(std::string text) {
  texts_.push_back(std::move(text));
  bool any = false;
  for_each_log_line(texts_.back(), [&](std::string_view line) { any |= add(line); });
  if (!any) texts_.pop_back();
}

bool KernelLog::add(std::string_view line) {
  const auto whole = whole_line(line);
  if (!whole) return false;
  if (!whole->starts_with(machine_) || whole->size() <= hash_size || (*whole)[hash_size] != '\t')
    return true;
  const std::string_view fields = whole->substr(hash_size + 1);
  const std::size_t end = fields.find('\t');
  if (end != fields.npos) records_[fields.substr(0, end)] = fields.substr(end + 1);
  return true;
}

std::optional<KernelRecord> KernelLog::find(std::string_view key) const {
  const auto found = records_.find(escaped(key));
  if (found == records_.end()) return {};
  const std::size_t end = found->second.find('\t');
  if (end == std::string_view::npos) return {};
  return KernelRecord{unescaped(found->second.substr(0, end)),
                      unescaped(found->second.substr(end + 1)), true};
}

void KernelLog::append(std::string_view lines) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
  // Opening a pipe without O_NONBLOCK waits for somebody to read.
  const int flags = O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  const LogFile file(path_, Descriptor(open(path_.c_str(), flags, 0666)));
  const struct stat found = file.status();
  const bool cut = S_ISREG(found.st_mode) && found.st_size > 0 &&
                   file.read(found.st_size - 1, found.st_size) != "\n";
  file.write(concat(cut ? "\n" : "", lines));
  if (S_ISREG(found.st_mode) && found.st_size + std::ssize(lines) > most_bytes_) shorten();
}

void KernelLog::replace(std::string_view lines) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
  write_file_atomically(path_, lines);
}

// Keeps the newest record of each key, as far as there is room. What others append meanwhile may be
// lost, and is measured again.
void KernelLog::shorten() {
  const LogFile file(path_, open_regular_file(path_));
  const std::int64_t size = file.status().st_size;
  const std::string text = file.read(std::max<std::int64_t>(0, size - most_bytes_), size);
  std::vector<std::string_view> lines;
  for_each_log_line(text, [&](std::string_view line) {
    if (whole_line(line)) lines.push_back(line);
  });
  std::unordered_set<std::string_view> known;  // machines with keys
  std::vector<std::string_view> kept;          // the newest first
  std::int64_t bytes = 0;
  for (const std::string_view line : std::views::reverse(lines)) {
    const std::string_view rest = line.substr(hash_size + 1);
    if (!known.insert(rest.substr(0, rest.find('\t', hash_size + 1))).second) continue;
    bytes += std::ssize(line) + 1;
    if (bytes > most_bytes_ / 2) break;
    kept.push_back(line);
  }
  std::string shorter;
  for (const std::string_view line : std::views::reverse(kept)) (shorter += line) += '\n';
  write_file_atomically(path_, shorter);
}

}  // namespace narrowgauge
