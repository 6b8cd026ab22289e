// SPDX-License-Identifier: Apache-2.0
// The flags of `bench` as given, for its two kinds of measurement.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/bench/request.h"
#include "cli/config/config.h"
#include "cli/flags/shape_flag.h"
#include "cli/task/network_choice.h"
#include "narrowgauge/error.h"

namespace narrowgauge::cli {

struct BenchFlags {
  BenchRequest request;
  NetworkFlags network;  // of all models; empty: what is usual for each
  std::vector<std::string> models, files, against, peer_files, batches, precisions;
  KnownInputFlags known;
  bool roofline = false, inference = false;
  std::optional<std::int64_t> iterations, steps, seed, threads;
};

inline constexpr std::int64_t most_samples = 1'000'000'000, most_threads = 4096;

// Takes a number that was given. Throws UsageError if it is too large.
template <class T>
void take(const char* flag, T& target, const std::optional<std::int64_t>& value,
          std::int64_t limit) {
  if (!value) return;
  require(*value <= limit, flag, ": expected at most ", limit, ", got ", *value);
  target = static_cast<T>(*value);
}
std::vector<std::int64_t> batch_sizes(const BenchFlags& flags);  // those of --batch
// Flags for the other kind of input are meant for other networks of the list, if there are any.
NetworkChoice choose_one(const BenchFlags& flags, const std::string& name);
// Tries to write before the work begins, and leaves the file as it was.
void require_writable_file(const std::string& path);

// Measures the inference of trained networks; returns the exit code.
int run_inference(const BenchFlags& flags);
SettledFlags settled_inference_flags(const BenchFlags& flags);

}  // namespace narrowgauge::cli
