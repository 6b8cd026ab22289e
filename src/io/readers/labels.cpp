// SPDX-License-Identifier: Apache-2.0
#include "io/readers/labels.h"

#include <algorithm>
#include <span>
#include <vector>

#include "narrowgauge/error.h"

namespace narrowgauge {
namespace {

constexpr std::int64_t most_classes = 65536;

// Calls check(label, sample) for each label.
template <class Check>
void for_labels(const Tensor& labels, const Check& check) {
  const auto all = [&](auto values) {
    for (std::size_t i = 0; i < values.size(); ++i) check(std::int64_t{values[i]}, i);
  };
  if (labels.dtype() == DType::u8)
    all(labels.values<std::uint8_t>());
  else
    all(labels.values<std::int64_t>());
}

}  // namespace

std::int64_t count_classes(const Tensor& labels, const std::string& where) {
  std::vector<bool> used;
  std::size_t of_largest = 0;
  for_labels(labels, [&](std::int64_t label, std::size_t sample) {
    require<DataError>(label >= 0 && label < most_classes, where, ": label ", label, " of sample ",
                       sample, " is out of range: expected 0 to ", most_classes - 1);
    const auto place = static_cast<std::size_t>(label);
    if (place >= used.size()) {
      used.resize(place + 1);
      of_largest = sample;
    }
    used[place] = true;
  });
  require<DataError>(!used.empty(), where, ": expected at least one sample, found none");
  const auto largest = std::ssize(used) - 1;
  const auto known = std::count(used.begin(), used.end() - 1, true);
  require<DataError>(2 * known >= largest, where, ": label ", largest, " of sample ", of_largest,
                     " is out of range: only ", known, " of the ", largest,
                     " labels below it have samples");
  return largest + 1;
}

void check_labels(const Tensor& labels, std::int64_t classes, const std::string& where) {
  for_labels(labels, [&](std::int64_t label, std::size_t sample) {
    require<DataError>(label >= 0 && label < classes, where, ": label ", label, " of sample ",
                       sample, " is out of range: the training set has ", classes, " classes");
  });
}

}  // namespace narrowgauge
