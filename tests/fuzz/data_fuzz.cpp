// SPDX-License-Identifier: Apache-2.0
// Single files as data sets, whichever reader takes them, plain and gzipped.
#include "fuzz/fuzz.h"
#include "narrowgauge/images.h"

using namespace narrowgauge;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string path = fuzz::write("set", fuzz::text_of(data, size));
  fuzz::take([&] {
    const DataSplit split = std::get<DataSplit>(open_data(path));
    for (const DataSet* set : {&split.train, &split.test}) TensorSource(*set).size();
  });
  return 0;
}
