// SPDX-License-Identifier: Apache-2.0
// One network, two losses and two optimizers: an autoencoder learns to draw its images again, by
// AdamW, and beside it a classifier learns by SGD to read the autoencoder's code, which it leaves
// as it is.
#include <narrowgauge/narrowgauge.h>

#include <algorithm>
#include <cstdio>

namespace ng = narrowgauge;

constexpr std::int64_t side = 28, pixels = side * side, batch = 32;

ng::Value encode(ng::Network& net) {
  const ng::Value image = net.flatten(net.input("images", {net.batch(), 1, side, side}));
  return net.relu(
      net.linear(net.relu(net.linear(image, 256, "encoder.first")), 64, "encoder.last"));
}

ng::Value classify(ng::Network& net) {
  const ng::Value h = net.relu(net.linear(encode(net), 256, "classifier.first"));
  return net.linear(h, 10, "classifier.last");
}

// The mean squared difference from the image, which is the label here.
ng::Value redraw(ng::Network& net) {
  const ng::Value h = net.relu(net.linear(encode(net), 256, "decoder.first"));
  return ng::mean_squared_error()(net, net.sigmoid(net.linear(h, pixels, "decoder.last")));
}

int main() {
  ng::Model model("reader", classify);
  ng::Step drawing(model, redraw, ng::adamw(1e-3),
                   {.name = "drawing", .parameters = {"encoder.*", "decoder.*"}});
  ng::Step reading(model,
                   [](ng::Network& net) { return ng::softmax_cross_entropy()(net, classify(net)); },
                   ng::sgd(0.01), {.name = "reading", .parameters = {"classifier.*"}});

  const ng::DataSplit data = ng::draw_glyphs(1, 4000, 1000);
  ng::BatchLoader loader(std::make_shared<ng::TensorSource>(data.train, ng::ImageTransform{}),
                         {.batch = batch, .epochs = 12});
  ng::StepResult drawn, read;
  while (const std::optional<ng::Batch> next = loader.next()) {
    const ng::Tensor& images = next->tensors[0];
    const ng::Tensor again[] = {images, images.reshaped({batch, pixels})};
    drawn = drawing.step(again);
    read = reading.step(next->tensors);
  }
  std::printf("squared error %.4f, cross entropy %.3f\n", drawn.loss, read.loss);

  ng::BatchLoader test(std::make_shared<ng::TensorSource>(data.test, ng::ImageTransform{}),
                       {.batch = 1000, .shuffle = false, .epochs = 1});
  const ng::Batch all = *test.next();
  const ng::Tensor logits = model.predict(all.tensors[0]);
  const std::span<const std::int64_t> labels = all.tensors[1].values<std::int64_t>();
  int right = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto row = logits.values<float>().subspan(10 * i, 10);
    right += std::max_element(row.begin(), row.end()) - row.begin() == labels[i];
  }
  std::printf("test accuracy %.1f %%\n", 100.0 * right / static_cast<double>(labels.size()));
}
