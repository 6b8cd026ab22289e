// SPDX-License-Identifier: Apache-2.0
#include "cli/program.h"

#include <fcntl.h>
#include <pty.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/refuse_threads.h"
#include "io/files.h"

namespace narrowgauge::testing_cli {

std::string program_path() {
  const char* path = std::getenv("NARROWGAUGE_PROGRAM");
  return path ? path : "build/release/narrowgauge";
}

void become_program(const Words& words, const Surroundings& surroundings) {
  unsetenv("NO_COLOR");
  unsetenv("COLUMNS");
  setenv("TERM", "xterm", 1);
  for (const auto& [name, value] : surroundings.variables) {
    if (value.empty())
      unsetenv(name.c_str());
    else
      setenv(name.c_str(), value.c_str(), 1);
  }
  if (surroundings.file_limit > 0) {
    const auto bytes = static_cast<rlim_t>(surroundings.file_limit);
    const rlimit limit{bytes, bytes};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  if (surroundings.ignores_hangups) signal(SIGHUP, SIG_IGN);
  if (surroundings.refuse_threads && !testing_threads::refuse_threads()) _exit(126);
  if (surroundings.address_space > 0) {
    const auto bytes = static_cast<rlim_t>(surroundings.address_space);
    const rlimit limit{bytes, bytes};
    setrlimit(RLIMIT_AS, &limit);
  }
  std::string path = program_path();
  std::vector<char*> arguments{path.data()};
  Words copy = words;
  for (std::string& word : copy) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(path.c_str(), arguments.data());
  _exit(127);
}

int wait_for(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

namespace {

// Whether a process has a handler for a signal: one that is for the first alone is gone after it.
bool handles(pid_t process, int signal) {
  const std::string status =
      testing_files::read_file("/proc/" + std::to_string(process) + "/status");
  const std::size_t mask = status.find("SigCgt:");
  if (mask == std::string::npos) return false;
  return (std::stoull(status.substr(mask + 7), nullptr, 16) >> (signal - 1) & 1) != 0;
}

void interrupt(pid_t child, const Surroundings& surroundings) {
  kill(child, surroundings.interrupt_by);
  if (surroundings.interrupt_again_by == 0) return;
  for (int tries = 0; tries < 10000 && handles(child, surroundings.interrupt_by); ++tries)
    usleep(1000);
  kill(child, surroundings.interrupt_again_by);
}

// All that comes from a file until its end; interrupts the child as soon as that has what its
// surroundings name.
std::string read_all(int file, pid_t child, const Surroundings& surroundings) {
  bool interrupts = !surroundings.interrupt_at.empty();
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t count = read(file, buffer, sizeof buffer);
    if (count <= 0) break;
    text.append(buffer, static_cast<std::size_t>(count));
    if (!interrupts || !contains(text, surroundings.interrupt_at)) continue;
    interrupts = false;
    interrupt(child, surroundings);
  }
  close(file);
  return text;
}

Result run_on_terminal(const Words& words, const Surroundings& surroundings) {
  winsize size{};
  size.ws_row = 24;
  size.ws_col = static_cast<unsigned short>(surroundings.columns);
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) become_program(words, surroundings);
  Result result;
  result.out = read_all(terminal, child, surroundings);
  result.code = wait_for(child);
  return result;
}

}  // namespace

bool has_terminals() {
  int terminal = -1;
  int program_side = -1;
  if (openpty(&terminal, &program_side, nullptr, nullptr, nullptr) != 0) return false;
  close(terminal);
  close(program_side);
  return true;
}

Result run(const Words& words, const Surroundings& surroundings) {
  if (surroundings.columns > 0) return run_on_terminal(words, surroundings);
  testing_files::TemporaryFolder folder;
  const std::string out = surroundings.stdout_to.empty() ? folder / "out" : surroundings.stdout_to;
  int errors[2];
  if (pipe(errors) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    const int file = open(out.c_str(), O_WRONLY | O_CREAT, 0600);
    dup2(file, STDOUT_FILENO);
    dup2(errors[1], STDERR_FILENO);
    close(errors[0]);
    become_program(words, surroundings);
  }
  close(errors[1]);
  Result result;
  result.err = read_all(errors[0], child, surroundings);
  result.code = wait_for(child);
  if (surroundings.stdout_to.empty()) result.out = testing_files::read_file(out);
  return result;
}

int line_count(const std::string& text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos) return "";
  const std::size_t begin = text.rfind('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1, end - (begin + 1) + 1);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace narrowgauge::testing_cli
