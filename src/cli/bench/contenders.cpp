// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/contenders.h"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "api/model/engine_cache.h"
#include "base/files/memory.h"
#include "cli/common/temporary_folder.h"
#include "narrowgauge/npz.h"
#include "precision/amp.h"

namespace narrowgauge::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

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
    model_ = std::make_unique<Model>(open_engine(network.path, network.known, CacheUse::read));
    model_->set_precision(request_for(row_.precision));
    inputs_ = &inputs;
    Answers answers = model_->run(inputs);
    row_.load_seconds = seconds_since(start);
    row_.load_bytes = std::max<std::int64_t>(0, resident_bytes() - before);
    return answers;
  }

 protected:
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
    const std::string& path = row_.peer_file.empty() ? network.path : row_.peer_file;
    process_.write_line(concat("open\t", path, '\t', given, '\t', answered));
    const PythonAnswer answer = process_.read_success<ModelError>();
    row_.load_seconds = answer.number("seconds");
    row_.load_bytes = static_cast<std::int64_t>(answer.number("bytes"));
    return read_npz(answered);
  }

 protected:
  std::vector<double> run(double seconds) override {
    process_.write_line(concat("run\t", seconds));
    return process_.read_success<DeviceError>().numbers("seconds");
  }

 private:
  PythonProcess& process_;
};

}  // namespace

void Contender::take_turn(double seconds) {
  std::vector<double> times = run(seconds);
  row_.seconds.insert(row_.seconds.end(), times.begin(), times.end());
  row_.rates.push_back(static_cast<double>(row_.batch) / quartiles_of(std::move(times)).median);
}

std::unique_ptr<Contender> make_own(InferenceRow& row) { return std::make_unique<Own>(row); }
std::unique_ptr<Contender> make_peer(InferenceRow& row, PythonProcess& process) {
  return std::make_unique<Peer>(row, process);
}

Peers::Peers(const InferenceTask& task, int threads) {
  const bool in_bf16 = std::ranges::find(task.precisions, "bf16") != task.precisions.end();
  for (const std::string& name : task.peers) {
    start(task, name, "f32", threads);
    if (in_bf16 || task.peer_files.contains(name)) start(task, name, "bf16", threads);
  }
}

void Peers::start(const InferenceTask& task, const std::string& name, const std::string& precision,
                  int threads) {
  auto process =
      std::make_unique<PythonProcess>(concat("--against ", name), "inference_peer.py",
                                      std::vector{name, precision, std::to_string(threads)});
  const PythonAnswer answer = process->read_answer();
  const std::string error = answer.error();
  require(!answer.is("missing"), "--against ", name, ": ", error);
  if (error.empty() && precision == "f32")
    versions.push_back(concat(name, ' ', answer.text("version")));
  const auto own = task.peer_files.find(name);
  entries.push_back({name, precision, own == task.peer_files.end() ? "" : own->second, error,
                     std::move(process)});
}

}  // namespace narrowgauge::cli
