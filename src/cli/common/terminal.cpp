// SPDX-License-Identifier: Apache-2.0
#include "cli/common/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/text/printable.h"
#include "cli/common/text.h"
#include "narrowgauge/error.h"

namespace narrowgauge::cli {
namespace {

int output_error = 0;
bool status_shown = false;

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// The width in columns; 0 if nothing says it. Text in COLUMNS that is no number is ignored.
int wished_width() {
  const std::string_view text = variable("COLUMNS");
  int columns = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
  return error == std::errc{} && end == text.data() + text.size() ? std::max(columns, 0) : 0;
}

int width_of_terminal(int file) {
  winsize size{};
  return ioctl(file, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void write_error(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

bool stderr_is_terminal() {
  static const bool result = isatty(STDERR_FILENO) == 1 && variable("TERM") != "dumb";
  return result;
}

bool colours_wanted() { return stderr_is_terminal() && variable("NO_COLOR").empty(); }

int terminal_width(int file) {
  constexpr int usual = 80;
  for (const int width :
       {wished_width(), width_of_terminal(file), width_of_terminal(STDERR_FILENO)})
    if (width > 0) return width;
  return usual;
}

std::size_t output_width() { return static_cast<std::size_t>(terminal_width(STDOUT_FILENO)); }

void print(std::string_view text) { print_bytes(printable_lines(text)); }

void print_bytes(std::string_view bytes) {
  errno = 0;
  const bool whole = std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size();
  if ((!whole || std::fflush(stdout) != 0) && output_error == 0) output_error = errno ? errno : EIO;
}

void print_text(std::string_view text) {
  const bool known = wished_width() > 0 || width_of_terminal(STDOUT_FILENO) > 0;
  print(known ? folded_lines(text, output_width()) : std::string(text));
}

bool output_failed() { return output_error != 0; }

void finish_output() {
  // Whoever closed the pipe had read enough.
  require<DataError>(output_error == 0 || output_error == EPIPE,
                     "standard output: cannot write: ", std::strerror(output_error));
}

void say(std::string_view kind, std::string_view text) {
  std::string line = concat("narrowgauge: ", kind, kind.empty() ? "" : ": ", text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  constexpr std::size_t most = 4000;  // whatever a file or flag put into it
  line = printable(line, most);
  show_status("");
  write_error(line + '\n');
}

void show_status(const std::string& line) {
  if (!stderr_is_terminal() || (line.empty() && !status_shown)) return;
  const bool stays = line.ends_with('\n');
  write_error("\r\033[K" + line);
  status_shown = !line.empty() && !stays;
}

}  // namespace narrowgauge::cli
