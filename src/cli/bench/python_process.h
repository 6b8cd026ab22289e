// SPDX-License-Identifier: Apache-2.0
// A script in Python that answers each line it is given by one line of JSON: how benchmarks ask
// other libraries for the same work.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/common/subprocess.h"
#include "narrowgauge/error.h"

namespace narrowgauge::cli {

// The fields of an answer; those that it lacks are empty, 0 or false.
class PythonAnswer {
 public:
  struct Content;
  explicit PythonAnswer(std::shared_ptr<const Content> content) : content_(std::move(content)) {}

  std::string text(std::string_view field) const;
  double number(std::string_view field) const;
  std::vector<double> numbers(std::string_view field) const;
  bool is(std::string_view field) const;
  std::string error() const { return text("error"); }

 private:
  std::shared_ptr<const Content> content_;
};

class PythonProcess {
 public:
  // Starts NARROWGAUGE_TORCH_PYTHON or else python3 on a script of share/narrowgauge; `who` begins
  // the messages of errors: "--against torch". Throws DataError if there is no such script.
  PythonProcess(std::string who, const std::string& script, std::vector<std::string> words);

  void write_line(const std::string& line) { process_.write_line(line); }
  // The next answer. Throws UsageError if Python cannot be started, DeviceError if it ended.
  PythonAnswer read_answer();
  // The next answer; throws Error for one that tells of an error.
  template <class Error>
  PythonAnswer read_success() {
    PythonAnswer answer = read_answer();
    require<Error>(answer.error().empty(), who_, ": ", answer.error());
    return answer;
  }

 private:
  std::string who_, python_;
  Subprocess process_;
};

}  // namespace narrowgauge::cli
