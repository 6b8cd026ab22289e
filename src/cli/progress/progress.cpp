// SPDX-License-Identifier: Apache-2.0
#include "cli/progress/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "base/text/printable.h"
#include "cli/common/json.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/progress/metrics.h"

namespace narrowgauge::cli {
namespace {

using Clock = std::chrono::steady_clock;

// Says when something that is shown now and then is due.
class Pace {
 public:
  explicit Pace(double seconds) : interval_(seconds) {}
  bool due() {
    const auto now = Clock::now();
    if (now - last_ < interval_) return false;
    last_ = now;
    return true;
  }

 private:
  std::chrono::duration<double> interval_;
  Clock::time_point last_ = Clock::now();
};

// The time left, without evaluations still to come.
double seconds_left(const Progress& progress, std::int64_t batch) {
  const std::int64_t done = progress.epoch * progress.batches + progress.batch;
  const std::int64_t steps = progress.epochs * progress.batches - done;
  if (progress.samples_per_second <= 0) return NAN;
  return static_cast<double>(steps * batch) / progress.samples_per_second;
}

std::string epoch_text(const Progress& progress) {
  return fmt::format("epoch {}/{}", progress.epoch + 1, progress.epochs);
}

std::string saved_at_text(const Progress& progress) {
  return fmt::format("saved at batch {} of {}", progress.batch, epoch_text(progress));
}

std::string rate_of(const Progress& progress, const ResultWords& words) {
  return fmt::format("{} {}", rate_text(words.rate(progress.samples_per_second)),
                     words.rate_name());
}

// Facts about a run under way, the most wanted first.
std::vector<std::string> facts(const Progress& progress, std::int64_t batch,
                               const ResultWords& words) {
  std::vector<std::string> result{
      fmt::format("loss {:.4f}", printable(progress.mean_loss)), rate_of(progress, words),
      fmt::format("ETA {}", seconds_text(seconds_left(progress, batch)))};
  constexpr double worth_telling = 0.05;
  if (progress.input_share >= worth_telling)
    result.push_back(fmt::format("input bound {:.0f} %", 100 * progress.input_share));
  if (progress.last.scale != 1 || progress.skipped_steps > 0) {
    result.push_back(fmt::format("scale {}", number_text(progress.last.scale)));
    result.push_back(fmt::format("skipped {}", progress.skipped_steps));
  }
  return result;
}

// The line at the end of an epoch, for people.
std::string epoch_line(const Progress& progress, const std::string& label, double seconds,
                       const ResultWords& words) {
  std::string line = fmt::format("{}  {}  loss {:.4f}", label, epoch_text(progress),
                                 printable(progress.mean_loss));
  if (progress.evaluation) line += "  " + test_text(words, *progress.evaluation);
  if (progress.evaluation)
    for (const MetricValue& metric : progress.evaluation->metrics)
      line += fmt::format("  {} {}", metric.name, metric_text(metric));
  line += "  " + rate_of(progress, words);
  if (progress.last.scale != 1) line += fmt::format("  scale {}", number_text(progress.last.scale));
  if (progress.skipped_steps > 0) line += fmt::format("  skipped {}", progress.skipped_steps);
  return line + fmt::format("  {}", seconds_text(seconds));
}

class EpochClock {
 public:
  double lap() {
    const auto now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - start_).count();
    start_ = now;
    return seconds;
  }

 private:
  Clock::time_point start_ = Clock::now();
};

class BarReporter : public Reporter {
 public:
  BarReporter(std::string label, std::int64_t batch, ResultWords words)
      : label_(std::move(label)), batch_(batch), words_(std::move(words)) {}
  ~BarReporter() override { show_status(""); }

  void update(const Progress& progress) override {
    if (!progress.checkpoint.empty()) {
      saved_ = saved_at_text(progress);
    } else if (progress.epoch_done) {
      show_status(epoch_line(progress, label_, clock_.lap(), words_) + '\n');
    } else if (pace_.due() || progress.batch == progress.batches) {
      show_status(line(progress, terminal_width(STDERR_FILENO) - 1));
    }
  }

 private:
  // Leaves facts out from the end if the terminal is narrow.
  std::string line(const Progress& progress, int width) const {
    const std::string head = fmt::format("{}  {} ", label_, epoch_text(progress));
    const double share =
        static_cast<double>(progress.batch) / static_cast<double>(progress.batches);
    std::string tail = fmt::format(" {:3.0f} %", 100 * share);
    const int fixed = static_cast<int>(head.size()) + 2;
    std::vector<std::string> told = facts(progress, batch_, words_);
    if (!saved_.empty()) told.push_back(saved_);
    for (const std::string& fact : told) {
      if (fixed + least_cells + static_cast<int>(tail.size() + fact.size()) + 2 > width) break;
      tail += "  " + fact;
    }
    const int cells = std::min(width - fixed - static_cast<int>(tail.size()), most_cells);
    if (cells < 1) return (head + tail).substr(0, static_cast<std::size_t>(std::max(width, 0)));
    return head + bar(share, cells) + tail;
  }

  std::string bar(double share, int cells) const {
    const auto full = static_cast<std::size_t>(std::lround(share * cells));
    const std::size_t rest = static_cast<std::size_t>(cells) - full;
    if (!colours_) return fmt::format("[{}{}]", std::string(full, '='), std::string(rest, ' '));
    return fmt::format("[\033[32m{}\033[0m\033[2m{}\033[0m]", std::string(full, '='),
                       std::string(rest, '-'));
  }

  static constexpr int least_cells = 10, most_cells = 30;
  std::string label_;
  std::int64_t batch_;
  ResultWords words_;
  std::string saved_;
  bool colours_ = colours_wanted();
  Pace pace_{0.1};
  EpochClock clock_;
};

class PlainReporter : public Reporter {
 public:
  PlainReporter(std::string label, std::int64_t batch, ResultWords words)
      : label_(std::move(label)), batch_(batch), words_(std::move(words)) {}

  void update(const Progress& progress) override {
    if (!progress.checkpoint.empty()) {
      write(fmt::format("{}  {}: {}", label_, saved_at_text(progress), progress.checkpoint));
    } else if (progress.epoch_done) {
      write(epoch_line(progress, label_, clock_.lap(), words_));
    } else if (pace_.due()) {
      std::string line = fmt::format("{}  {}  batch {}/{}", label_, epoch_text(progress),
                                     progress.batch, progress.batches);
      for (const std::string& fact : facts(progress, batch_, words_)) line += "  " + fact;
      write(line);
    }
  }

 private:
  static void write(const std::string& line) {
    fmt::print(stderr, "{}\n", line);
    std::fflush(stderr);
  }

  std::string label_;
  std::int64_t batch_;
  ResultWords words_;
  Pace pace_{5};
  EpochClock clock_;
};

class JsonReporter : public Reporter {
 public:
  JsonReporter(std::string label, std::int64_t batch, ResultWords words)
      : label_(std::move(label)), batch_(batch), words_(std::move(words)) {}

  void update(const Progress& progress) override {
    if (!progress.checkpoint.empty()) return tell_checkpoint(progress);
    if (!progress.epoch_done && !pace_.due()) return;
    JsonObject json;
    json.add("event", progress.epoch_done ? "epoch" : "progress").add("amp", label_);
    json.add("epoch", progress.epoch + 1).add("epochs", progress.epochs);
    json.add("batch", progress.batch).add("batches", progress.batches);
    json.add("loss", progress.mean_loss);
    json.add("samples_per_second", progress.samples_per_second);
    json.add("input_share", progress.input_share);
    if (words_.is_text) json.add("tokens_per_second", words_.rate(progress.samples_per_second));
    json.add("learning_rate", progress.last.learning_rate);
    json.add("loss_scale", progress.last.scale).add("skipped_steps", progress.skipped_steps);
    json.add("seconds_left", seconds_left(progress, batch_));
    if (progress.evaluation) {
      add_test(json, *progress.evaluation);
      add_text_results(json, words_, *progress.evaluation);
      add_metrics(json, *progress.evaluation);
    }
    print(json.line());
  }

 private:
  void tell_checkpoint(const Progress& progress) const {
    JsonObject json;
    json.add("event", "checkpoint").add("amp", label_).add("path", progress.checkpoint);
    json.add("epoch", progress.epoch + 1).add("batch", progress.batch);
    print(json.line());
  }

  std::string label_;
  std::int64_t batch_;
  ResultWords words_;
  Pace pace_{5};
};

class SilentReporter : public Reporter {
 public:
  void update(const Progress&) override {}
};

}  // namespace

std::unique_ptr<Reporter> make_reporter(ReportStyle style, const std::string& label,
                                        std::int64_t batch, const ResultWords& words) {
  if (style == ReportStyle::json) return std::make_unique<JsonReporter>(label, batch, words);
  if (style == ReportStyle::quiet) return std::make_unique<SilentReporter>();
  if (stderr_is_terminal()) return std::make_unique<BarReporter>(label, batch, words);
  return std::make_unique<PlainReporter>(label, batch, words);
}

}  // namespace narrowgauge::cli
