// SPDX-License-Identifier: Apache-2.0
// Sounds as pictures: what is loud where, what silence becomes, and every way in which a file can
// be broken. tests/readers_oracle.py compares the spectrograms with NumPy's.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "io/files.h"
#include "io/pictures/image.h"
#include "io/small_images.h"
#include "io/small_sounds.h"
#include "io/sounds/decode_sound.h"
#include "io/sounds/spectrogram.h"
#include "narrowgauge/images.h"

namespace narrowgauge::sounds_test {
namespace {

using namespace testing_files;

Tensor picture_of(const std::string& bytes) {
  return decode_image(bytes, "a.wav", ImageColours::grey);
}

std::string refusal_of(const std::string& bytes, std::int64_t most = most_pixels_of_image) {
  try {
    decode_image(bytes, "a.wav", ImageColours::grey, most);
    return "";
  } catch (const DataError& error) {
    return error.what();
  }
}

// The brightest row of a column.
std::int64_t loudest_row(const Tensor& picture, std::int64_t column) {
  const std::int64_t width = picture.dims()[1];
  std::int64_t best = 0;
  for (std::int64_t row = 1; row < picture.dims()[0]; ++row)
    if (picture.at(row * width + column) > picture.at(best * width + column)) best = row;
  return best;
}

// The row of the band whose middle is nearest, by the definition of the scale.
std::int64_t row_of(double hertz) {
  const auto mel = [](double at) { return 2595 * std::log10(1 + at / 700); };
  const double lowest = mel(125), step = (mel(7500) - lowest) / 65;
  return 64 - std::llround((mel(hertz) - lowest) / step);
}

TEST(sounds, a_tone_is_bright_in_its_band_whatever_the_rate) {
  for (const int rate : {8000, 16000, 22050, 44100, 48000})
    for (const double hertz : {200.0, 440.0, 1000.0, 3500.0}) {
      const Tensor picture = picture_of(wav_of(tone(hertz, 0.5, rate), rate));
      EXPECT_EQ(picture.type(), TensorType::parse("u8[64,48,1]")) << rate;
      EXPECT_NEAR(static_cast<double>(loudest_row(picture, 20)), static_cast<double>(row_of(hertz)),
                  1)
          << hertz << " of " << rate;
    }
}

TEST(sounds, bands_above_half_the_rate_are_silent) {
  const Tensor picture = picture_of(wav_of(tone(1000, 0.3, 8000), 8000));
  for (std::int64_t row = 0; row < row_of(4200); ++row)
    for (std::int64_t x = 0; x < picture.dims()[1]; ++x)
      EXPECT_EQ(picture.at(row * picture.dims()[1] + x), 0) << row;
}

TEST(sounds, have_a_column_every_ten_milliseconds_and_one_at_least) {
  for (const auto& [samples, columns] :
       {std::pair<int, int>{1, 1}, {399, 1}, {400, 1}, {559, 1}, {560, 2}, {16000, 98}}) {
    const std::string file =
        wav_of(std::vector<float>(static_cast<std::size_t>(samples), 0.1f), 16000);
    EXPECT_EQ(picture_of(file).dims()[1], columns) << samples;
    EXPECT_EQ(sound_columns(file), columns) << samples;
  }
}

TEST(sounds, are_as_bright_when_they_are_quieter) {
  const std::vector<float> loud = tone(700, 0.4, 16000);
  std::vector<float> quiet = loud;
  for (float& sample : quiet) sample *= 0.25f;
  const Tensor a = picture_of(wav_of(loud, 16000)), b = picture_of(wav_of(quiet, 16000));
  ASSERT_EQ(a.size(), b.size());
  int most = 0;
  for (std::int64_t i = 0; i < a.size(); ++i)
    if (a.at(i) > 80)  // where 16 bits do not tell
      most = std::max(most, static_cast<int>(std::abs(a.at(i) - b.at(i))));
  EXPECT_LE(most, 2);
}

TEST(sounds, channels_are_averaged) {
  const std::vector<float> left = tone(500, 0.3, 16000);
  std::vector<float> both;
  for (const float sample : left) both.insert(both.end(), {sample, sample});
  const Tensor one = picture_of(wav_of(left, 16000)), two = picture_of(wav_of(both, 16000, 2));
  EXPECT_TRUE(std::ranges::equal(one.values<std::uint8_t>(), two.values<std::uint8_t>()));
}

TEST(sounds, silence_is_black) {
  const Tensor picture = picture_of(wav_of(std::vector<float>(8000), 16000));
  EXPECT_TRUE(
      std::ranges::all_of(picture.values<std::uint8_t>(), [](int pixel) { return pixel == 0; }));
}

TEST(sounds, of_mpeg_layer_three_begin_with_a_tag_or_with_a_frame) {
  EXPECT_TRUE(is_mp3("ID3\x04"));
  EXPECT_TRUE(is_mp3("\xff\xfb\x90"));
  EXPECT_TRUE(is_mp3("\xff\xe3"));
  EXPECT_FALSE(is_mp3("\xff\xf1\x50"));  // ADTS of AAC
  EXPECT_FALSE(is_mp3("\xfb\xff"));
  EXPECT_FALSE(is_mp3("\xff"));
}

TEST(sounds, that_are_broken_are_refused) {
  const std::string whole = wav_of(tone(440, 0.2, 16000), 16000);
  EXPECT_EQ(refusal_of(whole), "");
  EXPECT_EQ(refusal_of(whole.substr(0, whole.size() / 2)),
            "a.wav: the WAV cannot be read (the file ends too early)");
  EXPECT_NE(refusal_of(whole.substr(0, 12)).find("the WAV cannot be read"), std::string::npos);
  EXPECT_NE(refusal_of("fLaC and no more").find("the FLAC cannot be read"), std::string::npos);
  EXPECT_NE(refusal_of("OggS and no more").find("the Ogg cannot be read"), std::string::npos);
  EXPECT_NE(refusal_of("ID3 and no more").find("the MP3 cannot be read"), std::string::npos);
  EXPECT_NE(refusal_of(wav_of(tone(440, 0.2, 500), 500)).find("500 samples a second"),
            std::string::npos);
  EXPECT_NE(refusal_of(whole, 64 * 10).find("640 is the most"), std::string::npos);
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 1e30f}) {
    std::vector<float> samples = tone(440, 0.2, 16000);
    samples[1000] = bad;
    EXPECT_NE(refusal_of(float_wav_of(samples, 16000)).find("not finite"), std::string::npos);
  }
}

TEST(sounds, without_samples_are_no_silence) {
  const std::string empty = wav_of({}, 16000), refusal = "a.wav: the WAV cannot be read";
  EXPECT_EQ(refusal_of(empty), refusal + " (it has no samples)");
  EXPECT_THROW(sound_columns(empty), DataError);
  EXPECT_EQ(refusal_of(float_wav_of({}, 16000)), refusal + " (it has no samples)");
  // STREAMINFO of a channel of 16 bits at 16 kHz, and no more.
  std::string flac = "fLaC\x80";
  flac += std::string("\0\0\x22\x10\0\x10\0", 7) + std::string(6, '\0');
  flac += std::string("\x03\xe8\0\xf0", 4) + std::string(20, '\0');
  EXPECT_NE(refusal_of(flac).find("a.wav: the FLAC cannot be read"), std::string::npos);
  // A program that was ended leaves lengths of 0, with or without samples behind them.
  std::string cut = wav_of(tone(440, 0.2, 16000), 16000);
  constexpr std::size_t riff_length = 4, data_length = 40, head = 44;
  std::string begun = cut.substr(0, head);
  begun.replace(riff_length, 4, 4, '\0').replace(data_length, 4, 4, '\0');
  EXPECT_EQ(refusal_of(begun), refusal + " (it has no samples)");
  EXPECT_NE(refusal_of(cut.substr(0, head)), "");
  // The samples end before their own length, whatever the file's says.
  cut.resize(head + 1000);
  EXPECT_EQ(refusal_of(cut.replace(riff_length, 4, "\xff\xff\xff\xff")),
            refusal + " (the file ends too early)");
  EXPECT_EQ(refusal_of(cut.replace(data_length, 4, "\xff\xff\xff\xff")), "");  // of a pipe
}

// 10,000 samples of 1,000 each, in three frames.
constexpr const char* small_flac =
    "664c6143000000221000100000000b00000d03e800f0000027104d941dc89765b258bcf4d3b94a19fd388400002820"
    "0000007265666572656e6365206c6962464c414320312e342e3220323032323130323200000000fff8c508006f0120"
    "7da44ffff8c508016801207dc837fff8750802070f6701207d281e";

TEST(sounds, of_all_formats_that_end_early_are_refused) {
  const std::string whole = testing_support::bytes_of(small_flac);
  EXPECT_EQ(refusal_of(whole), "");
  EXPECT_EQ(picture_of(whole).dims()[1], 61);
  EXPECT_EQ(sound_columns(whole), 61);
  constexpr std::size_t frames_at = 91;
  for (std::size_t end = frames_at; end < whole.size(); ++end)
    EXPECT_NE(refusal_of(whole.substr(0, end)), "") << end;
  // RF64, whose samples have their length in a chunk before them.
  std::string rf64 = wav_of(tone(440, 0.2, 16000), 16000);
  const std::size_t bytes = rf64.size() - 44;
  std::string sizes = "ds64";
  append_number(sizes, 28, 4);
  append_number(sizes, static_cast<std::uint32_t>(rf64.size() - 8 + 36), 4);
  append_number(sizes, 0, 4);
  append_number(sizes, static_cast<std::uint32_t>(bytes), 4);
  append_number(sizes, 0, 4);
  append_number(sizes, static_cast<std::uint32_t>(bytes / 2), 4);
  append_number(sizes, 0, 4);
  append_number(sizes, 0, 4);
  rf64.replace(40, 4, "\xff\xff\xff\xff").replace(0, 8, "RF64\xff\xff\xff\xff");
  rf64.insert(12, sizes);
  EXPECT_EQ(refusal_of(rf64), "");
  EXPECT_EQ(refusal_of(rf64.substr(0, rf64.size() / 2)),
            "a.wav: the WAV cannot be read (the file ends too early)");
}

TEST(sounds, in_a_folder_have_the_columns_of_the_usual_one) {
  const TemporaryFolder folder;
  std::vector<ImageFile> files;
  for (int i = 0; i < 5; ++i) {
    files.push_back({folder.path() + "/" + std::to_string(i) + ".wav", 0});
    write_file(files.back().path, wav_of(tone(440, 0.1 * (i + 1), 16000), 16000));
  }
  EXPECT_EQ(usual_sound_columns(files), 28);
  EXPECT_EQ(usual_sound_columns({}), 0);
  write_file(files[0].path, wav_of(tone(1, 10, 10), 10));
  EXPECT_EQ(usual_sound_columns({files[0]}), 0);
  write_file(files[0].path, "no sound");
  EXPECT_EQ(usual_sound_columns({files[0]}), 0);
}

TEST(sounds, stand_in_the_middle_of_silence_and_keep_all_bands) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/a.wav";
  write_file(path, wav_of(tone(1000, 0.125, 16000), 16000));  // 11 columns
  ImageSource source(std::vector<ImageFile>{{path, 0}}, {.channels = 1, .height = 64, .width = 31});
  std::vector<Tensor> batch{Tensor(DType::f32, {1, 1, 64, 31}), Tensor(DType::i64, {1})};
  const std::int64_t first = 0;
  source.read({&first, 1}, batch);
  const std::int64_t row = row_of(1000);
  for (std::int64_t x = 0; x < 31; ++x) {
    const bool within = x >= 10 && x < 21;
    EXPECT_EQ(batch[0].at(row * 31 + x) > 0.8, within) << x;
  }
}

}  // namespace
}  // namespace narrowgauge::sounds_test
