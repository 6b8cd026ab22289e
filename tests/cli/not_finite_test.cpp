// SPDX-License-Identifier: Apache-2.0
// Infinities and NaN are never agreement: they are counted, named and reflected by the exit code.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cli/program.h"
#include "cli/tiny_data.h"
#include "narrowgauge/narrowgauge.h"
#include "support/json.h"

namespace narrowgauge::testing_cli::not_finite_test {
namespace {

using testing_files::TemporaryFolder;
using testing_files::write_file;
using testing_json::Json;

constexpr const char* run_record = R"({"version": 1, "settings": {"model": "mlp", "data": "DATA",
"amp": "off", "overrides": [], "math": "f32", "epochs": 1, "batch": 64, "optimizer": "sgd",
"learning_rate": 0.05, "momentum": 0.9, "nesterov": false, "weight_decay": 0.0, "clip": 0.0,
"schedule": "cosine", "warmup": 0, "loss_scale": "", "seed": 1, "threads": 0,
"deterministic": false}, "images": {"classes": 4, "channels": 1, "height": 8, "width": 8,
"padded_height": 0, "padded_width": 0, "mean": [0.5], "deviation": [0.25]}})";

class NotFinite : public testing::Test {
 protected:
  NotFinite() {
    write_tiny_data(data_);
    Model model("mlp", find_model("mlp", {1, tiny_side, tiny_side}, tiny_classes));
    model.save(folder_ / "good.safetensors");
    Tensor weight = model.state(last_);
    weight.set(3, std::nan(""));
    weight.set(4, std::numeric_limits<double>::infinity());
    model.set_state(last_, weight);
    model.save(folder_ / "bad.safetensors");
    std::filesystem::create_directories(run_);
    std::string record = run_record;
    write_file(run_ + "/run.json", record.replace(record.find("DATA"), 4, data_));
    model.save(run_ + "/model.safetensors");
  }
  Words train(const Words& more) const {
    Words words{"train", "--model", "mlp", "--data", data_, "--batch", "64", "--epochs", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  const TemporaryFolder folder_;
  const std::string data_ = folder_ / "data", run_ = folder_ / "run";
  const std::string last_ =
      Model("mlp", find_model("mlp", {1, tiny_side, tiny_side}, tiny_classes)).state_names().back();
};

TEST_F(NotFinite, evaluate_says_so_and_ends_as_diverged) {
  const Result result = run({"evaluate", run_});
  EXPECT_EQ(result.code, 5);
  EXPECT_TRUE(contains(result.err, "warning: " + run_ + "/model.safetensors: '" + last_ +
                                       "' holds 2 infinities or NaN"))
      << result.err;
  EXPECT_TRUE(contains(result.err, "outputs are infinite or NaN for 64 of 64 samples"))
      << result.err;
  EXPECT_TRUE(contains(result.out, "0.00 %")) << result.out;
}

TEST_F(NotFinite, evaluate_in_json_stays_json) {
  const Result result = run({"evaluate", run_, "--json"});
  EXPECT_EQ(result.code, 5);
  const Json object = Json::parse(result.out);
  EXPECT_EQ(object.at("event"), "diverged");
  EXPECT_TRUE(object.at("test_loss").is_null());
  EXPECT_EQ(object.at("not_finite_samples"), 64);
  EXPECT_EQ(object.at("test_accuracy"), 0);
}

TEST_F(NotFinite, training_does_not_begin_from_such_weights) {
  const Result result = run(train({"--weights", folder_ / "bad.safetensors"}));
  EXPECT_EQ(result.code, 4);
  EXPECT_EQ(line_count(result.err), 1) << result.err;
  EXPECT_TRUE(contains(result.err, "'" + last_ + "' holds 2 infinities or NaN among "))
      << result.err;
  EXPECT_FALSE(contains(result.err, "learning rate")) << result.err;
}

TEST_F(NotFinite, simulated_networks_do_not_agree_in_it) {
  const Result result = run({"simulate", run_, "--unit", "a100"});
  EXPECT_EQ(result.code, 5);
  EXPECT_TRUE(contains(result.out, "64 of 64 test samples are infinite or NaN and not compared"))
      << result.out;
  EXPECT_FALSE(contains(result.out, "differ by")) << result.out;
  const Result as_json = run({"simulate", run_, "--unit", "a100", "--json"});
  const Json object = Json::parse(as_json.out);
  EXPECT_EQ(object.at("event"), "diverged");
  EXPECT_EQ(object.at("compared_samples"), 0);
  EXPECT_EQ(object.at("not_finite_samples"), 64);
}

TEST(not_finite_products, are_counted_apart) {
  const Words product{"simulate",  "--unit", "a100",
                      "--dtype",   "tf32",   "[[1, nan], [1, inf], [1, 2]]",
                      "[[1], [1]]"};
  const Result result = run(product);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "2 of 6 elements are infinite or NaN")) << result.out;
  EXPECT_TRUE(contains(result.out,
                       "2 of 3 results are infinite or NaN and compared with nothing: 2 "
                       "in both, 0 in one alone"))
      << result.out;
  Words words = product;
  words.push_back("--json");
  const Json object = Json::parse(run(words).out);
  EXPECT_EQ(object.at("against_rounded_operands").at("equal"), 1);
  EXPECT_EQ(object.at("against_rounded_operands").at("not_comparable"), 2);
  const Result units =
      run({"simulate", "--compare", "v100,ieee", "--dtype", "f16", "[[nan, 1]]", "[[1], [1]]"});
  EXPECT_TRUE(contains(units.out, "v100 and ieee: 1 of 1 results are infinite or NaN"))
      << units.out;
}

struct Typed {
  std::string numbers;
  const char* message;  // nullptr: taken
};

TEST(typed_numbers, that_the_format_cannot_hold_are_refused) {
  const Words base{"simulate", "--unit", "ieee", "--dtype", "f32"};
  for (const auto& [numbers, message] :
       {Typed{"[1e39]", "1e39 is beyond what f32 can hold"},
        Typed{"[-1e39]", "-1e39 is beyond what f32 can hold"},
        Typed{"[1e-60]", "1e-60 is beyond what f32 can hold"},
        Typed{"[1e400]", "1e400 is beyond what f32 can hold"},
        Typed{"[1,2", "expected numbers such as"}, Typed{"[1,,2]", "expected numbers such as"},
        Typed{"[[1],[2,3]]", "rows of one length"}, Typed{"[[1],2]", "expected numbers such as"},
        Typed{"[1,[2]]", "expected numbers such as"}, Typed{"[1] 2", "expected numbers such as"},
        Typed{"[inf]", nullptr}, Typed{"[-inf]", nullptr}, Typed{"[ nan ]", nullptr},
        Typed{"[1e-40]", nullptr}, Typed{"[3.4028234e38]", nullptr}}) {
    Words words = base;
    words.insert(words.end(), {numbers, "[1]"});
    const Result result = run(words);
    EXPECT_EQ(result.code, message ? 2 : 0) << numbers << result.err;
    EXPECT_TRUE(contains(result.err, message ? message : "")) << result.err;
  }
  EXPECT_EQ(run({"simulate", "--unit", "ieee", "--dtype", "f64", "[1e39, 1e-60]", "[1, 1]"}).code,
            0);
}

TEST(typed_numbers, of_flags_and_formats_too) {
  for (const Words& words : {Words{"train", "--model", "mlp", "--lr", "1e400"},
                             Words{"train", "--model", "mlp", "--lr", "1e-400"},
                             Words{"train", "--model", "mlp", "--seed", "99999999999999999999"},
                             Words{"formats", "1e400"}, Words{"formats", "1e-400"}}) {
    const Result result = run(words);
    EXPECT_EQ(result.code, 2) << words.back();
    EXPECT_TRUE(contains(result.err, words.back() + " is beyond what ")) << result.err;
  }
  const Result tiny = run({"train", "--model", "mlp", "--epochs", "1", "--lr", "1e-60"});
  EXPECT_EQ(tiny.code, 2);
  EXPECT_TRUE(contains(tiny.err, "learning_rate")) << tiny.err;
  EXPECT_EQ(run({"formats", "inf"}).code, 0);
}

// Weights of a network of other classes: what fits is taken, and what does not is named.
TEST_F(NotFinite, weights_by_shape_name_what_they_leave) {
  const std::string path = folder_ / "ten.safetensors";
  const Model ten("mlp", find_model("mlp", {1, tiny_side, tiny_side}, 10));
  ten.save(path);
  const Result refused = run(train({"--weights", path}));
  EXPECT_EQ(refused.code, 4);
  EXPECT_TRUE(contains(refused.err, "does not fit model 'mlp'")) << refused.err;
  const Result taken = run(train({"--weights", path, "--weights-match", "shape", "--quiet"}));
  EXPECT_EQ(taken.code, 0) << taken.err;
  EXPECT_TRUE(contains(taken.err, "2 begin anew, of another shape: ")) << taken.err;
  EXPECT_TRUE(contains(taken.err, "f32[4], the file has f32[10]")) << taken.err;
  const Result lines = run(train({"--weights", path, "--weights-match", "shape", "--json", "-q"}));
  const Json first = Json::parse(lines.out.substr(0, lines.out.find('\n')));
  EXPECT_EQ(first.at("event"), "weights");
  EXPECT_EQ(first.at("other_shape").size(), 2U);
  EXPECT_EQ(first.at("missing").size(), 0U);
  EXPECT_EQ(run(train({"--weights-match", "shape"})).code, 2);
}

}  // namespace
}  // namespace narrowgauge::testing_cli::not_finite_test
