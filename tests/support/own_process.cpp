// SPDX-License-Identifier: Apache-2.0
#include "support/own_process.h"

#include <cxxabi.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <typeinfo>

#include "narrowgauge/error.h"

namespace narrowgauge::testing_support {

namespace {

struct Outcome {
  std::string text;
  bool is_usage_error = false;
};

// "UsageError" of narrowgauge::UsageError, "std::bad_function_call".
std::string type_of(const std::exception& error) {
  const std::unique_ptr<char, void (*)(void*)> spelled(
      abi::__cxa_demangle(typeid(error).name(), nullptr, nullptr, nullptr), std::free);
  const std::string name = spelled ? spelled.get() : typeid(error).name();
  constexpr std::string_view ours = "narrowgauge::";
  return name.starts_with(ours) ? name.substr(ours.size()) : name;
}

Outcome outcome_of(const std::function<void()>& call) {
  try {
    call();
    return {"returned"};
  } catch (const UsageError& error) {
    return {type_of(error) + ": " + error.what(), true};
  } catch (const std::exception& error) {
    return {type_of(error) + ": " + error.what()};
  } catch (...) {
    return {"something thrown that is no exception"};
  }
}

void write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written <= 0) _exit(1);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string read_all(int file) {
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t count; (count = read(file, part.data(), part.size())) > 0;)
    text.append(part.data(), static_cast<std::size_t>(count));
  return text;
}

#ifdef __SANITIZE_THREAD__
// This sanitizer follows no threads of a child.
Outcome outcome_apart(const std::function<void()>& call) { return outcome_of(call); }
#else
Outcome outcome_apart(const std::function<void()>& call) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw std::runtime_error("no pipe for a child");
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no process for a child");
  if (child == 0) {
    close(ends[0]);
    alarm(60);
    const Outcome outcome = outcome_of(call);
    write_all(ends[1], (outcome.is_usage_error ? "u" : "-") + outcome.text);
    _exit(0);
  }
  close(ends[1]);
  const std::string told = read_all(ends[0]);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    return {"signal " + std::to_string(number) + " (" + strsignal(number) + ")"};
  }
  if (told.empty()) return {"exit " + std::to_string(WEXITSTATUS(status))};
  return {told.substr(1), told[0] == 'u'};
}
#endif

}  // namespace

std::string outcome_in_own_process(const std::function<void()>& call) {
  return outcome_apart(call).text;
}

testing::AssertionResult ends_by_usage_error(const std::function<void()>& call,
                                             std::string_view text) {
  const Outcome outcome = outcome_apart(call);
  if (outcome.is_usage_error && outcome.text.find(text) != std::string::npos)
    return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "expected a UsageError that says \"" << text << "\", got " << outcome.text;
}

}  // namespace narrowgauge::testing_support
