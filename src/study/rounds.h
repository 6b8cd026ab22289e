// SPDX-License-Identifier: Apache-2.0
// The rows of one network that train together, by turns.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "study/contender.h"

namespace narrowgauge {

// What a benchmark is about: its task, who watches, and who competes (nullptr: nobody).
struct BenchRun {
  const BenchTask& task;
  const BenchWatch& watch;
  Rival* rival = nullptr;

  bool stopped() const { return watch.stop && watch.stop(); }
  void tell(const BenchStatus& status) const {
    if (watch.status) watch.status(status);
  }
  const BenchNetwork& network(const std::string& name) const;
};

class Rounds {
 public:
  // `precisions` has that of each row of ours, without "auto".
  Rounds(const BenchRun& run, std::span<BenchRow> rows, const std::vector<std::string>& precisions);

  // Warms up, trains all iterations and fills in the rows.
  void train();

 private:
  void make_batch(const BenchNetwork& network, const Contender& first);
  void warm_up(std::size_t i);
  bool is_slow(std::size_t i) const;
  void train_round(std::size_t round);
  double step(std::size_t i, std::int64_t count);
  void tell(BenchStatus::Stage stage, const BenchRow& row) const;

  const BenchRun& run_;
  std::span<BenchRow> rows_;
  std::vector<std::unique_ptr<Contender>> own_;  // one for each row, none for a rival's
  std::vector<double> last_warm_up_;  // seconds of each row's last batch before the rounds
  std::vector<Tensor> batch_;
};

}  // namespace narrowgauge
