// SPDX-License-Identifier: Apache-2.0
#include "cli/common/subprocess.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "cli/common/interrupt.h"
#include "narrowgauge/error.h"

namespace narrowgauge::cli {
namespace {

std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{};
  const bool made = pipe2(ends.data(), O_CLOEXEC) == 0;
  require<DataError>(made, "pipe: ", std::strerror(errno));
  return ends;
}

}  // namespace

Subprocess::Subprocess(std::vector<std::string> words) {
  const std::array<int, 2> to = make_pipe(), from = make_pipe();
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  child_ = fork();
  require<DataError>(child_ >= 0, words.front(), ": cannot be started: ", std::strerror(errno));
  if (child_ == 0) {
    dup2(to[0], STDIN_FILENO);
    dup2(from[1], STDOUT_FILENO);
    take_interrupts_again();
    execvp(arguments.front(), arguments.data());
    _exit(cannot_start);
  }
  close(to[0]);
  close(from[1]);
  input_ = fdopen(to[1], "w");
  output_ = fdopen(from[0], "r");
}

Subprocess::~Subprocess() { wait(); }

void Subprocess::write_line(const std::string& line) {
  if (child_ < 0) return;
  std::fputs((line + '\n').c_str(), input_);
  std::fflush(input_);
}

std::optional<std::string> Subprocess::read_line() {
  if (child_ < 0) return {};
  char* line = nullptr;
  std::size_t room = 0;
  const ssize_t length = getline(&line, &room, output_);
  std::optional<std::string> result;
  if (length > 0) result = std::string(line, static_cast<std::size_t>(length));
  std::free(line);
  return result;
}

int Subprocess::wait() {
  if (child_ < 0) return code_;
  std::fclose(input_);
  int status = 0;
  while (waitpid(child_, &status, 0) < 0 && errno == EINTR) {
  }
  std::fclose(output_);
  child_ = -1;
  code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return code_;
}

}  // namespace narrowgauge::cli
