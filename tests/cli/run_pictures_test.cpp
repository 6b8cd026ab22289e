// SPDX-License-Identifier: Apache-2.0
// `run` on pictures: in the layout, colours, size and dtype that the model's input wants.
#include "cli/program.h"
#include "io/onnx/write.h"
#include "io/onnx_small_model.h"
#include "io/small_images.h"
#include "narrowgauge/npz.h"

namespace narrowgauge::testing_cli::run_pictures_test {
namespace {

using testing_support::SmallModel;
using Numbers = std::vector<double>;

class RunPictures : public ::testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder_ / name; }
  // "x.ppm": 2 x 2 pixels, 1 2 3, 4 5 6 and so on.
  std::string picture() const {
    testing_files::write_file(file("x.ppm"),
                              std::string("P6 2 2 255\n") + "\1\2\3\4\5\6" + "\7\10\11\12\13\14");
    return file("x.ppm");
  }
  // Gives out what it takes in.
  std::string model(const std::string& type) const {
    SmallModel same(17);
    same.input("x", type).node("Identity", {"x"}, {"y"}).output("y");
    same.model.ir_version = 8;
    onnx::write_model(file("model.onnx"), same.model);
    return file("model.onnx");
  }
  Result run_with(const std::string& type, Words words) const {
    words.insert(words.begin(), {"run", model(type)});
    words.insert(words.end(), {"--output", file("o.npz")});
    return run(words);
  }
  // What the model got, with an empty stderr.
  Tensor input(const std::string& type, const Words& words) const {
    const Result result = run_with(type, words);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    return read_npz(file("o.npz")).at(0).tensor;
  }
  void expect_refused(const std::string& type, const Words& words, int code,
                      const std::string& message) const {
    const Result result = run_with(type, words);
    EXPECT_EQ(result.code, code) << result.err;
    EXPECT_TRUE(contains(result.err, message)) << result.err;
    EXPECT_EQ(line_count(result.err), 1) << result.err;
  }

 private:
  testing_files::TemporaryFolder folder_;
};

TEST_F(RunPictures, come_in_the_layout_of_the_input) {
  const Numbers in_front{1, 4, 7, 10, 2, 5, 8, 11, 3, 6, 9, 12};
  const Numbers behind{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const Tensor planes = input("f32[1,3,2,2]", {"--input", picture()});
  EXPECT_EQ(planes.type(), TensorType::parse("f32[1,3,2,2]"));
  EXPECT_EQ(testing_support::numbers_of(planes), in_front);
  EXPECT_EQ(testing_support::numbers_of(input("f32[N,C,H,W]", {"--input", picture()})), in_front);
  EXPECT_EQ(testing_support::numbers_of(input("f32[3,2,2]", {"--input", picture()})), in_front);
  const Tensor pixels = input("u8[N,H,W,3]", {"--input", "x=" + picture()});
  EXPECT_EQ(pixels.type(), TensorType::parse("u8[1,2,2,3]"));
  EXPECT_EQ(testing_support::numbers_of(pixels), behind);
  EXPECT_EQ(testing_support::numbers_of(input("f16[2,2,3]", {"--input", picture()})), behind);
  EXPECT_EQ(testing_support::numbers_of(input("f32[1,1,2,2]", {"--input", picture()})),
            (Numbers{2, 5, 8, 11}));  // grey
}

TEST_F(RunPictures, are_shifted_and_scaled_by_channel) {
  EXPECT_EQ(testing_support::numbers_of(input(
                "f32[1,3,2,2]", {"--input", picture(), "--mean", "1,2,3", "--scale", "1,2,0.5"})),
            (Numbers{0, 3, 6, 9, 0, 6, 12, 18, 0, 1.5, 3, 4.5}));
  EXPECT_EQ(testing_support::numbers_of(
                input("f32[1,2,2,3]", {"--input", picture(), "--mean", "3,2,1", "--bgr"})),
            (Numbers{0, 0, 0, 3, 3, 3, 6, 6, 6, 9, 9, 9}));
}

TEST_F(RunPictures, get_the_size_of_the_input_and_a_note_says_so) {
  const Result wide = run_with("f32[1,3,2,1]", {"--input", picture()});
  EXPECT_EQ(wide.code, 0);
  EXPECT_TRUE(contains(wide.err, "narrowgauge: note: ")) << wide.err;
  EXPECT_TRUE(contains(wide.err, "x.ppm: 2 x 2 pixels, resized to 1 x 2")) << wide.err;
  EXPECT_EQ(testing_support::numbers_of(read_npz(file("o.npz")).at(0).tensor),
            (Numbers{2.5, 8.5, 3.5, 9.5, 4.5, 10.5}));
  const Words quiet{"--input", picture(), "--quiet"};
  EXPECT_EQ(testing_support::numbers_of(input("u8[1,3,1,1]", quiet)),
            (Numbers{6, 6, 8}));  // to even
  Words crop = quiet;
  crop.insert(crop.end(), {"--resize", "crop"});
  EXPECT_EQ(input("f32[1,3,4,1]", crop).dims(), (Dims{1, 3, 4, 1}));
  EXPECT_EQ(input("f32[1,3,H,4]", quiet).dims(), (Dims{1, 3, 4, 4}));  // in proportion
  expect_refused("f32[1,3,4,4]", {"--input", picture(), "--resize", "off"}, 4,
                 "expected f32[1,3,4,4]");
}

TEST_F(RunPictures, for_one_input_are_a_batch) {
  testing_files::write_file(file("b.png"), testing_support::small_image("png_in_colours"));
  const Words two{"--quiet", "--input", picture(), "--input", file("b.png")};
  EXPECT_EQ(input("f32[N,3,3,5]", two).dims(), (Dims{2, 3, 3, 5}));
  const Tensor second = input("u8[N,3,3,5]", {"--input", file("b.png")});
  const Tensor both = input("u8[N,3,3,5]", two);
  for (std::int64_t i = 0; i < second.size(); ++i)
    EXPECT_EQ(both.at(second.size() + i), second.at(i));
  expect_refused("f32[N,3,H,W]", two, 2, "pictures of one batch must be of one size");
}

TEST_F(RunPictures, are_bytes_for_a_model_that_decodes_them_itself) {
  testing_files::write_file(file("b"), testing_support::small_image("png_in_colours"));
  SmallModel model(20);
  model.input("x", "u8[n]").node("ImageDecoder", {"x"}, {"y"}).output("y");
  model.model.ir_version = 9;
  onnx::write_model(file("decoder.onnx"), model.model);
  const Result result =
      run({"run", file("decoder.onnx"), "--input", file("b"), "--output", file("o.npz")});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(read_npz(file("o.npz")).at(0).tensor.type(), TensorType::parse("u8[3,5,3]"));
}

TEST_F(RunPictures, arrays_keep_their_channels_last_where_the_input_has_them) {
  write_npy(file("a.npy"), Tensor::from<float>({1, 1, 2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6}));
  const Words words{"--input", file("a.npy"), "--layout", "nhwc", "--mean", "1,1,2"};
  const Tensor last = input("f32[1,1,2,3]", words);
  EXPECT_EQ(testing_support::numbers_of(last), (Numbers{0, 1, 1, 3, 4, 4}));
  EXPECT_EQ(input("f32[1,3,1,2]", words).dims(), (Dims{1, 3, 1, 2}));
}

TEST_F(RunPictures, that_do_not_fit_end_in_one_line) {
  expect_refused("f32[1,3,2,2]", {"--input", file("none.png")}, 4, "none.png");
  const std::string whole = testing_support::small_image("jpeg_in_colours");
  testing_files::write_file(file("cut.jpg"), whole.substr(0, whole.size() - 9));
  expect_refused("f32[1,3,2,2]", {"--input", file("cut.jpg")}, 4, "cut.jpg: the JPEG cannot");
  testing_files::write_file(file("a.gif"), "GIF89a");
  expect_refused("f32[1,3,2,2]", {"--input", file("a.gif")}, 4, "a picture in GIF");
  testing_files::write_file(file("a.jpg"), "hello");
  expect_refused("f32[1,3,2,2]", {"--input", file("a.jpg")}, 2, "or a picture");
  expect_refused("f32[1,4,2,2]", {"--input", picture()}, 2, "a picture has 1 or 3 channels");
  expect_refused("f32[1,3]", {"--input", picture()}, 2, "which no picture can be");
  expect_refused("i64[1,3,2,2]", {"--input", picture()}, 2, "a picture is u8 or floating");
  expect_refused("f32[1,3,2,2]", {"--input", picture(), "--mean", "1,2"}, 2, "2 numbers for 3");
  expect_refused("u8[1,3,2,2]", {"--input", picture(), "--mean", "1"}, 2, "x is u8[1,3,2,2]");
}

}  // namespace
}  // namespace narrowgauge::testing_cli::run_pictures_test
