// SPDX-License-Identifier: Apache-2.0
// How the time until a first step or answer grows with a graph: a recurrent layer unrolled over so
// many steps, or one value with so many readers. Ends with the exponent between neighbouring sizes:
// 1 is linear. `file` writes the unrolled network as a file of ONNX, reads that and answers. All
// runs in a thread with a stack of so many KiB. Usage: bench_compile_time [train|answer|file|wide
// [SIZES [STACK_KIB]]] (train 250,500,1000,2000 8192).
#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "narrowgauge/narrowgauge.h"

using namespace narrowgauge;

namespace {

constexpr std::int64_t batch = 4, width = 8;

// h = tanh(W x_t + U h), over the steps of x [N, T, width].
Value unrolled(Network& net, std::int64_t steps) {
  const Value x = net.input("x", {net.batch(), steps, width});
  const Value w = net.parameter("w", {width, width}, Initial::normal(0, 0.3));
  const Value u = net.parameter("u", {width, width}, Initial::normal(0, 0.3));
  Value h;
  for (std::int64_t t = 0; t < steps; ++t) {
    const Value now = net.reshape(net.slice(x, 1, t, t + 1), {net.batch(), width});
    const Value from_input = net.op("MatMul", {now, w});
    h = net.tanh(t == 0 ? from_input : net.add(from_input, net.op("MatMul", {h, u})));
  }
  return net.linear(h, 2);
}

Value wide(Network& net, std::int64_t readers) {
  const Value x = net.linear(net.flatten(net.input("x", {net.batch(), 1, width})), width);
  Values sums;
  for (std::int64_t r = 0; r < readers; ++r) {
    sums.push_back(net.relu(net.linear(x, 2)));
    while (sums.size() > 1 && (r + 1 == readers || (r & 1) == 0)) {
      const Value last = sums.back();
      sums.pop_back();
      sums.back() = net.add(sums.back(), last);
    }
  }
  return sums[0];
}

struct Work {
  std::string kind = "train";
  std::vector<std::int64_t> sizes{250, 500, 1000, 2000};
};

double seconds_of_first(const Work& work, std::int64_t size) {
  const bool is_wide = work.kind == "wide";
  const auto build = [&](Network& net) { return is_wide ? wide(net, size) : unrolled(net, size); };
  const Tensor x(DType::f32, {batch, is_wide ? 1 : size, width});
  const auto start = std::chrono::steady_clock::now();
  Model model("grown", build);
  if (work.kind == "answer") {
    model.predict(x);
  } else if (work.kind == "file") {
    const auto path = std::filesystem::temp_directory_path() /
                      ("compile_time_" + std::to_string(getpid()) + ".onnx");
    model.to_onnx(path.string());
    Model::from_onnx(path.string()).predict(x);
    std::filesystem::remove(path);
  } else {
    Trainer trainer(model, softmax_cross_entropy(), sgd(0.01));
    const Tensor data[] = {x, Tensor(DType::i64, {batch})};
    trainer.step(data);
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void* measure(void* given) try {
  const Work& work = *static_cast<const Work*>(given);
  double before = 0;
  for (std::size_t i = 0; i < work.sizes.size(); ++i) {
    const double seconds = seconds_of_first(work, work.sizes[i]);
    std::printf("%s %6lld: %8.3f s", work.kind.c_str(), static_cast<long long>(work.sizes[i]),
                seconds);
    if (i > 0)
      std::printf(", exponent %.2f",
                  std::log(seconds / before) / std::log(static_cast<double>(work.sizes[i]) /
                                                        static_cast<double>(work.sizes[i - 1])));
    std::printf("\n");
    std::fflush(stdout);
    before = seconds;
  }
  return nullptr;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return given;
}

}  // namespace

int main(int argc, char** argv) {
  Work work;
  if (argc > 1) work.kind = argv[1];
  if (argc > 2) {
    work.sizes.clear();
    std::istringstream sizes(argv[2]);
    for (std::string size; std::getline(sizes, size, ',');)
      work.sizes.push_back(std::atoll(size.c_str()));
  }
  const std::size_t kib = argc > 3 ? static_cast<std::size_t>(std::atoll(argv[3])) : 8192;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kib * 1024);
  pthread_t thread{};
  if (pthread_create(&thread, &attributes, measure, &work) != 0) return 1;
  void* failed = nullptr;
  pthread_join(thread, &failed);
  return failed ? 1 : 0;
}
