// SPDX-License-Identifier: Apache-2.0
// Sounds in files, by libsndfile: WAV, FLAC, Ogg (Vorbis, Opus) and MP3.
#pragma once

#include <cstdint>
#include <string_view>

#include "narrowgauge/tensor.h"

namespace narrowgauge {

// Whether a file is of a format, by the bytes that it begins with.
bool is_wav(std::string_view bytes);
bool is_flac(std::string_view bytes);
bool is_ogg(std::string_view bytes);
bool is_mp3(std::string_view bytes);

// The formats that are read.
inline constexpr std::string_view sound_formats = "WAV, FLAC, Ogg and MP3";

// The spectrogram of the mean of all channels, as Spectrogram::picture(). Throws DataError, which
// says what is wrong but not where.
Tensor decode_sound(std::string_view bytes, std::int64_t most_pixels);
// The columns of that picture, by what the file says of its length. Throws as decode_sound().
std::int64_t sound_columns(std::string_view bytes);

}  // namespace narrowgauge
