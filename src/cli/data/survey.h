// SPDX-License-Identifier: Apache-2.0
// What a data set holds, and what is odd about it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "narrowgauge/images.h"

namespace narrowgauge::cli {

// How many samples, or pixels of masks, of a class each part has.
struct ClassCount {
  std::string name;
  std::int64_t training = 0, test = 0;
};

// An array of the set, over both parts.
struct ArrayFacts {
  std::string name;
  TensorType type;  // of the training part
  double least = 0, mean = 0, most = 0;
  std::int64_t not_finite = 0;
};

struct DataSurvey {
  std::string kind;  // "pictures in a folder for each class"
  std::int64_t training = 0, test = 0;
  std::vector<ClassCount> classes{};
  std::vector<ArrayFacts> arrays{};     // of sets in memory
  std::vector<std::string> features{};  // of a table, what its columns become

  // Facts of pictures in files; a size is height and width.
  using Size = std::array<std::int64_t, 2>;
  std::map<Size, std::int64_t> sizes{};           // how many have it
  std::map<std::string, std::int64_t> formats{};  // "JPEG, RGB"
  std::vector<std::string> damaged{};             // why each cannot be read
  std::vector<std::string> copies{};              // "a.jpg is b.jpg", of the same bytes
  std::int64_t copies_across = 0;                 // of these: one for training, one for the test
  std::int64_t copies_of_other_class = 0;         // of these: in folders of two classes
  std::vector<std::string> other_files{};         // no pictures by their names
};

// Reads every sample; says how far it is on a terminal.
DataSurvey survey(const Data& data);

}  // namespace narrowgauge::cli
