// SPDX-License-Identifier: Apache-2.0
// A GAN (Goodfellow et al. 2014): two networks of one model, each trained by a Step of its own. The
// generator turns noise into points, and the discriminator tells these from drawn ones.
#include "points.h"

namespace ng = narrowgauge;

constexpr std::int64_t batch = 128;

// Logits of being drawn; the same network wherever it is asked.
ng::Value discriminate(ng::Network& net, ng::Value points) {
  return net.shared([&] { return points::layers(net, points, "discriminator", 1); });
}

// The mean of -log(sigmoid(logits)): small where the logits are large.
ng::Value loss_of_true(ng::Network& net, ng::Value logits) {
  return net.op("ReduceMean", {net.op("Softplus", {net.op("Neg", {logits})})}, "keepdims=0");
}
ng::Value loss_of_false(ng::Network& net, ng::Value logits) {
  return loss_of_true(net, net.op("Neg", {logits}));
}

int main() {
  ng::Model model("gan", points::generate);
  ng::Optimizer optimizer = ng::adam(1e-3);
  optimizer.rule.set("beta1", 0.5);  // Radford, Metz, Chintala 2016
  ng::Step discriminator(model,
                         [](ng::Network& net) {
                           const ng::Value made_up = points::generate(net);
                           const ng::Value drawn = net.input("points", {net.batch(), 2});
                           return net.add(loss_of_true(net, discriminate(net, drawn)),
                                          loss_of_false(net, discriminate(net, made_up)));
                         },
                         optimizer, {.name = "discriminator", .parameters = {"discriminator.*"}});
  ng::Step generator(
      model,
      [](ng::Network& net) { return loss_of_true(net, discriminate(net, points::generate(net))); },
      optimizer, {.name = "generator", .parameters = {"generator.*"}});

  points::Random random(1);
  for (int step = 1; step <= 4000; ++step) {
    const ng::Tensor noise = points::draw_noise(random, batch, points::noise_width);
    const ng::Tensor both[] = {noise, points::draw_points(random, batch)};
    const ng::StepResult judged = discriminator.step(both);
    const ng::StepResult made = generator.step(std::span(&noise, 1));
    if (step % 1000 == 0)
      std::printf("step %4d: discriminator %.3f, generator %.3f\n", step, judged.loss, made.loss);
  }
  points::judge(model.predict(points::draw_noise(random, 2000, points::noise_width)));
}
