// SPDX-License-Identifier: Apache-2.0
// A network that never touches a disk: trained, written to memory, read from there as an engine
// that answers into memory of ours, and trained on twice from one place.
#include <narrowgauge/narrowgauge.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace ng = narrowgauge;

int main() {
  ng::Model model("mine", [](ng::Network& net) {
    ng::Value x = net.input("images", {net.batch(), 1, 28, 28});
    x = net.max_pool(net.relu(net.conv(x, 8, {.kernel = 5, .stride = 2})));
    return net.linear(net.flatten(x), 10);
  });
  ng::TensorSource glyphs(ng::draw_glyphs(1, 64, 1).train, ng::ImageTransform{});
  std::vector<std::int64_t> all(64);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
  std::vector<ng::Tensor> batch{ng::Tensor(ng::DType::f32, {64, 1, 28, 28}),
                                ng::Tensor(ng::DType::i64, {64})};
  glyphs.read(all, batch);
  ng::Trainer trainer(model, ng::softmax_cross_entropy(), ng::adam(5e-3));
  for (int step = 0; step < 20; ++step) trainer.step(batch);

  const std::vector<std::byte> file = model.to_onnx();
  const ng::Engine engine = ng::Engine::open(file, {.name = "mine.onnx"});
  ng::Tensor scores(ng::DType::f32, {64, 10});
  for (int answer = 0; answer < 100; ++answer) engine.predict(batch[0], scores);
  const ng::Tensor expected = model.predict(batch[0]);
  double difference = 0;
  for (std::int64_t i = 0; i < scores.size(); ++i)
    difference = std::max(difference, std::abs(scores.at(i) - expected.at(i)));

  ng::Model copy = model.clone();
  ng::Trainer twin = trainer.clone(copy);
  bool equal = true;
  for (int step = 0; step < 20; ++step)
    equal = equal && trainer.step(batch).loss == twin.step(batch).loss;
  std::printf("%zu bytes, answers differ by less than 1e-4: %s, twins are equal: %s\n", file.size(),
              difference < 1e-4 ? "yes" : "no",
              equal && model.sha256() == copy.sha256() ? "yes" : "no");
}
