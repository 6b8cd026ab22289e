// SPDX-License-Identifier: Apache-2.0
// A network of one's own, trained with mixed precision, saved, and asked for a prediction.
#include <narrowgauge/narrowgauge.h>

#include <cstdio>
#include <vector>

namespace ng = narrowgauge;

int main() {
  ng::Model model("mine", [](ng::Network& net) {
    ng::Value x = net.input("images", {net.batch(), 1, 28, 28});
    x = net.max_pool(net.relu(net.conv(x, 16, {.kernel = 5})));
    x = net.max_pool(net.relu(net.conv(x, 32)));
    return net.linear(net.flatten(x), 10);
  });
  ng::Optimizer optimizer = ng::adam(5e-3);
  ng::enable_mixed_precision(optimizer);  // f16, f32 master weights, dynamic loss scale
  ng::Trainer trainer(model, ng::softmax_cross_entropy(), optimizer);

  const ng::DataSplit data = ng::draw_glyphs(1, 2000, 500);
  const auto train = std::make_shared<ng::TensorSource>(data.train, ng::ImageTransform{});
  const auto test = std::make_shared<ng::TensorSource>(data.test, ng::ImageTransform{});
  const ng::FitResult result = trainer.fit(train, test, {.epochs = 4, .batch = 32});
  std::printf("test accuracy %.1f %%\n", 100 * result.test.accuracy);

  model.save("mine.safetensors");
  const ng::Tensor logits = model.predict(ng::Tensor(ng::DType::f32, {1, 1, 28, 28}));
  std::printf("%lld logits\n", static_cast<long long>(logits.size()));
}
