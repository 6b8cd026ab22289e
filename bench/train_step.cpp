// SPDX-License-Identifier: Apache-2.0
// Times training steps of a built-in network on one random batch. Another process tells when to
// work, so that two engines can take turns: bench/against_torch.py. See bench/README.md.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/parallel.h"
#include "base/random.h"
#include "narrowgauge/narrowgauge.h"
#include "narrowgauge/safetensors.h"

using namespace narrowgauge;
using nlohmann::json;

namespace {

constexpr const char* usage_notes = R"(
Prints one line of JSON that says what was made, then obeys lines on standard input, each answered
by one line of JSON:
  step N      N steps; their milliseconds and losses
  profile N   N steps with every kernel timed; milliseconds a step of each kernel
With --steps N it takes no input: it makes N steps, prints them and ends.)";

struct Wishes {
  std::string model = "resnet20", image = "3x32x32", amp = "off", weights_file, batch_file;
  std::int64_t batch = 128, classes = 10, steps = 0;
  std::uint64_t seed = 1;
  int threads = 0;
};

ImageShape parse_image(const std::string& text) {
  ImageShape image;
  std::istringstream in(text);
  char first = 0, second = 0;
  in >> image.channels >> first >> image.height >> second >> image.width;
  const bool well_formed = in && in.eof() && first == 'x' && second == 'x';
  require(well_formed && image.channels > 0, "--image: expected CxHxW, got '", text, "'");
  return image;
}

Optimizer optimizer_of(const Wishes& wishes) {
  Optimizer optimizer = sgd(0.1);
  if (wishes.amp == "off") return optimizer;
  const std::optional<DType> narrow = parse_dtype(wishes.amp);
  require(narrow.has_value(), "--amp: expected off, f16 or bf16, got '", wishes.amp, "'");
  enable_mixed_precision(optimizer, *narrow);
  return optimizer;
}

// Images of mean 0 and variance 1, labels of all classes alike.
std::vector<Tensor> random_batch(const Wishes& wishes, ImageShape image) {
  require(wishes.batch > 0, "--batch: expected at least 1, got ", wishes.batch);
  require(wishes.classes > 0, "--classes: expected at least 1, got ", wishes.classes);
  Tensor images(DType::f32, {wishes.batch, image.channels, image.height, image.width});
  Tensor labels(DType::i64, {wishes.batch});
  const RandomStream pixels(wishes.seed, "images"), draws(wishes.seed, "labels");
  std::uint64_t element = 0;
  for (float& pixel : images.values<float>()) pixel = pixels.normal(element++);
  element = 0;
  for (std::int64_t& label : labels.values<std::int64_t>())
    label = draws.bits(element++) % wishes.classes;
  return {std::move(images), std::move(labels)};
}

class Bench {
 public:
  explicit Bench(const Wishes& wishes)
      : image_(parse_image(wishes.image)),
        model_(wishes.model, find_model(wishes.model, image_, wishes.classes), wishes.seed),
        trainer_(model_, softmax_cross_entropy(), optimizer_of(wishes),
                 {.seed = wishes.seed, .threads = wishes.threads}),
        batch_(random_batch(wishes, image_)) {
    if (!wishes.weights_file.empty()) model_.save(wishes.weights_file);
    if (!wishes.batch_file.empty())
      write_safetensors(wishes.batch_file, {{{"images", batch_[0]}, {"labels", batch_[1]}}, {}});
  }

  json step(std::int64_t count) {
    json milliseconds = json::array(), losses = json::array();
    for (std::int64_t i = 0; i < count; ++i) {
      const auto start = std::chrono::steady_clock::now();
      const StepResult result = trainer_.step(batch_);
      const std::chrono::duration<double, std::milli> taken =
          std::chrono::steady_clock::now() - start;
      milliseconds.push_back(taken.count());
      losses.push_back(result.loss);
    }
    return {{"milliseconds", milliseconds}, {"losses", losses}};
  }

  // From the first call on every step is timed kernel by kernel, which costs a little.
  json profile(std::int64_t count) {
    trainer_.enable_profile();
    step(count);
    profiled_ += count;
    const auto steps = static_cast<double>(profiled_);
    json kernels = json::array();
    for (const Trainer::KernelChoice& row : trainer_.kernels())
      kernels.push_back({{"node", row.node},
                         {"op", row.op},
                         {"implementation", row.implementation},
                         {"milliseconds", row.milliseconds / steps},
                         {"flops", row.flops},
                         {"bytes", row.bytes}});
    return {{"kernels", kernels}};
  }

 private:
  ImageShape image_;
  Model model_;
  Trainer trainer_;
  std::vector<Tensor> batch_;
  std::int64_t profiled_ = 0;
};

void say(const json& line) { std::cout << line.dump() << std::endl; }

void obey(Bench& bench, const std::string& line) {
  std::istringstream in(line);
  std::string command;
  std::int64_t count = 0;
  in >> command >> count;
  require(count > 0 && (command == "step" || command == "profile"),
          "expected 'step N' or 'profile N', got '", line, "'");
  say(command == "step" ? bench.step(count) : bench.profile(count));
}

void run(const Wishes& wishes) {
  Bench bench(wishes);
  say({{"model", wishes.model},
       {"batch", wishes.batch},
       {"image", wishes.image},
       {"classes", wishes.classes},
       {"amp", wishes.amp},
       {"threads", wishes.threads > 0 ? wishes.threads : thread_count()}});
  if (wishes.steps > 0) return say(bench.step(wishes.steps));
  for (std::string line; std::getline(std::cin, line);) obey(bench, line);
}

}  // namespace

int main(int count, char** arguments) {
  Wishes wishes;
  CLI::App app("Times training steps of a built-in network on one random batch.");
  app.footer(usage_notes);
  app.option_defaults()->always_capture_default();
  app.add_option("--model", wishes.model, "mlp, lenet or resnet20");
  app.add_option("--batch", wishes.batch, "samples");
  app.add_option("--image", wishes.image, "channels x height x width");
  app.add_option("--classes", wishes.classes);
  app.add_option("--amp", wishes.amp, "off, f16 or bf16");
  app.add_option("--threads", wishes.threads, "0: all");
  app.add_option("--steps", wishes.steps, "make so many and end; 0: obey standard input");
  app.add_option("--seed", wishes.seed, "of weights and batch");
  app.add_option("--save-weights", wishes.weights_file, "safetensors file for the first weights");
  app.add_option("--save-batch", wishes.batch_file, "safetensors file for the batch");
  CLI11_PARSE(app, count, arguments);
  try {
    run(wishes);
  } catch (const UsageError& error) {
    std::fprintf(stderr, "bench_train_step: %s\n", error.what());
    return 2;
  }
  return 0;
}
