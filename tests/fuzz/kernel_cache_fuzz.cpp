// SPDX-License-Identifier: Apache-2.0
// The file of kernels that were fastest here: a log, or JSON as checkpoints keep it.
#include "api/programs/kernel_cache.h"
#include "fuzz/fuzz.h"

using namespace narrowgauge;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fuzz::text_of(data, size));
  fuzz::take([&] {
    const KernelRecords records = parse_kernel_records(text, "kernels.json", "fuzz");
    const std::string again = kernel_records_text(records, "fuzz");
    fuzz::must(parse_kernel_records(again, "kernels.json", "fuzz").size() == records.size());
  });
  const std::string path = fuzz::write("kernels", text);
  const KernelRecord record{"tiles", "fastest\tof\n2"};
  KernelCache(path, "fuzz").find("key");
  KernelLog log(path, "fuzz");
  fuzz::take([&] { log.refresh(); });
  log.append(kernel_log_line("fuzz", "key", record));
  log.refresh();
  fuzz::must(log.find("key") == record);
  return 0;
}
