// SPDX-License-Identifier: Apache-2.0
#include "io/sounds/decode_sound.h"

#include <sndfile.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "io/images/codecs.h"
#include "io/sounds/spectrogram.h"
#include "narrowgauge/error.h"

namespace narrowgauge {

namespace {

constexpr std::size_t samples_at_once = 16384;  // of all channels
constexpr int most_channels = 256;
// The most that may be squared and added up over a window in f32; 1 is full volume.
constexpr float loudest_sample = 1e15f;

// A file in memory, as libsndfile reads it.
struct Place {
  std::string_view bytes;
  sf_count_t at = 0;

  static Place& of(void* self) { return *static_cast<Place*>(self); }
  sf_count_t size() const { return static_cast<sf_count_t>(bytes.size()); }
};

sf_count_t seek(sf_count_t offset, int whence, void* self) {
  Place& place = Place::of(self);
  const sf_count_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? place.at : place.size();
  if (offset < -from || offset > place.size() - from) return -1;
  return place.at = from + offset;
}

sf_count_t read(void* to, sf_count_t count, void* self) {
  Place& place = Place::of(self);
  const sf_count_t some = std::clamp<sf_count_t>(count, 0, place.size() - place.at);
  std::memcpy(to, place.bytes.data() + place.at, static_cast<std::size_t>(some));
  place.at += some;
  return some;
}

SF_VIRTUAL_IO reading{
    .get_filelen = [](void* self) { return Place::of(self).size(); },
    .seek = seek,
    .read = read,
    .write = [](const void*, sf_count_t, void*) -> sf_count_t { return 0; },
    .tell = [](void* self) { return Place::of(self).at; },
};

class Sound {
 public:
  explicit Sound(std::string_view bytes)
      : place_{bytes}, file_(sf_open_virtual(&reading, SFM_READ, &info_, &place_), sf_close) {
    require<DataError>(file_ != nullptr, text_of(nullptr));
    require<DataError>(info_.channels >= 1 && info_.channels <= most_channels, "it has ",
                       info_.channels, " channels");
  }

  double rate() const { return info_.samplerate; }
  std::int64_t frames() const { return info_.frames; }
  bool knows_frames() const { return info_.frames < SF_COUNT_MAX; }
  std::size_t channels() const { return static_cast<std::size_t>(info_.channels); }

  // Samples of all channels by turns; fewer than asked for at the end.
  std::size_t read(std::vector<float>& samples) {
    const sf_count_t count =
        sf_readf_float(file_.get(), samples.data(), std::ssize(samples) / info_.channels);
    require<DataError>(sf_error(file_.get()) == SF_ERR_NO_ERROR, text_of(file_.get()));
    return static_cast<std::size_t>(std::max<sf_count_t>(count, 0)) * channels();
  }

 private:
  static std::string text_of(SNDFILE* file) {
    std::string text = sf_strerror(file);
    while (!text.empty() && (text.back() == '.' || text.back() == '\n')) text.pop_back();
    return text;
  }

  Place place_;
  SF_INFO info_{};
  std::unique_ptr<SNDFILE, int (*)(SNDFILE*)> file_;
};

// The number of four or eight bytes at `place`; 0 behind the end.
template <class Number>
Number number_in(std::string_view bytes, std::size_t place) {
  Number number = 0;
  if (place + sizeof number > bytes.size()) return 0;
  for (std::size_t i = sizeof number; i-- > 0;)
    number = static_cast<Number>(number << 8 | static_cast<unsigned char>(bytes[place + i]));
  return number;
}

// Whoever writes to a pipe does not know the length, and says 0 or the most; half a minute more
// than 4 GiB would be unknown too.
constexpr std::uint32_t unknown_length = 0xffff'0000;

// A WAV and the samples in it say how long they are, and libsndfile reads what is shorter as if
// that were all. RF64 has the length of its samples, of more than 32 bits, in a chunk of its own.
void require_whole(std::string_view bytes) {
  constexpr std::size_t form = 12, head = 8, length_at = 4, long_length_at = 8;
  if (!is_wav(bytes)) return;
  const auto require_rest = [&](std::uint64_t length, std::size_t begin) {
    require<DataError>(length <= bytes.size() - begin + 1, "the file ends too early");
  };
  const auto whole = number_in<std::uint32_t>(bytes, length_at);
  if (whole < unknown_length) require_rest(whole, head);
  std::uint64_t long_length = 0;
  for (std::size_t at = form; at + head <= bytes.size();) {
    const auto length = number_in<std::uint32_t>(bytes, at + length_at);
    const std::string_view name = bytes.substr(at, length_at);
    if (name == "ds64") long_length = number_in<std::uint64_t>(bytes, at + head + long_length_at);
    if (name == "data")
      return require_rest(length < unknown_length ? length : long_length, at + head);
    at += head + length + length % 2;
  }
}

// The mean of the channels of each frame, in place.
std::span<const float> mixed(std::span<float> samples, std::size_t channels) {
  const float share = 1 / static_cast<float>(channels);
  const std::size_t frames = samples.size() / channels;
  for (std::size_t i = 0; i < frames; ++i) {
    float sum = 0;
    for (std::size_t c = 0; c < channels; ++c) sum += samples[i * channels + c];
    samples[i] = sum * share;
    require<DataError>(std::abs(samples[i]) <= loudest_sample,
                       "it has samples that are not finite, or beyond ", loudest_sample);
  }
  return samples.first(frames);
}

}  // namespace

bool is_wav(std::string_view bytes) {
  constexpr std::size_t form_at = 8;
  return (bytes.starts_with("RIFF") || bytes.starts_with("RF64")) &&
         bytes.substr(std::min(bytes.size(), form_at)).starts_with("WAVE");
}

bool is_flac(std::string_view bytes) { return bytes.starts_with("fLaC"); }

bool is_ogg(std::string_view bytes) { return bytes.starts_with("OggS"); }

// A tag, or the sync bits of a frame of layer III.
bool is_mp3(std::string_view bytes) {
  return bytes.starts_with("ID3") ||
         (bytes.size() > 1 && bytes[0] == '\xff' && (bytes[1] & 0xe6) == 0xe2);
}

Tensor decode_sound(std::string_view bytes, std::int64_t most_pixels) {
  require_whole(bytes);
  Sound sound(bytes);
  Spectrogram spectrogram(sound.rate());
  std::vector<float> samples(std::max(samples_at_once / sound.channels(), std::size_t{1}) *
                             sound.channels());
  std::int64_t frames = 0;
  while (const std::size_t count = sound.read(samples)) {
    spectrogram.add(mixed(std::span(samples).first(count), sound.channels()));
    require_image_size(std::max<std::int64_t>(spectrogram.columns(), 1), mel_bands, most_pixels);
    frames += static_cast<std::int64_t>(count / sound.channels());
  }
  require<DataError>(frames > 0, "it has no samples");
  // FLAC says how many there are, and libsndfile gives fewer without a word.
  require<DataError>(!is_flac(bytes) || !sound.knows_frames() || frames == sound.frames(),
                     "the file ends too early");
  return spectrogram.picture();
}

std::int64_t sound_columns(std::string_view bytes) {
  const Sound sound(bytes);
  if (!sound.knows_frames()) return decode_sound(bytes, most_pixels_of_image).dims()[1];
  require<DataError>(sound.frames() > 0, "it has no samples");
  return mel_columns(sound.frames(), sound.rate());
}

}  // namespace narrowgauge
