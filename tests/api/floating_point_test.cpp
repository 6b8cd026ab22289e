// SPDX-License-Identifier: Apache-2.0
// Hosts that round otherwise, trap exceptions or flush denormals: all that the library computes has
// the same bits, and the host finds its settings and flags as they were.
#include <fenv.h>
#include <gtest/gtest.h>
#include <immintrin.h>

#include <functional>
#include <thread>

#include "api/small_training.h"
#include "base/hash/sha256.h"
#include "io/files.h"
#include "narrowgauge/generate.h"
#include "narrowgauge/narrowgauge.h"
#include "narrowgauge/simulate.h"
#include "narrowgauge/tables.h"

namespace narrowgauge::floating_point_test {
namespace {

using testing_files::TemporaryFolder;

std::string bits_of(const Tensor& tensor) {
  Sha256 hash;
  hash.update(std::span(tensor.data(), static_cast<std::size_t>(tensor.bytes())));
  return hash.hex();
}

// Made once, before the host changes anything.
struct Inputs {
  Tensor images = small_batch(1)[0];
  std::shared_ptr<DataSource> samples = small_source(72);
};
const Inputs& inputs() {
  static const auto& made = *new Inputs;
  return made;
}

std::string train(std::optional<DType> narrow, int threads) {
  Optimizer optimizer = adam(0.013);
  optimizer.clip_norm = 0.7;
  if (narrow) enable_mixed_precision(optimizer, *narrow);
  Model model("small", small_network(), 3);
  Trainer trainer(model, softmax_cross_entropy(), optimizer,
                  {.deterministic = true, .threads = threads});
  const auto& data = inputs().samples;
  const FitResult result = trainer.fit(data, data, {.epochs = 2, .batch = 24});
  const Evaluation test = trainer.evaluate(data, 30);
  return model.sha256() +
         concat(' ', result.final_loss, ' ', result.test.loss, ' ', test.loss, ' ', test.accuracy);
}

std::string answers() {
  Model model("small", small_network(), 3);
  std::string all = bits_of(model.predict(inputs().images));
  model.set_precision({.narrow = DType::f16});
  return all + bits_of(model.predict(inputs().images));
}

std::string engine() {
  ConvertOptions options;
  options.precision = EnginePrecision::int8;
  options.calibration = inputs().samples;
  options.calibrator = "entropy";
  const Engine converted = convert(Model("small", small_network(), 3), options);
  const TemporaryFolder folder;
  converted.save(folder / "small.onnx");
  return bits_of(Engine::open(folder / "small.onnx").predict(inputs().images));
}

std::string tensors() {
  Tensor some = Tensor::full(DType::f32, {6}, 0.1);
  constexpr double numbers[]{1.0 / 3, -0.7, 1e-41, std::numeric_limits<double>::quiet_NaN(), 3e9};
  for (std::int64_t i = 0; i < 5; ++i) some.set(i, numbers[i]);
  std::string all = bits_of(some) + concat(some.at(2));
  for (const DType dtype : {DType::f16, DType::bf16, DType::f8e4m3fn, DType::i8})
    all += bits_of(some.cast(dtype)) + bits_of(some.cast(dtype).cast(DType::f64));
  return all;
}

std::string data() {
  const TemporaryFolder folder;
  std::string text = "a,b,label\n";
  for (int i = 0; i < 5; ++i) text += "0.1,2e-3,x\n1.7,4.3,y\n0.3,-6,x\n";
  testing_files::write_file(folder / "rows.csv", text);
  const DataSplit rows = read_table(folder / "rows.csv");
  const DataSplit glyphs = draw_glyphs(3, 8, 4);
  TensorSource source(glyphs.train, ImageTransform{});
  std::vector<Tensor> batch{Tensor(DType::f32, {2, 1, 28, 28}), Tensor(DType::i64, {2})};
  source.read(std::vector<std::int64_t>{1, 5}, batch);
  std::string all = bits_of(batch[0]);
  for (const NamedTensor& each : rows.train.inputs) all += bits_of(each.tensor);
  return all;
}

std::string simulated() {
  const UnitModel* const unit = find_unit_model(MatrixUnit::h100, UnitFormat::f16, UnitFormat::f32);
  const Tensor images = inputs().images.reshaped({32, 144});
  return bits_of(simulate_product(*unit, images, images.reshaped({144, 32})));
}

std::string sampled() {
  std::string all;
  for (const double share : Sampler({.temperature = 0.7, .top_p = 0.9})
                                .probabilities(std::vector<float>{0.5f, 2, -1, 1.3f, 0.1f}))
    all += concat(share, ' ');
  return all;
}

const std::vector<std::pair<std::string, std::function<std::string()>>>& calls() {
  static const auto& all = *new std::vector<std::pair<std::string, std::function<std::string()>>>{
      {"tensors", tensors},
      {"answers", answers},
      {"f32, one thread", [] { return train({}, 1); }},
      {"f32, two threads", [] { return train({}, 2); }},
      {"bf16", [] { return train(DType::bf16, 2); }},
      {"f16", [] { return train(DType::f16, 2); }},
      {"engine", engine},
      {"simulated", simulated},
      {"sampled", sampled},
      {"data", data}};
  return all;
}

struct Host {
  int rounding = FE_TONEAREST;
  bool traps = false, flushes = false;
};

// MXCSR and the flags and settings of x87.
std::pair<unsigned, unsigned> settings() {
  fenv_t environment;
  fegetenv(&environment);
  fesetenv(&environment);  // fegetenv() masks exceptions of x87
  return {_mm_getcsr(), environment.__control_word | environment.__status_word << 16};
}

void expect_same_bits(const Host& host, const std::vector<std::string>& usual) {
  for (std::size_t i = 0; i < calls().size(); ++i) {
    const auto& [what, call] = calls()[i];
    fesetround(host.rounding);
    if (host.flushes) _mm_setcsr(_mm_getcsr() | 0x8040);
    feclearexcept(FE_ALL_EXCEPT);
    if (host.traps) feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW);
    const auto before = settings();
    const std::string got = call();
    const auto after = settings();
    fesetenv(FE_DFL_ENV);
    EXPECT_EQ(got, usual[i]) << what << ", rounding " << host.rounding << ", traps " << host.traps
                             << ", flushes " << host.flushes;
    EXPECT_EQ(after.first & ~0x3fu, before.first & ~0x3fu) << what;
    EXPECT_EQ(after.second & 0xffff, before.second & 0xffff) << what;
  }
}

std::vector<std::string> usual_bits() {
  std::vector<std::string> bits;
  for (const auto& [what, call] : calls()) bits.push_back(call());
  return bits;
}

TEST(floating_point, the_host_may_round_as_it_likes) {
  const std::vector<std::string> usual = usual_bits();
  EXPECT_EQ(usual[2], usual[3]);
  for (const int rounding : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO})
    expect_same_bits({.rounding = rounding}, usual);
}

TEST(floating_point, the_host_may_trap_and_flush) {
  const std::vector<std::string> usual = usual_bits();
  expect_same_bits({.traps = true}, usual);
  expect_same_bits({.flushes = true}, usual);
}

TEST(floating_point, threads_of_the_host_may_differ) {
  const std::vector<std::string> usual = usual_bits();
  std::thread trapping([&] { expect_same_bits({.traps = true, .flushes = true}, usual); });
  std::thread rounding([&] { expect_same_bits({.rounding = FE_UPWARD}, usual); });
  expect_same_bits({.rounding = FE_TOWARDZERO}, usual);
  trapping.join();
  rounding.join();
}

// The last vector of some kernels holds numbers of no channel.
BuildNetwork normalized(std::int64_t channels) {
  return [=](Network& net) {
    const Value x = net.input("x", {net.batch(), channels, 3, 3});
    return net.batch_norm(net.relu(net.conv(net.batch_norm(x), channels)));
  };
}

TEST(floating_point, channels_that_fill_no_vector_trap_nothing) {
  for (const std::int64_t channels : {1, 3, 5, 13, 17, 31, 50}) {
    const Tensor x = Tensor::full(DType::f32, {2, channels, 3, 3}, 0.7);
    const std::string usual = bits_of(Model("normalized", normalized(channels), 3).predict(x));
    const auto predict_trapping = [&] {
      feclearexcept(FE_ALL_EXCEPT);
      feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
      const std::string got = bits_of(Model("normalized", normalized(channels), 3).predict(x));
      fesetenv(FE_DFL_ENV);
      EXPECT_EQ(got, usual) << channels;
    };
    predict_trapping();
    std::thread(predict_trapping).join();
  }
}

TEST(floating_point, a_run_leaves_no_flags) {
  Model model("small", small_network(), 3);
  feclearexcept(FE_ALL_EXCEPT);
  model.predict(small_batch(1)[0]);
  EXPECT_EQ(fetestexcept(FE_ALL_EXCEPT & ~FE_INEXACT), 0);
  feraiseexcept(FE_DIVBYZERO);
  model.predict(small_batch(1)[0]);
  EXPECT_EQ(fetestexcept(FE_DIVBYZERO), FE_DIVBYZERO);
}

}  // namespace
}  // namespace narrowgauge::floating_point_test
