// SPDX-License-Identifier: Apache-2.0
// Runs that an earlier program wrote, whose settings named momentum and weight decay for every
// optimizer, are evaluated and go on as they were.
#include "cli/training_fixture.h"
#include "support/earlier_run.h"

namespace narrowgauge::testing_cli::earlier_settings_test {
namespace {

using testing_files::write_file;

class EarlierSettings : public Training {
 protected:
  // A run of this training whose run.json is replaced by that of an earlier program.
  std::string earlier(const Words& training, const std::string& optimizer_settings) {
    const std::string folder = *folder_ / "earlier";
    std::filesystem::remove_all(folder);
    Words words = quiet_json({"--deterministic", "--output", folder});
    words.insert(words.end(), training.begin(), training.end());
    done(words);
    make_earlier_form(folder);
    write_file(
        folder + "/run.json",
        R"({"version": 1, "settings": {"model": "mlp", "data": ")" + data() +
            R"(", "amp": "off", "overrides": [], "math": "f32", "epochs": 2, "batch": 32, )" +
            optimizer_settings +
            R"(, "clip": 0.0, "schedule": "cosine", "warmup": -1, "loss_scale": "",
"seed": 1, "threads": 0, "deterministic": true}, "images": {"classes": 4, "channels": 1,
"height": 8, "width": 8, "padded_height": 0, "padded_width": 0, "mean": [0.5],
"deviation": [0.25]}})");
    return folder;
  }
  // The settings as they are kept after the run went on.
  static Json resumed_settings(const std::string& folder) {
    done({"train", "--resume", folder, "--epochs", "3", "--json", "--quiet"});
    return Json::parse(testing_files::read_file(folder + "/run.json")).at("settings");
  }
};

TEST_F(EarlierSettings, of_sgd_keep_their_momentum) {
  const std::string folder =
      earlier({"--nesterov", "--momentum", "0.75", "--weight-decay", "0.001", "--lr", "0.02"},
              R"("optimizer": "sgd", "learning_rate": 0.02, "momentum": 0.75, "nesterov": true,
"weight_decay": 0.001)");
  EXPECT_EQ(done({"evaluate", folder, "--json"}).at("test_samples"), tiny_test);
  const Json settings = resumed_settings(folder);
  EXPECT_EQ(settings.at("momentum"), 0.75);
  EXPECT_EQ(settings.at("nesterov"), true);
  EXPECT_EQ(settings.at("weight_decay"), 0.001);
  EXPECT_EQ(settings.at("learning_rate"), 0.02);
  EXPECT_EQ(settings.at("policy"), "lists");
}

TEST_F(EarlierSettings, of_adamw_keep_their_weight_decay) {
  const std::string folder =
      earlier({"--optimizer", "adamw", "--weight-decay", "0.25"},
              R"("optimizer": "adamw", "learning_rate": 0.001, "momentum": 0.0, "nesterov": false,
"weight_decay": 0.25)");
  const Json settings = resumed_settings(folder);
  EXPECT_EQ(settings.at("optimizer"), "adamw");
  EXPECT_EQ(settings.at("weight_decay"), 0.25);
  EXPECT_EQ(settings.at("beta1"), 0.9);
  EXPECT_FALSE(settings.contains("momentum"));
}

TEST_F(EarlierSettings, of_an_unknown_optimizer_are_damage) {
  const std::string folder =
      earlier({}, R"("optimizer": "rprop", "learning_rate": 0.001, "weight_decay": 0.25)");
  const Result result = run({"evaluate", folder});
  EXPECT_EQ(result.code, 4);
  EXPECT_TRUE(contains(result.err, "run.json: is damaged: optimizer: expected one of"))
      << result.err;
}

}  // namespace
}  // namespace narrowgauge::testing_cli::earlier_settings_test
