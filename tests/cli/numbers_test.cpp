// SPDX-License-Identifier: Apache-2.0
// Targets that are numbers, as the program trains on them and predicts them.
#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "cli/json_answer.h"
#include "cli/program.h"
#include "io/files.h"
#include "narrowgauge/npz.h"
#include "support/json.h"

namespace narrowgauge::testing_cli::numbers_test {
namespace {

using testing_files::read_file;
using testing_files::TemporaryFolder;
using testing_files::write_file;
using testing_json::Json;

// Prices of some hundred thousands, far out of the range of f16, with a noise of 10,000.
std::string houses(int rows) {
  std::mt19937 random(1);
  std::normal_distribution<double> noise(0, 10'000);
  std::string text = "area,town,price\n";
  for (int i = 0; i < rows; ++i) {
    const int area = 30 + static_cast<int>(random() % 220);
    const bool large = random() % 2 == 0;
    const double price = 100'000 + 2000 * area + (large ? 90'000 : 0) + noise(random);
    text += std::to_string(area) + (large ? ",Bonn," : ",Jena,") + std::to_string(price) + '\n';
  }
  return text;
}

class Numbers : public ::testing::Test {
 protected:
  void SetUp() override { write_file(data, houses(600)); }
  Words train(const Words& more) const {
    Words words{"train", "--model", "mlp", "--data", data, "--batch", "32", "--quiet", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  const TemporaryFolder folder;
  const std::string data = folder / "houses.csv", run_folder = folder / "run";
};

TEST_F(Numbers, are_learnt_in_every_format_and_measured_in_their_units) {
  for (const char* const amp : {"off", "f16", "bf16"}) {
    const Json trained = done(train({"--epochs", "12", "--amp", amp, "--metrics", "mae"}));
    EXPECT_LT(trained.at("test_mae"), 11'000) << amp;  // that of the noise is 8,000
    EXPECT_LT(trained.at("test_loss"), 0.02) << amp;   // of the variance
    EXPECT_TRUE(trained.at("test_accuracy").is_null());
  }
  const Result shown = run({"train", "--model", "mlp", "--data", data, "--epochs", "1"});
  EXPECT_NE(shown.out.find("test loss "), std::string::npos) << shown.out;
  EXPECT_EQ(shown.out.find("accuracy"), std::string::npos) << shown.out;
}

TEST_F(Numbers, are_predicted_in_their_units_by_a_run_that_is_opened_again) {
  done(train({"--epochs", "12", "--amp", "f16", "--output", run_folder}));
  write_file(folder / "new.csv", "town,area\nBonn,100\nJena,200\n");
  const std::string saved = folder / "out.csv";
  ASSERT_EQ(run({"predict", run_folder, folder / "new.csv", "--save", saved}).code, 0);
  std::istringstream rows(read_file(saved));
  std::string row;
  std::getline(rows, row);
  EXPECT_EQ(row, "sample,predicted");
  for (const double price : {390'000.0, 500'000.0}) {
    std::getline(rows, row);
    EXPECT_NEAR(std::stod(row.substr(2)), price, 20'000) << row;
  }
  const Json sample = done({"predict", run_folder, "--count", "1", "--json"});
  EXPECT_NEAR(sample.at("predicted").at(0), sample.at("target").at(0), 50'000);
  const Json again = done({"evaluate", run_folder, "--metrics", "mae", "--json"});
  EXPECT_LT(again.at("test_mae"), 11'000);
  EXPECT_EQ(run({"export", run_folder, "-o", folder / "houses.onnx"}).code, 0);
}

TEST_F(Numbers, may_be_several_of_a_sample) {
  std::mt19937 random(2);
  Tensor x(DType::f32, {400, 3}), y(DType::f32, {400, 2});
  for (std::int64_t i = 0; i < 400; ++i) {
    for (std::int64_t k = 0; k < 3; ++k) x.set(3 * i + k, static_cast<double>(random() % 100));
    y.set(2 * i, 1e6 * x.at(3 * i));
    y.set(2 * i + 1, 1e-6 * x.at(3 * i + 2));
  }
  write_npz(folder / "two.npz", std::vector<NamedTensor>{{"x", x}, {"y", y}});
  const Json trained = done({"train", "--model", "mlp", "--data", folder / "two.npz", "--batch",
                             "32", "--epochs", "20", "--output", run_folder, "--quiet", "--json"});
  EXPECT_LT(trained.at("test_loss"), 0.05);
  const std::string saved = folder / "out.csv";
  ASSERT_EQ(run({"predict", run_folder, "--save", saved, "--quiet"}).code, 0);
  EXPECT_TRUE(read_file(saved).starts_with("sample,predicted_1,predicted_2,target_1,target_2\n0,"));
  EXPECT_EQ(run({"evaluate", run_folder, "--data", data}).code, 4);
}

TEST_F(Numbers, that_cannot_be_learnt_are_refused) {
  const std::string odd = folder / "odd.csv";
  write_file(odd, "a,b,price\n1,2,0.5\n2,3,1e39\n3,4,0.25\n4,5,1.5\n5,6,2.5\n6,7,0.5\n");
  const Result large = run({"train", "--model", "mlp", "--data", odd});
  EXPECT_EQ(large.code, 4) << large.out << large.err;
  write_file(odd, "a,b,price\n1,2,7.5\n2,3,7.5\n3,4,7.5\n4,5,7.5\n5,6,7.5\n6,7,7.5\n");
  EXPECT_EQ(run({"train", "--model", "mlp", "--data", odd}).code, 0);  // all the same
}

}  // namespace
}  // namespace narrowgauge::testing_cli::numbers_test
