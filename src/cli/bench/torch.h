// SPDX-License-Identifier: Apache-2.0
// How our training compares with torch's on the same network, weights and batch.
#pragma once

#include <string>
#include <vector>

#include "cli/bench/torch_process.h"
#include "cli/common/json.h"
#include "narrowgauge/bench.h"

namespace narrowgauge::cli {

std::string in_torch(const std::string& precision);  // what torch calls it

class TorchRival : public Rival {
 public:
  explicit TorchRival(int threads) : process_(threads) {}

  std::string version() const override { return process_.version(); }
  std::vector<BenchRow> rows_beside(std::span<const BenchRow> own) const override;
  void open(const Model& model, const Graph& graph, std::span<const Tensor> batch) override {
    process_.open(model, graph, batch);
  }
  Steps train(const BenchRow& row, std::int64_t steps) override;

 private:
  TorchProcess process_;
};

// Torch's faster layout in the row's precision or, if it has none, in its fastest precision;
// nullptr if torch did not run.
const BenchRow* torch_for(const BenchOutcome& outcome, const BenchRow& row);

std::string torch_table(const BenchOutcome& outcome);
std::vector<JsonObject> torch_json(const BenchOutcome& outcome);

// Throws CheckError if the losses of the first and third step differ from torch's: then the
// networks are not the same and the times mean nothing. Skips networks with dropout, which draws
// different numbers.
void check_losses(const BenchOutcome& outcome);

}  // namespace narrowgauge::cli
