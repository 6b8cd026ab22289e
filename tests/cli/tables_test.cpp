// SPDX-License-Identifier: Apache-2.0
// Tables and masks as the program trains on them and predicts.
#include <gtest/gtest.h>

#include <sstream>

#include "cli/json_answer.h"
#include "cli/program.h"
#include "io/files.h"
#include "io/images/encode_png.h"
#include "io/pictures/image.h"
#include "support/json.h"

namespace narrowgauge::testing_cli::tables_test {
namespace {

using testing_files::read_file;
using testing_files::TemporaryFolder;
using testing_files::write_file;
using testing_json::Json;

// The class is that of the word, unless the number is large.
std::string table_text(int rows) {
  std::string text = "shape\tsize\tkind\n";
  for (int i = 0; i < rows; ++i) {
    const char* const words[] = {"round", "flat", "long"};
    const int size = i * 37 % 100;
    text += std::string(words[i % 3]) + '\t' + (i % 17 == 0 ? "NA" : std::to_string(size)) + '\t' +
            (i % 3 == 0   ? "ball"
             : i % 3 == 1 ? "plate"
                          : "stick") +
            '\n';
  }
  return text;
}

TEST(tables_in_the_program, with_few_rows_get_a_batch_that_fits) {
  const TemporaryFolder folder;
  write_file(folder / "few.tsv", table_text(60));  // 48 of them to train on
  const Words words{"train", "--model", "mlp", "--data", folder / "few.tsv", "--epochs", "1"};
  const Result result = run(words);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.err.find("--batch: 6, as there are 48 rows to train on"), std::string::npos)
      << result.err;
  Words compared = words;
  compared.insert(compared.end(), {"--compare", "off,bf16", "--accumulate", "4"});
  EXPECT_NE(run(compared).err.find("--batch: 4, as"), std::string::npos);
  Words too_many = words;
  too_many.insert(too_many.end(), {"--batch", "49"});
  EXPECT_EQ(run(too_many).code, 2);
}

TEST(tables_in_the_program, are_trained_on_and_predicted_by_the_names_of_columns) {
  const TemporaryFolder folder;
  const std::string data = folder / "things.tsv", run_folder = folder / "run";
  write_file(data, table_text(300));
  const Json trained = done({"train", "--model", "mlp", "--data", data, "--batch", "16", "--epochs",
                             "6", "--output", run_folder, "--json", "--quiet"});
  EXPECT_GT(trained.at("test_accuracy"), 0.95);
  write_file(folder / "new.csv", "size,shape,colour\n5,round,red\n,long,blue\n9,flat,red\n");
  const std::string saved = folder / "out.csv";
  const Result result = run({"predict", run_folder, folder / "new.csv", "--save", saved});
  ASSERT_EQ(result.code, 0) << result.err;
  std::istringstream rows(read_file(saved));
  std::string row;
  for (const char* begin : {"sample,predicted", "0,ball,", "1,stick,", "2,plate,"}) {
    std::getline(rows, row);
    EXPECT_TRUE(row.starts_with(begin)) << row;
  }
  // One row of another table is laid out as the training was, although it has one word.
  write_file(folder / "one.csv", "kind,size,shape\nplate,50,flat\n");
  const Json one = done({"evaluate", run_folder, "--data", folder / "one.csv", "--json"});
  EXPECT_EQ(one.at("test_samples"), 1);
  EXPECT_EQ(one.at("test_accuracy"), 1);
  EXPECT_EQ(run({"predict", run_folder, folder / "new.csv", saved}).code, 2);
  write_file(folder / "bad.csv", "size\n5\n");
  EXPECT_EQ(run({"predict", run_folder, folder / "bad.csv"}).code, 4);
  EXPECT_EQ(run({"train", "--resume", run_folder, "--epochs", "7", "--quiet"}).code, 0);
}

TEST(tables_in_the_program, label_and_columns_are_chosen) {
  const TemporaryFolder folder;
  const std::string data = folder / "things.tsv";
  write_file(data, table_text(60));
  const Json found = done({"data", data, "--json", "--label", "shape", "--skip-columns", "kind"});
  EXPECT_EQ(found.at("features"), Json::parse(R"(["size", "size is missing"])"));
  EXPECT_EQ(found.at("classes").size(), 3U);
  EXPECT_EQ(run({"train", "--model", "mlp", "--data", data, "--label", "sharp"}).code, 2);
}

TEST(tables_in_the_program, dates_are_numbers_and_names_of_rows_are_left_out) {
  const TemporaryFolder folder;
  const std::string data = folder / "sales.csv", run_folder = folder / "run";
  std::string text = "id,day,amount,season\n";
  for (int i = 0; i < 400; ++i) {
    const int month = i * 7 % 12 + 1, day = i * 5 % 28 + 1;
    text += "order-" + std::to_string(i * 7919) + ',' + std::to_string(day) + '.' +
            std::to_string(month) + '.' + std::to_string(2000 + i % 20) + ',' +
            std::to_string(i % 13) + (month <= 6 ? ",first\n" : ",second\n");
  }
  write_file(data, text);
  const Result look = run({"data", data, "--json"});
  EXPECT_EQ(Json::parse(last_line(look.out)).at("features"),
            Json::parse(R"x(["day (days)", "day (sin of year)", "day (cos of year)", "amount"])x"));
  EXPECT_NE(look.err.find("column 'id' is left out"), std::string::npos) << look.err;
  EXPECT_NE(look.err.find("the dates of column 'day' are read as day, month and year"),
            std::string::npos)
      << look.err;
  const Json trained = done({"train", "--model", "mlp", "--data", data, "--batch", "16", "--epochs",
                             "10", "--output", run_folder, "--json", "--quiet"});
  EXPECT_GT(trained.at("test_accuracy"), 0.9);
  write_file(folder / "new.csv", "day,amount\n3.2.2031,1\n3.9.2031,2\n");
  const Result result = run({"predict", run_folder, folder / "new.csv", "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("\"first\""), std::string::npos) << result.out;
  EXPECT_EQ(run({"evaluate", run_folder}).code, 0);
}

// Pictures with a bright square, which the mask shows.
std::string write_squares(const std::string& folder, int count) {
  std::filesystem::create_directories(folder + "/images");
  std::filesystem::create_directories(folder + "/masks");
  for (int i = 0; i < count; ++i) {
    Tensor picture(DType::u8, {32, 48, 1}), mask(DType::u8, {32, 48, 1});
    const std::int64_t top = i * 7 % 20, left = i * 11 % 34;
    for (std::int64_t y = 0; y < 32; ++y)
      for (std::int64_t x = 0; x < 48; ++x) {
        const bool inside = y >= top && y < top + 12 && x >= left && x < left + 14;
        picture.set(y * 48 + x,
                    (inside ? 180 : 30) + static_cast<double>((x * 7 + y * 13 + i) % 40));
        mask.set(y * 48 + x, inside ? 255 : 0);
      }
    const std::string name = "/s" + std::to_string(100 + i) + ".png";
    write_file(folder + "/images" + name, encode_png(picture));
    write_file(folder + "/masks" + name, encode_png(mask));
  }
  return folder;
}

TEST(masks_in_the_program, are_learnt_evaluated_and_predicted_in_the_size_of_the_pictures) {
  const TemporaryFolder folder;
  const std::string data = write_squares(folder / "squares", 40), run_folder = folder / "run";
  const Words train{
      "train",   "--model",   "unet-small",     "--data",   data,          "--image", "1x16x24",
      "--batch", "8",         "--epochs",       "6",        "--optimizer", "adam",    "--augment",
      "flip",    "--metrics", "iou_foreground", "--output", run_folder,    "--json",  "--quiet"};
  const Json trained = done(train);
  EXPECT_GT(trained.at("test_iou_foreground"), 0.7) << trained.dump();
  const std::string masks = folder / "masks";
  const Result result =
      run({"predict", run_folder, data + "/images", "--count", "3", "--save", masks, "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  double agree = 0, pixels = 0;
  for (const char* name : {"/s100.png", "/s101.png", "/s102.png"}) {
    const Tensor found = read_mask(masks + name), wanted = read_mask(data + "/masks" + name);
    ASSERT_EQ(found.dims(), wanted.dims());
    for (std::int64_t i = 0; i < found.size(); ++i) agree += found.at(i) == wanted.at(i), ++pixels;
  }
  EXPECT_GT(agree / pixels, 0.9);
  const Json line = Json::parse(last_line(result.out));
  EXPECT_EQ(line.at("shares").size(), 2U);
  EXPECT_EQ(run({"predict", run_folder, "--save", folder / "t.csv", "--quiet"}).code, 0);
  EXPECT_TRUE(read_file(folder / "t.csv").starts_with("file,share_0,share_1\n"));
  EXPECT_EQ(run({"data", data, "--sheet", folder / "sheet.png"}).code, 0);
}

TEST(masks_in_the_program, and_networks_must_fit) {
  const TemporaryFolder folder;
  const std::string data = write_squares(folder / "squares", 5);
  const Result classes = run({"train", "--model", "lenet", "--data", data});
  EXPECT_EQ(classes.code, 4);
  EXPECT_NE(classes.err.find("has masks, and lenet learns whole images"), std::string::npos);
  EXPECT_NE(run({"train", "--model", "unet-small", "--data", "glyphs"}).err.find("has no masks"),
            std::string::npos);
  EXPECT_EQ(run({"train", "--model", "unet-small", "--data", data, "--image", "1x20x20"}).code, 3);
  EXPECT_EQ(run({"train", "--model", "unet-small", "--data", data, "--augment", "mixup"}).code, 2);
}

}  // namespace
}  // namespace narrowgauge::testing_cli::tables_test
