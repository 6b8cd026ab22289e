// SPDX-License-Identifier: Apache-2.0
// Programs that predict by the same file by turns.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/bench/inference.h"
#include "cli/bench/python_process.h"

namespace narrowgauge::cli {

using Answers = std::vector<NamedTensor>;

// What predicts by a file: this library, or a peer in a process of its own.
class Contender {
 public:
  explicit Contender(InferenceRow& row) : row_(row) {}
  virtual ~Contender() = default;
  // Loads the file and predicts once; notes in the row what that took. The inputs must live on.
  virtual Answers load(const InferenceNetwork& network, const Answers& inputs) = 0;

  InferenceRow& row() { return row_; }
  void take_turn(double seconds);  // adds its times to the row

 protected:
  virtual std::vector<double> run(double seconds) = 0;  // seconds of each prediction

  InferenceRow& row_;
};

std::unique_ptr<Contender> make_own(InferenceRow& row);
std::unique_ptr<Contender> make_peer(InferenceRow& row, PythonProcess& process);

// The peers' processes; each computes in one precision.
class Peers {
 public:
  // Throws UsageError where a peer's library is missing.
  Peers(const InferenceTask& task, int threads);

  struct Entry {
    std::string name, precision, file;  // file: of its own, or ""
    std::string missing;                // why it does not compute in the precision; "" if it does
    std::unique_ptr<PythonProcess> process;
  };
  std::vector<Entry> entries;
  std::vector<std::string> versions;  // "onnxruntime 1.32.0"

 private:
  void start(const InferenceTask& task, const std::string& name, const std::string& precision,
             int threads);
};

}  // namespace narrowgauge::cli
