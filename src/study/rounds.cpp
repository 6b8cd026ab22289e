// SPDX-License-Identifier: Apache-2.0
#include "study/rounds.h"

#include <algorithm>

#include "narrowgauge/error.h"

namespace narrowgauge {
namespace {

constexpr std::int64_t warm_up_batches = 2;
constexpr double far_behind = 1.5;  // more than noise and a first guess are apart

}  // namespace

const BenchNetwork& BenchRun::network(const std::string& name) const {
  const auto found = std::ranges::find(task.networks, name, &BenchNetwork::name);
  NG_INVARIANT(found != task.networks.end());
  return *found;
}

Rounds::Rounds(const BenchRun& run, std::span<BenchRow> rows,
               const std::vector<std::string>& precisions)
    : run_(run), rows_(rows) {
  const BenchNetwork& network = run.network(rows.front().model);
  tell(BenchStatus::Stage::making_weights, rows.front());
  for (std::size_t i = 0; i < rows.size(); ++i)
    own_.push_back(rows[i].is_rival()
                       ? nullptr
                       : std::make_unique<Contender>(run.task, network, precisions[i]));
  const auto first = std::ranges::find_if(own_, [](const auto& each) { return each != nullptr; });
  if (first != own_.end())
    make_batch(network, **first);
  else
    make_batch(network, Contender(run.task, network, "ieee"));
}

void Rounds::make_batch(const BenchNetwork& network, const Contender& first) {
  const Graph graph = first.graph();
  batch_ = random_batch(graph, run_.task.batch, network.ranges,
                        static_cast<std::uint64_t>(run_.task.seed));
  if (rows_.back().is_rival()) run_.rival->open(first.model(), graph, batch_);
}

void Rounds::train() {
  for (std::size_t i = 0; i < rows_.size() && !run_.stopped(); ++i) warm_up(i);
  for (std::int64_t k = 0; k < run_.task.iterations; ++k) train_round(static_cast<std::size_t>(k));
  const auto stop = [this] { return run_.stopped(); };
  const std::int64_t profiled = run_.task.profile && !run_.stopped() ? run_.task.batches : 0;
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if (own_[i]) own_[i]->finish(batch_, profiled, stop, rows_[i]);
}

void Rounds::warm_up(std::size_t i) {
  tell(BenchStatus::Stage::warming_up, rows_[i]);
  double seconds = 0;
  for (std::int64_t k = 0; k < warm_up_batches && !run_.stopped(); ++k) seconds = step(i, 1);
  last_warm_up_.push_back(seconds);
}

// Whether another of the rival's layouts in the same precision is far faster: then this one gets no
// more turns.
bool Rounds::is_slow(std::size_t i) const {
  for (std::size_t k = 0; k < rows_.size() && rows_[i].is_rival(); ++k)
    if (rows_[k].is_rival() && rows_[k].precision == rows_[i].precision &&
        last_warm_up_[i] > far_behind * last_warm_up_[k])
      return true;
  return false;
}

// The row that begins changes from round to round.
void Rounds::train_round(std::size_t round) {
  const BenchTask& task = run_.task;
  for (std::size_t turn = 0; turn < rows_.size() && !run_.stopped(); ++turn) {
    const std::size_t i = (turn + round) % rows_.size();
    if (is_slow(i)) continue;
    BenchRow& row = rows_[i];
    tell(BenchStatus::Stage::iterating, row);
    const double seconds = step(i, task.batches);
    if (run_.stopped()) return;
    row.rates.push_back(static_cast<double>(task.batch * task.batches) / seconds);
    if (run_.watch.iteration) run_.watch.iteration(row);
  }
}

double Rounds::step(std::size_t i, std::int64_t count) {
  BenchRow& row = rows_[i];
  if (own_[i])
    return own_[i]->step(
        batch_, count, [this] { return run_.stopped(); }, row);
  const Rival::Steps steps = run_.rival->train(row, count);
  for (const double loss : steps.losses) keep_loss(row, loss);
  return steps.seconds;
}

void Rounds::tell(BenchStatus::Stage stage, const BenchRow& row) const {
  run_.tell({.stage = stage,
             .model = row.model,
             .label = label_of(row),
             .number = static_cast<std::int64_t>(row.rates.size()) + 1,
             .of = run_.task.iterations,
             .rate = row.rates.empty() ? 0 : row.rates.back()});
}

}  // namespace narrowgauge
