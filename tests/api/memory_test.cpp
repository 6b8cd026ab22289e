// SPDX-License-Identifier: Apache-2.0
// Memory that cannot be had is refused before it is taken, with what was needed and which batch
// fits.
#include "base/memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "base/parallel.h"
#include "narrowgauge/model.h"
#include "narrowgauge/models.h"

namespace narrowgauge {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;  // their shadow takes more than any limit of the address space
#else
constexpr bool sanitized = false;
#endif

void limit_address_space(std::int64_t more) {
  std::int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlimit limit{static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + more), RLIM_INFINITY};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
}

std::string refusal(Model& model, std::int64_t batch) {
  try {
    model.predict(Tensor(DType::f32, {batch, 1, 16, 16}));
    return "";
  } catch (const DeviceError& error) {
    return error.what();
  }
}

void predict_in_little_memory() {
  const ThreadScope one(1);
  Model model("resnet20", find_model("resnet20", {1, 16, 16}, 10));
  refusal(model, 1);
  limit_address_space(std::int64_t{600} << 20);
  const std::string text = refusal(model, 60000);
  std::fputs(text.c_str(), stderr);
  const std::size_t place = text.find("can be had; batch ");
  const bool names = text.find("with batch 60000 needs ") != std::string::npos &&
                     text.find(" GiB: activations ") != std::string::npos;
  if (!names || place == std::string::npos) std::exit(1);
  const std::int64_t fits = std::atoll(text.c_str() + place + 18);
  const std::string again = refusal(model, fits * 9 / 10);  // the images take memory as well
  std::fputs(again.c_str(), stderr);
  std::exit(fits > 100 && again.empty() ? 0 : 2);
}

TEST(Memory, APlanThatDoesNotFitSaysWhatItNeedsAndWhichBatchFits) {
  if (sanitized) GTEST_SKIP() << "the sanitizer's shadow memory leaves no limit to set";
  EXPECT_EXIT(predict_in_little_memory(), testing::ExitedWithCode(0), "batch 60000 needs");
}

void make_large_tensor() {
  limit_address_space(std::int64_t{300} << 20);
  try {
    const Tensor large(DType::f32, {1000, 1000, 1000});
  } catch (const DeviceError& error) {
    std::fputs(error.what(), stderr);
    std::exit(0);
  }
  std::exit(1);
}

TEST(Memory, ATensorThatDoesNotFitSaysWhatItNeeds) {
  if (sanitized) GTEST_SKIP() << "the sanitizer's shadow memory leaves no limit to set";
  EXPECT_EXIT(make_large_tensor(), testing::ExitedWithCode(0),
              "memory: a tensor f32.1000,1000,1000. needs 3.7 GiB, .* can be had");
}

}  // namespace
}  // namespace narrowgauge
