// SPDX-License-Identifier: Apache-2.0
#include "api/conversion/validation.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <list>

#include "api/conversion/calibrate.h"

namespace narrowgauge {

namespace {

constexpr std::int64_t validation_batch = 16;

// The class of a row of scores.
std::int64_t best_of(const Tensor& scores, std::int64_t row) {
  const std::int64_t classes = scores.size() / scores.dims()[0];
  std::int64_t best = 0;
  for (std::int64_t c = 1; c < classes; ++c)
    if (scores.at(row * classes + c) > scores.at(row * classes + best)) best = c;
  return best;
}

bool has_label(const Batch& batch, std::size_t inputs, const Tensor& scores) {
  const bool classes = scores.dims().size() == 2 && scores.dims()[1] > 1;
  if (batch.tensors.size() <= inputs || !classes) return false;
  const Tensor& label = batch.tensors[inputs];
  return is_integer(label.dtype()) && label.dims().size() == 1;
}

}  // namespace

// Sums over the samples. Classes and labels are those of the first output.
class Validation::Tally {
 public:
  explicit Tally(std::size_t inputs) : inputs_(inputs) {}

  void add(const Batch& batch, const Outputs& found, const Outputs& in_f32) {
    differences_.resize(found.size());
    for (std::size_t o = 0; o < found.size(); ++o)
      if (counts(found, o)) differences_[o].add(found[o], in_f32.at(o));
    add_classes(batch, found[0], in_f32[0]);
  }

  std::int64_t samples() const { return samples_; }

  EngineAccuracy result() const {
    EngineAccuracy all;
    const auto share = [](std::int64_t part, std::int64_t whole) {
      return static_cast<double>(part) / static_cast<double>(whole);
    };
    if (labels_ > 0) all.accuracy = share(right_, labels_);
    if (samples_ > 0) all.agreement = share(agreed_, samples_);
    for (const Difference& difference : differences_)
      all.error = std::max(all.error, difference.relative());
    return all;
  }

 private:
  // The difference of one output, over the samples.
  struct Difference {
    double squares = 0, errors = 0;

    // A result of other dimensions, as where a network counts what it finds, has nothing in common.
    void add(const Tensor& found, const Tensor& in_f32) {
      const bool is_alike = found.dims() == in_f32.dims();
      for (std::int64_t i = 0; i < in_f32.size(); ++i) {
        const double there = in_f32.at(i), difference = is_alike ? found.at(i) - there : there;
        if (!std::isfinite(there)) continue;
        squares += there * there;
        errors += std::isfinite(difference) ? difference * difference : there * there;
      }
    }

    double relative() const {
      return squares > 0 ? std::sqrt(errors / squares) : errors > 0 ? 1 : 0;
    }
  };

  // Whole numbers, as of classes and positions, have no size that an error could be a part of.
  static bool counts(const Outputs& outputs, std::size_t output) {
    const auto has_fractions = [](const Tensor& tensor) { return is_floating(tensor.dtype()); };
    return has_fractions(outputs[output]) || std::ranges::none_of(outputs, has_fractions);
  }

  void add_classes(const Batch& batch, const Tensor& found, const Tensor& in_f32) {
    const std::int64_t rows = found.dims().empty() ? 0 : found.dims()[0];
    const bool labelled = rows > 0 && has_label(batch, inputs_, found);
    if (labelled) check_labels(batch.tensors[inputs_], found.dims()[1]);
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t best = best_of(found, row);
      agreed_ += found.dims() == in_f32.dims() && best == best_of(in_f32, row);
      if (labelled) right_ += static_cast<double>(best) == batch.tensors[inputs_].at(row);
    }
    samples_ += rows;
    labels_ += labelled ? rows : 0;
  }

  void check_labels(const Tensor& labels, std::int64_t classes) const {
    for (std::int64_t row = 0; row < labels.size(); ++row) {
      const auto label = static_cast<std::int64_t>(labels.at(row));
      require<DataError>(0 <= label && label < classes, "validation: sample ", samples_ + row + 1,
                         " has label ", label, ", the network tells classes 0 to ", classes - 1);
    }
  }

  std::size_t inputs_;
  std::vector<Difference> differences_;  // by output
  std::int64_t samples_ = 0, labels_ = 0, agreed_ = 0, right_ = 0;
};

Validation::Validation(const Graph& graph, std::shared_ptr<DataSource> source, std::int64_t count,
                       std::function<void(std::int64_t, std::int64_t)> progress)
    : source_(std::move(source)),
      inputs_(graph.inputs().size()),
      samples_(count > 0 ? std::min(count, source_->size()) : source_->size()),
      progress_(std::move(progress)) {
  require_inputs_fit(graph, *source_, "validation");
  Tally tally(inputs_);
  run(graph, 0, [&](const Batch& batch, const Outputs& found) {
    require_finite({batch.tensors.data(), inputs_}, "validation", tally.samples() + 1);
    outputs_.push_back(found);
    tally.add(batch, found, found);
  });
  before_ = tally.result();
}

EngineAccuracy Validation::of(const Graph& graph, std::int64_t most) const {
  Tally tally(inputs_);
  std::size_t at = 0;
  run(graph, most,
      [&](const Batch& batch, const Outputs& found) { tally.add(batch, found, outputs_[at++]); });
  return tally.result();
}

Batch Validation::smallest_batch(const Graph& graph) const {
  const std::int64_t size = fixed_batch(graph).value_or(1);
  BatchLoader loader(source_, {.batch = size, .shuffle = false, .keep_last = true, .epochs = 1});
  return *loader.next();
}

ContractionTimes Validation::contraction_milliseconds(const Graph& graph,
                                                      const std::set<std::string>& names) const {
  FrozenNetwork network(graph, /*deterministic=*/false);
  const Batch batch = smallest_batch(graph);
  const std::span inputs(batch.tensors.data(), inputs_);
  return profile_contractions(*network.executor_for(inputs), inputs, names);
}

namespace {

// A network that is timed by turns with others.
class Runner {
 public:
  Runner(const Graph& graph, std::span<const Tensor> inputs)
      : network_(graph, /*deterministic=*/false), inputs_(inputs) {
    network_.run(inputs_);  // compiles
  }

  void take_turn() {
    constexpr double longest = 30;  // ms, where a run is not longer
    constexpr int most_runs = 20;
    const double end = sum_ + longest;
    for (int i = 0; i < most_runs && sum_ < end; ++i) {
      const auto start = std::chrono::steady_clock::now();
      network_.run(inputs_);
      const std::chrono::duration<double, std::milli> time =
          std::chrono::steady_clock::now() - start;
      times_.push_back(time.count());
      sum_ += time.count();
    }
  }

  double median() {
    std::ranges::nth_element(times_, times_.begin() + std::ssize(times_) / 2);
    return times_[times_.size() / 2];
  }

 private:
  FrozenNetwork network_;
  std::span<const Tensor> inputs_;
  std::vector<double> times_;
  double sum_ = 0;
};

}  // namespace

std::vector<double> Validation::milliseconds(const std::vector<const Graph*>& graphs) const {
  constexpr int turns = 10;
  const Batch batch = smallest_batch(*graphs.at(0));
  std::list<Runner> runners;
  for (const Graph* graph : graphs)
    runners.emplace_back(*graph, std::span(batch.tensors.data(), inputs_));
  for (int i = 0; i < turns; ++i)
    for (Runner& runner : runners) runner.take_turn();
  std::vector<double> medians;
  for (Runner& runner : runners) medians.push_back(runner.median());
  return medians;
}

void Validation::run(const Graph& graph, std::int64_t most,
                     const std::function<void(const Batch&, const Outputs&)>& use) const {
  FrozenNetwork network(graph, /*deterministic=*/true);
  const std::int64_t batch_size = fixed_batch(graph).value_or(validation_batch);
  BatchLoader loader(source_,
                     {.batch = batch_size, .shuffle = false, .keep_last = true, .epochs = 1});
  const std::int64_t count = most > 0 ? std::min(most, samples_) : samples_;
  for (std::int64_t done = 0; done < count;) {
    const std::optional<Batch> batch = loader.next();
    if (!batch) break;
    const std::span inputs(batch->tensors.data(), inputs_);
    const std::int64_t rows = inputs[0].dims()[0];
    done += batch_size;
    if (rows > 0) use(*batch, network.run(inputs));
    if (progress_ && most == 0) progress_(std::min(done, count), count);
  }
}

}  // namespace narrowgauge
