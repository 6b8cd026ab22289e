// SPDX-License-Identifier: Apache-2.0
// The samples that a table becomes, as arrays of NumPy. For tests/readers_oracle.py.
#include <cstdio>
#include <exception>
#include <vector>

#include "narrowgauge/npz.h"
#include "narrowgauge/tables.h"

using namespace narrowgauge;

int main(int count, char** arguments) {
  if (count < 3) {
    std::fputs("usage: bench_table_answers TABLE OUT.npz [LABEL]\n", stderr);
    return 2;
  }
  try {
    const DataSplit split =
        read_table(arguments[1], {.test_share = 1, .label = count > 3 ? arguments[3] : ""});
    write_npz(arguments[2],
              std::vector<NamedTensor>{{"x", split.train.input()}, {"y", split.train.target()}});
    for (const std::string& name : split.train.feature_names) std::printf("%s\n", name.c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
