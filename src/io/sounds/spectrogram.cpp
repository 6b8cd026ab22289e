// SPDX-License-Identifier: Apache-2.0
#include "io/sounds/spectrogram.h"

#include <kissfft/kiss_fftr.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <vector>

#include "narrowgauge/error.h"

namespace narrowgauge {

// A triangle over the bins of a transform.
struct MelBand {
  std::size_t first = 0;
  std::vector<float> weights{};
};

namespace {

constexpr double least_rate = 1000, most_rate = 1'000'000;  // samples a second

// O'Shaughnessy's scale, as the Hidden Markov Model Toolkit has it.
double mel_of(double hertz) { return 1127 * std::log1p(hertz / 700); }

void check_rate(double rate) {
  require<DataError>(rate >= least_rate && rate <= most_rate, "it has ", rate,
                     " samples a second, and ", least_rate, " to ", most_rate, " are read");
}

std::int64_t samples_in(double seconds, double rate) { return std::llround(seconds * rate); }

// Triangles of height 1 on the mel scale, each from the middle of the one below to that above.
std::vector<MelBand> bands_at(double rate, std::size_t size) {
  const double lowest = mel_of(lowest_mel_hertz), highest = mel_of(highest_mel_hertz);
  const double step = (highest - lowest) / static_cast<double>(mel_bands + 1);
  std::vector<MelBand> bands(static_cast<std::size_t>(mel_bands));
  for (std::size_t bin = 1; bin <= size / 2; ++bin) {
    const double at =
        (mel_of(static_cast<double>(bin) * rate / static_cast<double>(size)) - lowest) / step;
    for (std::size_t b = 0; b < bands.size(); ++b) {
      const double weight = 1 - std::abs(at - static_cast<double>(b + 1));
      if (weight <= 0) continue;
      if (bands[b].weights.empty()) bands[b].first = bin;
      bands[b].weights.push_back(static_cast<float>(weight));
    }
  }
  return bands;
}

// Hann's window, whose period is its length.
std::vector<float> hann(std::int64_t length) {
  std::vector<float> window(static_cast<std::size_t>(length));
  for (std::size_t i = 0; i < window.size(); ++i) {
    const double turn = static_cast<double>(i) / static_cast<double>(length);
    window[i] = static_cast<float>(0.5 - 0.5 * std::cos(2 * std::numbers::pi * turn));
  }
  return window;
}

}  // namespace

std::int64_t mel_columns(std::int64_t samples, double rate) {
  check_rate(rate);
  const std::int64_t window = samples_in(mel_window_seconds, rate);
  return samples < window ? 1 : 1 + (samples - window) / samples_in(mel_hop_seconds, rate);
}

struct Spectrogram::Implementation {
  std::vector<float> window;
  std::size_t hop;
  std::unique_ptr<kiss_fftr_state, void (*)(void*)> transform;
  std::vector<MelBand> bands;
  std::vector<float> waiting, padded;
  std::vector<kiss_fft_cpx> spectrum;
  std::vector<float> powers;  // [columns, mel_bands]

  explicit Implementation(double rate)
      : window(hann(samples_in(mel_window_seconds, rate))),
        hop(static_cast<std::size_t>(samples_in(mel_hop_seconds, rate))),
        transform(nullptr, [](void* state) { kiss_fft_free(state); }),
        padded(std::bit_ceil(window.size())),
        spectrum(padded.size() / 2 + 1) {
    transform.reset(kiss_fftr_alloc(static_cast<int>(padded.size()), 0, nullptr, nullptr));
    require(transform != nullptr, "sound: no memory for a transform of ", padded.size());
    bands = bands_at(rate, padded.size());
  }

  void add_column(const float* samples) {
    for (std::size_t i = 0; i < window.size(); ++i) padded[i] = samples[i] * window[i];
    kiss_fftr(transform.get(), padded.data(), spectrum.data());
    for (const MelBand& band : bands) {
      float power = 0;
      for (std::size_t i = 0; i < band.weights.size(); ++i) {
        const kiss_fft_cpx& bin = spectrum[band.first + i];
        power += band.weights[i] * (bin.r * bin.r + bin.i * bin.i);
      }
      powers.push_back(power);
    }
  }
};

Spectrogram::Spectrogram(double rate) {
  check_rate(rate);
  implementation_ = std::make_unique<Implementation>(rate);
}

Spectrogram::~Spectrogram() = default;

void Spectrogram::add(std::span<const float> samples) {
  Implementation& self = *implementation_;
  self.waiting.insert(self.waiting.end(), samples.begin(), samples.end());
  std::size_t begin = 0;
  for (; begin + self.window.size() <= self.waiting.size(); begin += self.hop)
    self.add_column(self.waiting.data() + begin);
  self.waiting.erase(self.waiting.begin(),
                     self.waiting.begin() + static_cast<std::ptrdiff_t>(begin));
}

std::int64_t Spectrogram::columns() const {
  return std::ssize(implementation_->powers) / mel_bands;
}

Tensor Spectrogram::picture() {
  Implementation& self = *implementation_;
  if (columns() == 0) {
    self.waiting.resize(self.window.size());
    self.add_column(self.waiting.data());
  }
  const std::int64_t width = columns();
  const float loudest = *std::ranges::max_element(self.powers);
  Tensor picture(DType::u8, {mel_bands, width, 1});
  if (loudest <= 0) return picture;
  std::uint8_t* const pixels = picture.values<std::uint8_t>().data();
  for (std::int64_t x = 0; x < width; ++x)
    for (std::int64_t band = 0; band < mel_bands; ++band) {
      const float power = self.powers[static_cast<std::size_t>(x * mel_bands + band)];
      const float decibels = 10 * std::log10(power / loudest);  // -inf for silence
      const float light = std::max(0.0f, 1 + decibels / mel_range_decibels);
      pixels[(mel_bands - 1 - band) * width + x] =
          static_cast<std::uint8_t>(std::lround(255 * light));
    }
  return picture;
}

}  // namespace narrowgauge
