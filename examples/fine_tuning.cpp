// SPDX-License-Identifier: Apache-2.0
// A network from a file of ONNX, trained further on few images that look different: the first
// convolution stays as it is, the second learns at a tenth of the rate, the last layer at all of
// it.
#include <narrowgauge/narrowgauge.h>

#include <cstdint>
#include <cstdio>

namespace ng = narrowgauge;

using Source = std::shared_ptr<ng::DataSource>;

Source source_of(const ng::DataSet& set) {
  return std::make_shared<ng::TensorSource>(set, ng::ImageTransform{});
}

// Black on white, where the set is white on black.
ng::DataSet inverted(ng::DataSet set) {
  set.inputs[0].tensor = set.inputs[0].tensor.clone();
  for (std::uint8_t& pixel : set.inputs[0].tensor.values<std::uint8_t>())
    pixel = static_cast<std::uint8_t>(255 - pixel);
  return set;
}

// Stands for a file that came from elsewhere.
void write_trained(const char* file, const ng::DataSplit& data) {
  ng::Model model("base", [](ng::Network& net) {
    ng::Value x = net.input("images", {net.batch(), 1, 28, 28});
    x = net.max_pool(net.relu(net.conv(x, 8, {.kernel = 5}, "first")));
    x = net.max_pool(net.relu(net.conv(x, 16, {}, "second")));
    return net.linear(net.flatten(x), 10, "head");
  });
  ng::Trainer trainer(model, ng::softmax_cross_entropy(), ng::adam(5e-3));
  const ng::FitResult result =
      trainer.fit(source_of(data.train), source_of(data.test), {.epochs = 4, .batch = 32});
  std::printf("trained:    %.1f %% right\n", 100 * result.test.accuracy);
  model.to_onnx(file);
}

int main() {
  const ng::DataSplit data = ng::draw_glyphs(1, 2000, 500);
  write_trained("base.onnx", data);

  ng::Model model = ng::Model::from_onnx("base.onnx");
  ng::Optimizer optimizer = ng::adam(5e-3);
  optimizer.groups = {{.pattern = "first.*", .frozen = true}, {.pattern = "second.*", .rate = 0.1}};
  optimizer.decays_vectors = false;  // no weight decay on biases
  ng::Trainer trainer(model, ng::softmax_cross_entropy(), optimizer);

  const ng::Tensor first = model.state("first.weight");
  const Source test = source_of(inverted(data.test));
  std::printf("other data: %.1f %% right\n", 100 * trainer.evaluate(test).accuracy);
  const ng::DataSplit few = ng::draw_glyphs(2, 800, 1);
  const ng::FitResult result =
      trainer.fit(source_of(inverted(few.train)), test, {.epochs = 15, .batch = 20});
  std::printf("fine-tuned: %.1f %% right, first layer %s\n", 100 * result.test.accuracy,
              model.state("first.weight").same_bits(first) ? "as it was" : "changed");
  model.to_onnx("tuned.onnx");
}
