// SPDX-License-Identifier: Apache-2.0
// A training that writes checkpoints under the shim, over an older run or into nothing, and what
// evaluation and resumption must see of its folder, whatever happened to it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "cli/program.h"
#include "cli/tiny_data.h"
#include "disk/disk_model.h"
#include "support/json.h"

namespace narrowgauge::testing_disk {

using testing_cli::Result;
using testing_cli::run;
using testing_cli::Surroundings;
using testing_cli::Words;
using testing_files::TemporaryFolder;
using testing_json::Json;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool shim_works = false;  // the sanitizers' own must be loaded first
#else
inline constexpr bool shim_works = true;
#endif

inline std::string last_sha(const Result& result) {
  return Json::parse(testing_cli::last_line(result.out)).at("weights_sha256");
}

class Trial {
 public:
  explicit Trial(bool over_older) : over_older_(over_older) {
    namespace fs = std::filesystem;
    data_ = testing_cli::write_tiny_data(outside_ / "data");
    const std::string older = outside_ / "older", newer = outside_ / "newer";
    const Result first = run(train(older, {"--seed", "7", "--epochs", "1", "--amp", "bf16"}));
    EXPECT_EQ(first.code, 0) << first.err;
    if (over_older) {
      fs::create_directories(root() + "/run");
      fs::copy(older, root() + "/run",
               fs::copy_options::recursive | fs::copy_options::copy_symlinks);
      first_state_ = Disk(root()).state(Survival::all);
    }
    seen_.push_back(over_older ? evaluation(older) : Json());
    ends_.push_back(over_older ? last_sha(first) : "");
    Words words = training(newer);
    words.insert(words.end(), {"--keep", "100"});
    const Result last = run(words);
    EXPECT_EQ(last.code, 0) << last.err;
    for (const auto& entry :
         std::set<fs::path>(fs::directory_iterator(newer + "/checkpoints"), {})) {
      seen_.push_back(evaluation(entry.string()));
      ends_.push_back(last_sha(last));
    }
    EXPECT_EQ(seen_.size(), 4u);
  }

  std::string root() const { return inside_.path(); }
  std::string folder() const { return root() + "/run"; }
  std::string log() const { return outside_ / "log"; }
  Words training(const std::string& folder) const {
    return train(folder, {"--epochs", "2", "--amp", "f16", "--checkpoint-every", "3"});
  }

  // Runs the training from the beginning under the shim.
  Result train_with(const char* variable, int call) {
    restart();
    return run(training(folder()), shim({{variable, std::to_string(call)}}));
  }
  // Runs it from what is there: of another `restart` all inode numbers would be others.
  Result train_to_the_end() { return run(training(folder()), shim({})); }
  void restart() {
    clear();
    if (over_older_) Disk::write_out(first_state_, root());
    testing_files::write_file(log(), "");
  }
  void show(const std::string& state) {
    clear();
    Disk::write_out(state, root());
  }

  // Which of the checkpoints evaluation sees: 0 for the older run, or for none where there was
  // none; -1 for something else. What it says is compared to the last digit.
  int seen() const {
    const Result result = run({"evaluate", folder(), "--json"});
    EXPECT_EQ(result.code == 0 ? result.err : "", "");
    if (result.code != 0) {
      EXPECT_EQ(result.code, 4) << result.err;
      const bool none = testing_cli::contains(result.err, "holds no checkpoint") ||
                        testing_cli::contains(result.err, "there is no such folder");
      EXPECT_TRUE(none) << result.err;
      return none && !over_older_ ? 0 : -1;
    }
    const Json line = without_path(result);
    for (std::size_t i = 0; i < seen_.size(); ++i)
      if (seen_[i] == line) return static_cast<int>(i);
    ADD_FAILURE() << "evaluation of no whole run: " << line;
    return -1;
  }

  // Expects that going on from what `seen` returned ends as the run would have without a stop.
  void resume(int from) const {
    const Result result = run({"train", "--resume", folder(), "--json", "--quiet"});
    if (ends_.at(static_cast<std::size_t>(from)).empty()) {
      EXPECT_EQ(result.code, 4) << result.err;
    } else {
      ASSERT_EQ(result.code, 0) << result.err;
      EXPECT_EQ(last_sha(result), ends_[static_cast<std::size_t>(from)]);
    }
  }

 private:
  Words train(const std::string& folder, const Words& more) const {
    Words words{"train",           "--model", "mlp",     "--data",   data_,  "--batch",   "64",
                "--deterministic", "--json",  "--quiet", "--output", folder, "--threads", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  Surroundings shim(std::vector<std::pair<std::string, std::string>> variables) const {
    variables.insert(variables.end(), {{"LD_PRELOAD", std::getenv("NARROWGAUGE_SHIM")},
                                       {root_variable, root()},
                                       {log_variable, log()}});
    return {.variables = variables};
  }
  static Json without_path(const Result& result) {
    return Json::parse(testing_cli::last_line(result.out)).without("run").without("checkpoint");
  }
  static Json evaluation(const std::string& folder) {
    const Result result = run({"evaluate", folder, "--json"});
    EXPECT_EQ(result.code, 0) << result.err;
    return without_path(result);
  }
  void clear() const {
    for (const auto& entry : std::filesystem::directory_iterator(root()))
      std::filesystem::remove_all(entry);
  }

  bool over_older_;
  TemporaryFolder inside_, outside_;
  std::string data_, first_state_;
  std::vector<Json> seen_;
  std::vector<std::string> ends_;  // digests of the last weights
};

// A training that ends at a call. Returns false when it came to its end before that call.
inline bool check_end_at(Trial& trial, int call, int& least) {
  const Result result = trial.train_with(end_variable, call);
  if (result.code == 0) return false;
  EXPECT_EQ(result.code, 128 + SIGKILL) << result.err;
  const int seen = trial.seen();
  EXPECT_GE(seen, least) << "a checkpoint is gone again at call " << call;
  least = std::max(seen, least);
  trial.resume(seen);
  return true;
}

// A disk that is full from a call on. Returns false when nothing needed room any more.
inline bool check_full_at(Trial& trial, int call, int& least) {
  const Result result = trial.train_with(full_variable, call);
  if (result.code == 0) return false;
  EXPECT_EQ(result.code, 4) << result.err;
  EXPECT_TRUE(testing_cli::contains(result.err, "No space left on device")) << result.err;
  const int seen = trial.seen();
  EXPECT_GE(seen, least) << call;
  least = std::max(seen, least);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(trial.root()))
    EXPECT_NE(entry.path().extension(), ".tmp") << entry.path();
  trial.resume(seen);
  return true;
}

// States that a loss of power after any call may leave: those around the rename of a checkpoint,
// and of the others that differ one in `stride`.
// Returns how many were tried.
inline int check_power_losses(Trial& trial, unsigned chances, std::size_t stride) {
  trial.restart();
  Disk disk(trial.root());
  EXPECT_EQ(trial.train_to_the_end().code, 0);
  std::set<std::string> seen_before;
  int tried = 0;
  // The sync of the checkpoints' folder after a rename within it makes a checkpoint sure; those of
  // an older run are renamed out of it.
  std::uint64_t renamed_in = 0;
  int sure = 0;
  for (const Record& record : read_log(trial.log())) {
    disk.apply(record);
    const bool renamed = record.header.call == Call::rename && record.header.a == record.header.b &&
                         record.second.starts_with("00000");
    const bool made_sure = record.header.call == Call::sync && record.header.a == renamed_in;
    if (renamed) renamed_in = record.header.a;
    if (made_sure) ++sure, renamed_in = 0;
    std::vector<std::string> states{disk.state(Survival::what_is_sure), disk.state(Survival::names),
                                    disk.state(Survival::half_of_bytes)};
    for (unsigned seed = 1; seed <= chances; ++seed)
      states.push_back(disk.state(Survival::some, seed));
    for (const std::string& state : states) {
      if (!seen_before.insert(state).second) continue;
      if (!renamed && !made_sure && seen_before.size() % stride != 0) continue;
      ++tried;
      trial.show(state);
      const int seen = trial.seen();
      EXPECT_GE(seen, sure) << "a checkpoint that was brought to disk is gone";
      trial.resume(seen);
      if (testing::Test::HasFailure()) return tried;
    }
  }
  EXPECT_EQ(sure, 3);
  return tried;
}

}  // namespace narrowgauge::testing_disk
