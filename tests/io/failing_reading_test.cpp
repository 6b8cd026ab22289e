// SPDX-License-Identifier: Apache-2.0
// Each request for memory fails by itself: whoever reads or writes data says so.
#include <gtest/gtest.h>

#include <filesystem>

#include "io/files.h"
#include "io/picture_folder.h"
#include "io/small_images.h"
#include "io/small_sounds.h"
#include "narrowgauge/narrowgauge.h"
#include "narrowgauge/npz.h"
#include "support/failing_allocation.h"

namespace narrowgauge::failing_reading_test {
namespace {

using failing_allocation::fail_each_request_of;
using testing_files::write_file;

constexpr auto nothing_to_check = [] {};
constexpr std::size_t most = 150;

class Reading : public testing::Test {
 protected:
  const testing_files::TemporaryFolder folder;
};

std::string bytes_of(std::string_view digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16));
  return bytes;
}

// All numbers of a source.
std::vector<double> contents(DataSource& source) {
  std::vector<Tensor> batch;
  for (TensorType type : source.sample_types()) {
    type.shape.insert(type.shape.begin(), Dim(source.size()));
    batch.emplace_back(type.dtype, known_dims(type.shape));
  }
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < source.size(); ++i) indices.push_back(i);
  source.read(indices, batch);
  std::vector<double> numbers;
  for (const Tensor& tensor : batch)
    for (std::int64_t i = 0; i < tensor.size(); ++i) numbers.push_back(tensor.at(i));
  return numbers;
}

TEST_F(Reading, of_arrays) {
  const Tensor x = Tensor::full(DType::f32, {20, 3}, 1), y = Tensor(DType::i64, {20});
  const std::vector<NamedTensor> arrays{{"x", x}, {"y", y}};
  const std::string path = folder / "data.npz";
  fail_each_request_of(
      "write_npz()", most, [&] { write_npz(path, arrays); }, nothing_to_check);
  fail_each_request_of(
      "open_data() of npz", most, [&] { open_data(path); }, nothing_to_check);
  fail_each_request_of(
      "write_npy()", most, [&] { write_npy(folder / "x.npy", x); }, nothing_to_check);
  fail_each_request_of(
      "read_npy()", most, [&] { EXPECT_TRUE(read_npy(folder / "x.npy").same_bits(x)); },
      nothing_to_check);
  const TensorFile file{arrays, {{"format", "pt"}}};
  fail_each_request_of(
      "safetensors", most,
      [&] { EXPECT_EQ(read_safetensors(safetensors_bytes(file)).tensors.size(), 2U); },
      nothing_to_check);
}

TEST_F(Reading, of_tables) {
  const std::string path = folder / "rows.csv";
  write_file(path,
             "a,b,when,label\n1,2,2020-01-01,x\n3,u,2020-02-01,y\n5,v,2020-03-01,x\n"
             "7,u,2020-04-01,y\n9,v,2020-05-01,x\n11,u,2020-06-01,y\n");
  std::string schema;
  fail_each_request_of(
      "read_table()", most, [&] { schema = read_table(path).table; }, nothing_to_check);
  fail_each_request_of(
      "read_rows()", most, [&] { read_rows(path, schema); }, nothing_to_check);
  fail_each_request_of(
      "open_data() of csv", most, [&] { open_data(path); }, nothing_to_check);
}

TEST_F(Reading, of_pictures_in_folders) {
  const std::string place = testing_files::write_pictures(folder / "pictures", 3);
  fail_each_request_of(
      "open_data() of pictures", most,
      [&] { EXPECT_EQ(std::get<ImageFolder>(open_data(place)).classes.size(), 4U); },
      nothing_to_check);
  const ImageFolder pictures = read_image_folder(place);
  const ImageInput input{.channels = 3, .height = 16, .width = 16, .augment = "flip, crop(2)"};
  ImageSource source(pictures.training, input);
  const std::vector<double> expected = contents(source);
  fail_each_request_of(
      "ImageSource", most,
      [&] {
        ImageSource fresh(pictures.training, input);
        EXPECT_EQ(contents(fresh), expected);
        EXPECT_EQ(fresh.damaged(), 0);
      },
      nothing_to_check);
  const ChannelStatistics statistics = channel_statistics(pictures.training, input);
  fail_each_request_of(
      "channel_statistics()", most,
      [&] { EXPECT_EQ(channel_statistics(pictures.training, input).mean, statistics.mean); },
      nothing_to_check);
  fail_each_request_of(
      "find_images()", most, [&] { EXPECT_EQ(find_images(place).size(), 12U); }, nothing_to_check);
}

TEST_F(Reading, of_every_kind_of_picture) {
  const ImageInput input{.channels = 3, .height = 3, .width = 5};
  for (const testing_support::SmallImage& image : testing_support::small_images) {
    // libwebp reads where it got no memory.
    if (std::string_view(image.name).starts_with("webp")) continue;
    const std::string path = folder / image.name;
    write_file(path, bytes_of(image.file));
    ImageSource source(std::vector<ImageFile>{{path, 0}}, input);
    const std::vector<double> expected = contents(source);
    fail_each_request_of(
        image.name, 40, [&] { EXPECT_EQ(contents(source), expected); },
        [&] { EXPECT_EQ(source.damaged(), 0); });
  }
}

TEST_F(Reading, of_texts_and_tokenizers) {
  const std::string text = "the cat sat on the mat\nand the dog ran\n";
  write_file(folder / "text.txt", text);
  write_file(folder / "text.gz", testing_files::gzip(text));
  write_file(folder / "pieces.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\ncat\ns\n##at\non\n");
  for (const char* name : {"text.txt", "text.gz"})
    fail_each_request_of(
        "read_text()", most, [&] { read_text(folder / name); }, nothing_to_check);
  std::vector<TokenizerOptions> kinds(4);
  kinds[1].kind = "bytes";
  kinds[2].kind = "word";
  kinds[3].kind = "wordpiece";
  kinds[3].vocabulary = folder / "pieces.txt";
  for (const TokenizerOptions& kind : kinds) {
    std::string json;
    fail_each_request_of(
        kind.kind, most,
        [&] {
          const auto tokenizer = make_tokenizer(kind, text);
          json = tokenizer->json();
          tokenizer->decode(tokenizer->encode(text));
        },
        nothing_to_check);
    fail_each_request_of(
        kind.kind + " of JSON", most,
        [&] { EXPECT_EQ(tokenizer_of_json(json, "json")->json(), json); }, nothing_to_check);
  }
}

TEST_F(Reading, of_digits) {
  fail_each_request_of(
      "draw_glyphs()", most, [&] { draw_glyphs(3, 40, 10); }, nothing_to_check);
}

}  // namespace
}  // namespace narrowgauge::failing_reading_test
