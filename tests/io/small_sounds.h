// SPDX-License-Identifier: Apache-2.0
// Sounds made here: tones, and the bytes of WAV files.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

namespace narrowgauge::testing_files {

inline std::vector<float> tone(double hertz, double seconds, int rate) {
  std::vector<float> samples(static_cast<std::size_t>(std::llround(seconds * rate)));
  for (std::size_t i = 0; i < samples.size(); ++i)
    samples[i] = static_cast<float>(
        0.5 * std::sin(2 * std::numbers::pi * hertz * static_cast<double>(i) / rate));
  return samples;
}

inline void append_number(std::string& bytes, std::uint32_t number, int count) {
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(number >> (8 * i));
}

// Microsoft's "WAVE" form: a chunk that says how samples lie, and one of samples.
inline std::string wav_of_bytes(const std::string& samples, int format, int bits, int rate,
                                int channels) {
  const auto number = [](int i) { return static_cast<std::uint32_t>(i); };
  std::string bytes = "WAVEfmt ";
  append_number(bytes, 16, 4);
  append_number(bytes, number(format), 2);
  append_number(bytes, number(channels), 2);
  append_number(bytes, number(rate), 4);
  append_number(bytes, number(rate * channels * bits / 8), 4);
  append_number(bytes, number(channels * bits / 8), 2);
  append_number(bytes, number(bits), 2);
  bytes += "data";
  append_number(bytes, static_cast<std::uint32_t>(samples.size()), 4);
  bytes += samples;
  std::string file = "RIFF";
  append_number(file, static_cast<std::uint32_t>(bytes.size()), 4);
  return file + bytes;
}

// A WAV in 16 bits; channels by turns.
inline std::string wav_of(const std::vector<float>& samples, int rate, int channels = 1) {
  std::string bytes;
  for (const float sample : samples)
    append_number(bytes, static_cast<std::uint32_t>(std::lround(sample * 32767)), 2);
  return wav_of_bytes(bytes, 1, 16, rate, channels);
}

// A WAV in f32.
inline std::string float_wav_of(const std::vector<float>& samples, int rate) {
  std::string bytes;
  for (const float sample : samples) append_number(bytes, std::bit_cast<std::uint32_t>(sample), 4);
  return wav_of_bytes(bytes, 3, 32, rate, 1);
}

}  // namespace narrowgauge::testing_files
