// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <span>

#include "api/synthetic.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "cli/bench/contender.h"
#include "cli/common/interrupt.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/settings.h"
#include "narrowgauge/error.h"

namespace narrowgauge::cli {
namespace {

constexpr std::int64_t warm_up_batches = 2;
constexpr double far_behind = 1.5;  // more than noise and a first guess are apart

std::string status(const BenchTask& task, const BenchRow& row, const std::string& what) {
  return fmt::format("{}  {}  batch {}  {}", row.model, label_of(row), task.batch, what);
}

// Labels, and what a network for text reads: tokens of the vocabulary, two token types, nothing
// masked.
std::map<std::string, WholeNumbers> ranges_of(const NetworkChoice& network) {
  const bool span = network.head == Head::question_answering;
  return {{"labels", {0, span ? network.text.sequence : network.classes}},
          {"input_ids", {0, network.text.vocabulary}},
          {"token_type_ids", {0, 2}},
          {"attention_mask", {1, 1}}};
}

// The rows of one model that run together.
class Rounds {
 public:
  Rounds(const BenchTask& task, std::span<BenchRow> rows, TorchProcess* torch)
      : task_(task), rows_(rows) {
    const NetworkChoice network = bench_network(task, rows.front().model);
    show_status(status(task_, rows.front(), "making weights"));
    std::unique_ptr<OwnContender> for_torch;
    for (const BenchRow& row : rows) {
      if (row.is_torch()) continue;
      own_.push_back(std::make_unique<OwnContender>(task, network, row.precision));
    }
    if (own_.empty()) for_torch = std::make_unique<OwnContender>(task, network, "ieee");
    OwnContender& first = own_.empty() ? *for_torch : *own_.front();
    const Graph graph = first.graph();
    batch_ =
        random_batch(graph, task.batch, ranges_of(network), static_cast<std::uint64_t>(task.seed));
    const bool with_torch = rows.back().is_torch();
    if (with_torch) torch->open(first.model(), graph, batch_);
    std::size_t own = 0;
    for (const BenchRow& row : rows) {
      if (row.is_torch()) torch_.push_back(std::make_unique<TorchContender>(*torch, row));
      contenders_.push_back(row.is_torch() ? static_cast<Contender*>(torch_.back().get())
                                           : own_[own++].get());
    }
  }

  void run(const BenchListener& listener) {
    for (std::size_t i = 0; i < rows_.size() && !interrupted(); ++i) warm_up(i);
    for (std::int64_t k = 0; k < task_.iterations; ++k)
      run_round(static_cast<std::size_t>(k), listener);
    for (std::size_t i = 0; i < rows_.size(); ++i)
      contenders_[i]->finish(batch_, task_.roofline && !interrupted() ? task_.batches : 0,
                             rows_[i]);
  }

 private:
  void warm_up(std::size_t i) {
    show_status(status(task_, rows_[i], "warming up"));
    double seconds = 0;
    for (std::int64_t k = 0; k < warm_up_batches && !interrupted(); ++k)
      seconds = contenders_[i]->step(batch_, 1, rows_[i]);
    last_warm_up_.push_back(seconds);
  }

  // Whether another of torch's layouts in the same precision is far faster: then this one gets no
  // more turns.
  bool is_slow(std::size_t i) const {
    for (std::size_t k = 0; k < rows_.size() && rows_[i].is_torch(); ++k)
      if (rows_[k].is_torch() && rows_[k].precision == rows_[i].precision &&
          last_warm_up_[i] > far_behind * last_warm_up_[k])
        return true;
    return false;
  }

  // The row that begins changes from round to round.
  void run_round(std::size_t round, const BenchListener& listener) {
    for (std::size_t turn = 0; turn < rows_.size() && !interrupted(); ++turn) {
      const std::size_t i = (turn + round) % rows_.size();
      if (is_slow(i)) continue;
      BenchRow& row = rows_[i];
      show_status(status(task_, row, progress(row)));
      const double seconds = contenders_[i]->step(batch_, task_.batches, row);
      if (interrupted()) return;
      row.rates.push_back(static_cast<double>(task_.batch * task_.batches) / seconds);
      listener(row);
    }
  }

  std::string progress(const BenchRow& row) const {
    std::string text = fmt::format("iteration {}/{}", row.rates.size() + 1, task_.iterations);
    if (!row.rates.empty()) text += fmt::format("  {} a second", rate_text(row.rates.back()));
    return text;
  }

  const BenchTask& task_;
  std::span<BenchRow> rows_;
  std::vector<std::unique_ptr<OwnContender>> own_;
  std::vector<std::unique_ptr<TorchContender>> torch_;
  std::vector<Contender*> contenders_;  // one for each row
  std::vector<double> last_warm_up_;    // seconds of each row's last batch before the rounds
  std::vector<Tensor> batch_;
};

BenchRow examine_one(const BenchTask& task, const NetworkChoice& network,
                     const std::string& precision, std::int64_t available) {
  BenchRow row{.model = network.model, .precision = precision};
  show_status(status(task, row, "planning its memory"));
  const TrainingSetup setup = bench_setup(task, network, precision);
  row.memory = training_memory(setup.graph, setup.plan, task.batch);
  row.batch_bytes = batch_bytes(setup.graph, task.batch);
  row.random = std::any_of(setup.graph.nodes().begin(), setup.graph.nodes().end(),
                           [](const Node& node) { return node.op->info.random; });
  row.largest_batch = largest_batch(setup.graph, setup.plan, available);
  const MemoryNeed need{concat(network.model, " in ", precision, " with batch ", task.batch),
                        {{"activations and workspaces", row.memory.arena},
                         {"weights and other states", row.memory.states},
                         {"a batch", row.batch_bytes}}};
  if (need.total() > available) refuse_memory(need, available, row.largest_batch);
  return row;
}

// Torch's need for memory is not known beforehand; this is a guess on the safe side.
constexpr std::int64_t torch_share = 2;

bool fit_together(std::span<const BenchRow> rows) {
  std::int64_t bytes = rows.front().batch_bytes;
  for (const BenchRow& row : rows) bytes += row.memory.total() * (row.is_torch() ? torch_share : 1);
  return bytes <= available_memory();
}

// Torch's precisions that belong beside our rows; all of them if one of our precisions has no equal
// in torch.
std::vector<std::string> precisions_of_torch(std::span<const BenchRow> own) {
  std::vector<std::string> needed;
  for (const std::string& precision : torch_precisions) {
    const auto beside = [&](const BenchRow& row) {
      const std::string same = in_torch(row.precision);
      return same == precision ||
             std::ranges::find(torch_precisions, same) == torch_precisions.end();
    };
    if (std::ranges::any_of(own, beside)) needed.push_back(precision);
  }
  return needed;
}

// Rows for torch beside ours, in its precisions and, for images, its layouts.
std::vector<BenchRow> with_torch(std::span<const BenchRow> own) {
  const bool images = model_facts(own.front().model).input == InputKind::images;
  const std::span layouts = std::span(torch_layouts).first(images ? torch_layouts.size() : 1);
  std::vector<BenchRow> rows(own.begin(), own.end());
  for (const std::string& precision : precisions_of_torch(own))
    for (const std::string& layout : layouts)
      rows.push_back({.model = own.front().model,
                      .precision = precision,
                      .torch_layout = layout,
                      .memory = own.front().memory});
  return rows;
}

// Rows of f32, then rows of narrower formats, each with the torch rows to compare with.
std::vector<std::vector<BenchRow>> by_storage(std::span<const BenchRow> rows) {
  std::vector<std::vector<BenchRow>> groups(2);
  for (const BenchRow& row : rows) groups[in_torch(row.precision) == "f32" ? 0 : 1].push_back(row);
  std::erase_if(groups, [](const auto& group) { return group.empty(); });
  return groups;
}

std::vector<std::vector<BenchRow>> one_by_one(std::span<const BenchRow> rows) {
  std::vector<std::vector<BenchRow>> groups;
  for (const BenchRow& row : rows) groups.push_back({row});
  return groups;
}

void run_model(const BenchTask& task, const std::vector<BenchRow>& rows,
               const BenchListener& listener, TorchProcess* torch, BenchOutcome& outcome) {
  std::vector<std::vector<BenchRow>> groups{rows};
  const auto all_fit = [&] { return std::ranges::all_of(groups, fit_together); };
  if (!all_fit()) groups = by_storage(rows);
  if (!all_fit()) groups = one_by_one(rows);
  if (groups.size() > 1) outcome.sequences.push_back(rows.front().model);
  for (std::vector<BenchRow>& group : groups) {
    if (interrupted()) break;
    Rounds(task, group, torch).run(listener);
    for (BenchRow& row : group)
      if (!row.rates.empty()) (row.is_torch() ? outcome.torch : outcome.rows).push_back(row);
  }
}

}  // namespace

// Flags for the other kind of input are meant for other networks of the list, if there are any.
NetworkChoice bench_network(const BenchTask& task, const std::string& name) {
  for (const std::string& model : task.models) require_model(model);
  NetworkFlags flags = task.network;
  flags.model = name;
  const InputKind own = model_facts(name).input;
  const bool alike = std::all_of(task.models.begin(), task.models.end(), [&](const auto& model) {
    return model_facts(model).input == own;
  });
  if (alike) return choose_network(flags);
  if (own == InputKind::images) {
    flags.sequence.reset();
    flags.head.reset();
  } else {
    flags.image.reset();
  }
  return choose_network(flags);
}

void choose_formats(BenchTask& task) {
  const auto& precisions = task.precisions;
  if (std::find(precisions.begin(), precisions.end(), "auto") == precisions.end()) return;
  const ThreadScope threads(task.threads > 0 ? task.threads : thread_count());
  for (const std::string& model : task.models) {
    show_status(concat(model, "  measuring which format is fastest"));
    const NetworkChoice network = bench_network(task, model);
    task.chosen[model] =
        choose_amp(model, network.build(), network.loss(), sgd(0.01, 0), task.batch);
  }
  show_status("");
}

std::vector<BenchRow> examine(const BenchTask& task) {
  const ThreadScope threads(task.threads > 0 ? task.threads : thread_count());
  const std::int64_t available = available_memory();
  std::vector<BenchRow> rows;
  for (const std::string& name : task.models)
    for (const std::string& precision : task.precisions)
      rows.push_back(examine_one(task, bench_network(task, name), precision, available));
  show_status("");
  return rows;
}

BenchOutcome run_benchmark(const BenchTask& task, const std::vector<BenchRow>& rows,
                           const BenchListener& listener, TorchProcess* torch) {
  BenchOutcome outcome;
  const ThreadScope threads(task.threads > 0 ? task.threads : thread_count());
  const InterruptScope interrupts;
  if (torch) outcome.torch_version = torch->version();
  const std::size_t width = task.precisions.size();
  for (std::size_t first = 0; first < rows.size() && !interrupted(); first += width) {
    const std::span<const BenchRow> own(rows.data() + first, width);
    if (task.roofline) outcome.machine = measure_rates(outcome.machine);
    run_model(task, torch ? with_torch(own) : std::vector(own.begin(), own.end()), listener, torch,
              outcome);
  }
  if (task.roofline && !interrupted()) outcome.machine = measure_rates(outcome.machine);
  show_status("");
  outcome.interrupted = interrupted();
  return outcome;
}

}  // namespace narrowgauge::cli
