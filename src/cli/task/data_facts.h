// SPDX-License-Identifier: Apache-2.0
// Which data a run was trained on, as its record keeps it: a run that goes on must find the same,
// wherever they lie by then.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "narrowgauge/images.h"

namespace narrowgauge::cli {

struct DataFacts {
  struct Part {
    std::int64_t samples = 0;
    // The SHA-256 of the names, types and bytes of its arrays, bytes by the digests of their
    // pieces; where pictures are in files, of their paths in the folder, sizes and classes.
    std::string sha256;
    bool operator==(const Part&) const = default;
  };
  Part training, test;
};

DataFacts facts_of(const Data& data);

// A data set by its name or path, and what it holds.
struct NamedData {
  std::string name;
  DataFacts facts;
};
// The differences of a run's data from those at hand, each as a part of a sentence.
std::vector<std::string> differences(const NamedData& run, const NamedData& here);

}  // namespace narrowgauge::cli
