// SPDX-License-Identifier: Apache-2.0
// The picture of a sound: its spectrogram in mel bands.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "narrowgauge/tensor.h"

namespace narrowgauge {

// Mel bands, and what lies between two columns; the frontend of VGGish (Hershey et al., "CNN
// Architectures for Large-Scale Audio Classification", 2017).
inline constexpr std::int64_t mel_bands = 64;
inline constexpr double lowest_mel_hertz = 125, highest_mel_hertz = 7500;
inline constexpr double mel_window_seconds = 0.025, mel_hop_seconds = 0.010;
// How far below the loudest band of a sound black is.
inline constexpr float mel_range_decibels = 80;

// The columns that so many samples of a channel make: one where they do not fill a window. Throws
// as Spectrogram().
std::int64_t mel_columns(std::int64_t samples, double rate);

// Takes the samples of one channel, piece by piece, and draws them.
class Spectrogram {
 public:
  // The spectrogram of a sound of so many samples a second; throws DataError for a rate from which
  // no bands can be made.
  explicit Spectrogram(double rate);
  ~Spectrogram();

  void add(std::span<const float> samples);  // finite
  std::int64_t columns() const;              // that are complete
  // u8 [mel_bands, columns, 1], once there are no more samples. The highest band is the first row;
  // 255 is the loudest band of all, 0 what is mel_range_decibels below it.
  Tensor picture();

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace narrowgauge
