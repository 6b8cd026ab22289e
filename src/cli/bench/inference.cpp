// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/inference.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "base/memory.h"
#include "base/parallel.h"
#include "cli/bench/python_process.h"
#include "cli/common/temporary_folder.h"
#include "cli/relative_difference.h"
#include "cli/run/inputs.h"
#include "narrowgauge/npz.h"
#include "precision/amp.h"

namespace narrowgauge::cli {
namespace {

using Clock = std::chrono::steady_clock;
using Answers = std::vector<NamedTensor>;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// What answers from a file: this library, or a peer in a process of its own.
class Contender {
 public:
  explicit Contender(InferenceRow& row) : row_(row) {}
  virtual ~Contender() = default;
  virtual Answers load(const InferenceNetwork& network, const Answers& inputs) = 0;
  virtual std::vector<double> run(double seconds) = 0;

  InferenceRow& row() { return row_; }
  void take_turn(double seconds) {
    std::vector<double> times = run(seconds);
    row_.seconds.insert(row_.seconds.end(), times.begin(), times.end());
    row_.rates.push_back(static_cast<double>(row_.batch) / quartiles_of(std::move(times)).median);
  }

 protected:
  InferenceRow& row_;
};

PrecisionRequest request_for(const std::string& precision) {
  PrecisionRequest request;
  if (const auto amp = parse_amp(precision); amp && amp->format != DType::f32)
    request.narrow = amp->format;
  else
    request.f32_math = parse_math(precision);
  return request;
}

class Own : public Contender {
 public:
  using Contender::Contender;

  Answers load(const InferenceNetwork& network, const Answers& inputs) override {
    malloc_trim(0);  // so that what earlier networks left counts for none
    const std::int64_t before = resident_bytes();
    const auto start = Clock::now();
    model_ = std::make_unique<Model>(Model::from_onnx(network.path, network.known));
    model_->set_precision(request_for(row_.precision));
    inputs_ = &inputs;
    Answers answers = model_->run(inputs);
    row_.load_seconds = seconds_since(start);
    row_.load_bytes = std::max<std::int64_t>(0, resident_bytes() - before);
    return answers;
  }

  std::vector<double> run(double seconds) override {
    std::vector<double> times;
    for (const auto begin = Clock::now(); times.empty() || seconds_since(begin) < seconds;) {
      const auto start = Clock::now();
      model_->run(*inputs_);
      times.push_back(seconds_since(start));
    }
    return times;
  }

 private:
  std::unique_ptr<Model> model_;
  const Answers* inputs_ = nullptr;
};

class Peer : public Contender {
 public:
  Peer(InferenceRow& row, PythonProcess& process) : Contender(row), process_(process) {}

  Answers load(const InferenceNetwork& network, const Answers& inputs) override {
    const TemporaryFolder folder;
    const std::string given = folder.file("inputs.npz"), answered = folder.file("outputs.npz");
    write_npz(given, inputs);
    process_.write_line(concat("open\t", network.path, '\t', given, '\t', answered));
    const PythonAnswer answer = process_.read_success<ModelError>();
    row_.load_seconds = answer.number("seconds");
    row_.load_bytes = static_cast<std::int64_t>(answer.number("bytes"));
    return read_npz(answered);
  }

  std::vector<double> run(double seconds) override {
    process_.write_line(concat("run\t", seconds));
    return process_.read_success<DeviceError>().numbers("seconds");
  }

 private:
  PythonProcess& process_;
};

// The peers' processes; each computes in one precision.
class Peers {
 public:
  Peers(const InferenceTask& task, int threads) {
    for (const std::string& name : task.peers)
      for (const std::string precision : {"f32", "bf16"})
        if (std::ranges::any_of(task.precisions, [&](const std::string& own) {
              return (own == "bf16") == (precision == "bf16");
            }))
          start(name, precision, threads);
  }

  struct Entry {
    std::string name, precision, missing;
    std::unique_ptr<PythonProcess> process;
  };
  std::vector<Entry> entries;
  std::vector<std::string> versions;

 private:
  void start(const std::string& name, const std::string& precision, int threads) {
    auto process =
        std::make_unique<PythonProcess>(concat("--against ", name), "inference_peer.py",
                                        std::vector{name, precision, std::to_string(threads)});
    const PythonAnswer answer = process->read_answer();
    const std::string error = answer.error();
    require(!answer.is("missing"), "--against ", name, ": ", error);
    if (error.empty() && precision == "f32")
      versions.push_back(concat(name, ' ', answer.text("version")));
    entries.push_back({name, precision, error, std::move(process)});
  }
};

Dims dims_for(const InferenceNetwork& network, const ModelPort& port, std::int64_t batch) {
  require<ModelError>(port.type.has_value(), network.name, ": the type of input '", port.name,
                      "' is known only when it runs");
  Dims dims;
  for (std::size_t axis = 0; axis < port.type->shape.size(); ++axis) {
    const Dim& dim = port.type->shape[axis];
    dims.push_back(dim.is_known() ? dim.value() : axis == 0 ? batch : 1);
  }
  return dims;
}

Answers inputs_for(const InferenceNetwork& network, std::int64_t batch) {
  Answers inputs;
  for (const ModelPort& port : Model::from_onnx(network.path, network.known).inputs())
    inputs.push_back({port.name, random_tensor(port.name, port.type ? port.type->dtype : DType::f32,
                                               dims_for(network, port, batch))});
  require(
      !inputs.empty() && !inputs[0].tensor.dims().empty() && inputs[0].tensor.dims()[0] == batch,
      network.name, ": its batch is fixed at ",
      inputs.empty() || inputs[0].tensor.dims().empty() ? 1 : inputs[0].tensor.dims()[0],
      ", --batch is ", batch);
  return inputs;
}

double difference_between(const Answers& answers, const Answers& first) {
  double worst = 0;
  for (const NamedTensor& expected : first) {
    const auto at = std::ranges::find(answers, expected.name, &NamedTensor::name);
    if (at == answers.end() || at->tensor.dims() != expected.tensor.dims())
      return std::numeric_limits<double>::infinity();
    worst = std::max(worst, relative_difference(at->tensor, expected.tensor));
  }
  return worst;
}

class Group {
 public:
  Group(const InferenceTask& task, const InferenceNetwork& network, std::int64_t batch,
        Peers& peers)
      : task_(task), network_(network), inputs_(inputs_for(network, batch)) {
    rows_.reserve(task.precisions.size() + peers.entries.size());
    for (const std::string& precision : task.precisions)
      add<Own>({.model = network.name, .precision = precision, .batch = batch});
    for (Peers::Entry& peer : peers.entries) {
      InferenceRow row{.model = network.name,
                       .program = peer.name,
                       .precision = peer.precision,
                       .batch = batch,
                       .missing = peer.missing};
      if (peer.missing.empty())
        add<Peer>(std::move(row), *peer.process);
      else
        rows_.push_back(std::move(row));
    }
  }

  std::vector<InferenceRow> run(const InferenceStatus& status, const std::function<bool()>& stop) {
    load(status, stop);
    for (std::int64_t round = 1; round <= task_.rounds && !stop(); ++round)
      for (const auto& contender : contenders_) {
        if (stop()) break;
        status(contender->row(), round);
        contender->take_turn(task_.seconds);
      }
    contenders_.clear();
    return std::move(rows_);
  }

 private:
  template <class T, class... Arguments>
  void add(InferenceRow row, Arguments&... arguments) {
    rows_.push_back(std::move(row));
    contenders_.push_back(std::make_unique<T>(rows_.back(), arguments...));
  }

  void load(const InferenceStatus& status, const std::function<bool()>& stop) {
    std::optional<Answers> first;
    for (const auto& contender : contenders_) {
      if (stop()) return;
      status(contender->row(), 0);
      Answers answers = contender->load(network_, inputs_);
      if (first)
        contender->row().difference = difference_between(answers, *first);
      else
        first = std::move(answers);
    }
  }

  const InferenceTask& task_;
  const InferenceNetwork& network_;
  Answers inputs_;
  std::vector<InferenceRow> rows_;
  std::vector<std::unique_ptr<Contender>> contenders_;
};

}  // namespace

double InferenceRow::percentile(double share) const {
  if (seconds.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::vector<double> sorted = seconds;
  std::ranges::sort(sorted);
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(std::ceil(share * last))];
}

InferenceOutcome benchmark_inference(const InferenceTask& task, const InferenceStatus& status,
                                     const std::function<bool()>& stop) {
  const int threads = task.threads > 0 ? task.threads : thread_count();
  const ThreadScope scope(threads);
  Peers peers(task, threads);
  InferenceOutcome outcome{.versions = peers.versions};
  for (const InferenceNetwork& network : task.networks)
    for (const std::int64_t batch : task.batches) {
      if (stop()) break;
      for (InferenceRow& row : Group(task, network, batch, peers).run(status, stop))
        outcome.rows.push_back(std::move(row));
    }
  outcome.stopped = stop();
  return outcome;
}

const InferenceRow* peer_for(const InferenceOutcome& outcome, const InferenceRow& row) {
  const InferenceRow* best = nullptr;
  const auto fits = [&](const InferenceRow& peer) {
    return (peer.precision == "bf16") == (row.precision == "bf16");
  };
  for (const InferenceRow& peer : outcome.rows) {
    if (!peer.is_peer() || peer.rates.empty() || peer.model != row.model || peer.batch != row.batch)
      continue;
    const bool better = !best || fits(peer) > fits(*best) ||
                        (fits(peer) == fits(*best) &&
                         quartiles_of(peer.rates).median > quartiles_of(best->rates).median);
    if (better) best = &peer;
  }
  return best;
}

Quartiles rate_ratio(const InferenceRow& row, const InferenceRow& peer) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(row.rates.size(), peer.rates.size()); ++i)
    ratios.push_back(row.rates[i] / peer.rates[i]);
  return quartiles_of(std::move(ratios));
}

void check_answers(const InferenceOutcome& outcome) {
  constexpr double narrow_tolerance = 0.1, f32_tolerance = 1e-3;
  for (const InferenceRow& row : outcome.rows) {
    if (row.seconds.empty()) continue;
    const bool narrow = row.precision == "bf16" || row.precision == "f16";
    // Written so that NaN fails.
    require<CheckError>(row.difference <= (narrow ? narrow_tolerance : f32_tolerance),
                        fmt::format("{} {} {}: its answers differ by {:.0e} of their size from the "
                                    "first row's: the times mean nothing",
                                    row.model, row.is_peer() ? row.program : "narrowgauge",
                                    row.precision, row.difference));
  }
}

}  // namespace narrowgauge::cli
