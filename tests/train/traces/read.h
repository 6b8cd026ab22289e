// SPDX-License-Identifier: Apache-2.0
// Reads the traces in this folder: lines of a case ("adam lr=0.01 amsgrad=1"), each followed by
// lines of numbers with a name in front ("last 0.5 -1.25").
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace narrowgauge::traces {

struct Case {
  std::string title, name;                             // the whole line, and its first word
  std::map<std::string, double> settings;              // "lr" = 0.01
  std::map<std::string, std::vector<double>> numbers;  // "last" = {0.5, -1.25}
};

inline Case parse_case(const std::string& line) {
  Case result{line, {}, {}, {}};
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos)
      result.name = word;
    else
      result.settings[word.substr(0, equals)] = std::stod(word.substr(equals + 1));
  }
  return result;
}

// `rows`: lines of numbers after each case.
inline std::vector<Case> read(const std::string& file, int rows) {
  const char* root = std::getenv("NARROWGAUGE_SOURCE");
  std::ifstream in(std::filesystem::path(root ? root : ".") / "tests/train/traces" / file);
  std::vector<Case> cases;
  for (std::string line; std::getline(in, line);) {
    cases.push_back(parse_case(line));
    for (int row = 0; row < rows && std::getline(in, line); ++row) {
      std::istringstream words(line);
      std::string name;
      words >> name;
      for (std::string word; words >> word;)  // with nan, which streams do not read as a number
        cases.back().numbers[name].push_back(std::stod(word));
    }
  }
  EXPECT_FALSE(cases.empty()) << file;
  return cases;
}

}  // namespace narrowgauge::traces
