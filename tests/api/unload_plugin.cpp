// SPDX-License-Identifier: Apache-2.0
// A plug-in of a host program that knows nothing of narrowgauge, linked with the library.
#include <cmath>

#include "narrowgauge/narrowgauge.h"

namespace {

using namespace narrowgauge;

Tensor inputs(std::int64_t count) {
  Tensor images(DType::f32, {count, 1, 12, 12});
  for (std::int64_t i = 0; i < images.size(); ++i) images.set(i, std::sin(static_cast<double>(i)));
  return images;
}

std::shared_ptr<DataSource> samples(std::int64_t count) {
  Tensor labels(DType::i64, {count});
  for (std::int64_t i = 0; i < count; ++i) labels.set(i, static_cast<double>(i % 4));
  return std::make_shared<TensorSource>(std::vector<Tensor>{inputs(count), labels});
}

}  // namespace

// 0, if all went well.
extern "C" __attribute__((visibility("default"))) int train_and_answer(int threads) {
  try {
    Model model("small", [](Network& net) {
      Value x = net.input("images", {net.batch(), 1, 12, 12});
      x = net.relu(net.batch_norm(net.conv(x, 8)));
      return net.linear(net.flatten(net.max_pool(x)), 4);
    });
    Optimizer optimizer = sgd(0.05);
    enable_mixed_precision(optimizer, DType::bf16);
    Trainer trainer(model, softmax_cross_entropy(), optimizer, {.threads = threads});
    trainer.fit(samples(64), samples(32), {.epochs = 2, .batch = 32});
    ConvertOptions options;
    options.precision = EnginePrecision::int8;
    options.calibration = samples(32);
    return std::isfinite(convert(model, options).predict(inputs(3)).at(0)) ? 0 : 1;
  } catch (const std::exception&) {
    return 2;
  }
}
