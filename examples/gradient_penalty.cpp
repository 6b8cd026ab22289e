// SPDX-License-Identifier: Apache-2.0
// A Wasserstein GAN with gradient penalty (Gulrajani et al. 2017): the loss of the critic holds the
// norm of its own gradient, so that training takes second derivatives.
#include "points.h"

namespace ng = narrowgauge;

constexpr std::int64_t batch = 128;
constexpr int critic_steps = 5;  // for each step of the generator
constexpr double penalty_weight = 1;

ng::Value criticise(ng::Network& net, ng::Value points) {
  return net.shared([&] { return points::layers(net, points, "critic", 1); });
}

ng::Value mean(ng::Network& net, ng::Value x) { return net.op("ReduceMean", {x}, "keepdims=0"); }
ng::Value number(ng::Network& net, double value) {
  return net.graph().constant(ng::Tensor::scalar(ng::DType::f32, value));
}

// The mean of (|d score / d point| - 1)^2 at points between made-up and drawn ones.
ng::Value penalty(ng::Network& net, ng::Value made_up, ng::Value drawn) {
  const ng::Value share = net.input("share", {net.batch(), 1});
  const ng::Value way = net.op("Mul", {share, net.op("Sub", {drawn, made_up})});
  const ng::Value between = net.add(made_up, way);
  const ng::Value score = net.op("ReduceSum", {criticise(net, between)}, "keepdims=0");
  const ng::Value slope = net.gradients(score, {between})[0];
  const ng::Value axes = net.graph().constant(ng::Tensor::full(ng::DType::i64, {1}, 1));
  const ng::Value norm = net.op("ReduceL2", {slope, axes}, "keepdims=0");
  net.output("slope", mean(net, norm));
  const ng::Value off = net.op("Sub", {norm, number(net, 1)});
  return mean(net, net.op("Mul", {off, off}));
}

ng::Value loss_of_critic(ng::Network& net) {
  const ng::Value made_up = points::generate(net), drawn = net.input("points", {net.batch(), 2});
  const ng::Value distance = net.op("Sub", {mean(net, criticise(net, drawn)),  //
                                            mean(net, criticise(net, made_up))});
  net.output("distance", distance);
  const ng::Value kept = net.op("Mul", {penalty(net, made_up, drawn), number(net, penalty_weight)});
  return net.op("Sub", {kept, distance});
}

int main() {
  ng::Model model("wgan-gp", points::generate);
  ng::Optimizer optimizer = ng::adam(1e-3);
  optimizer.rule.set("beta1", 0.0);
  optimizer.rule.set("beta2", 0.9);
  ng::Step critic(model, loss_of_critic, optimizer, {.name = "critic", .parameters = {"critic.*"}});
  ng::Step generator(model,
                     [](ng::Network& net) {
                       return net.op("Neg", {mean(net, criticise(net, points::generate(net)))});
                     },
                     optimizer, {.name = "generator", .parameters = {"generator.*"}});

  points::Random random(1);
  const auto draw_batch = [&] {
    std::vector<ng::Tensor> tensors{points::draw_noise(random, batch, points::noise_width),
                                    points::draw_points(random, batch),
                                    ng::Tensor(ng::DType::f32, {batch, 1})};
    std::uniform_real_distribution<float> uniform;
    for (float& share : tensors[2].values<float>()) share = uniform(random);
    return tensors;
  };
  for (int step = 1; step <= 1500; ++step) {
    for (int i = 0; i < critic_steps; ++i) critic.step(draw_batch());
    const ng::Tensor noise = points::draw_noise(random, batch, points::noise_width);
    generator.step(std::span(&noise, 1));
    if (step % 500 == 0)
      for (const ng::NamedTensor& output : critic.forward(draw_batch()))
        std::printf("step %4d: %s %.3f\n", step, output.name.c_str(), output.tensor.at(0));
  }
  points::judge(model.predict(points::draw_noise(random, 2000, points::noise_width)));
}
