// SPDX-License-Identifier: Apache-2.0
// A program that is linked with the shared library, as those of users are, and ends while its
// threads make networks and predict. Run again and again, each time it must end as exit() says.
#include <narrowgauge/narrowgauge.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace ng = narrowgauge;

namespace {

ng::Value network(ng::Network& net) {
  const ng::Value x = net.input("images", {net.batch(), 1, 8, 8});
  return net.linear(net.flatten(net.relu(net.batch_norm(net.conv(x, 8)))), 10);
}

// Half of the threads use one network again and again, the others make new ones.
void predict_until_the_end(int thread) {
  const ng::Tensor input(ng::DType::f32, {16, 1, 8, 8});
  for (std::uint64_t seed = 0;; ++seed) {
    ng::Model model("small", network, seed);
    if (thread % 2 == 0) model.set_precision({.narrow = ng::DType::bf16});
    for (int repeat = 0; repeat < (thread < 2 ? 1 : 1'000'000); ++repeat) model.predict(input);
  }
}

[[noreturn]] void end_after(int milliseconds) {
  for (int t = 0; t < 4; ++t) std::thread(predict_until_the_end, t).detach();
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  std::exit(0);
}

}  // namespace

int main() {
  int bad = 0;
  for (int i = 0; i < 30; ++i) {
    const pid_t child = fork();
    if (child == 0) end_after(4 * i);
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) ++bad;
  }
  std::printf("%d of 30 ended badly\n", bad);
  return bad == 0 ? 0 : 1;
}
