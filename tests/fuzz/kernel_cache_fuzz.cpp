// SPDX-License-Identifier: Apache-2.0
// The file of kernels that were fastest here.
#include "api/kernel_cache.h"
#include "fuzz/fuzz.h"

using namespace narrowgauge;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string path = fuzz::write("kernels.json", fuzz::text_of(data, size));
  fuzz::take([&] {
    const KernelRecords records = read_kernel_records(path, "fuzz");
    write_kernel_records(path, "fuzz", records);
    fuzz::must(read_kernel_records(path, "fuzz").size() == records.size());
  });
  return 0;
}
