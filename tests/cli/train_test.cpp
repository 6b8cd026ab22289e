// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "cli/training_fixture.h"
#include "support/earlier_run.h"

namespace narrowgauge::testing_cli::train_test {
namespace {

using testing_files::read_file;
using testing_files::write_file;

TEST_F(Training, learns_in_every_format_and_says_so_on_standard_output) {
  for (const char* amp : {"off", "f16", "bf16"}) {
    const Result result = run(train({"--amp", amp, "--epochs", "3"}));
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_TRUE(contains(result.out, "test accuracy   100.00 %  (64 of 64 images")) << result.out;
    EXPECT_TRUE(contains(result.err, "epoch 3/3")) << result.err;
    EXPECT_FALSE(contains(result.out, "epoch")) << result.out;
  }
}

TEST_F(Training, json_is_one_object_a_line_and_the_last_is_done) {
  const Result result = run(train({"--amp", "f16", "--json"}));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  int epochs = 0;
  for (std::size_t begin = 0; begin < result.out.size();) {
    const std::size_t end = result.out.find('\n', begin);
    const Json line = Json::parse(result.out.substr(begin, end - begin));
    epochs += line.at("event") == "epoch";
    begin = end + 1;
  }
  EXPECT_EQ(epochs, 2);
  const Json last = Json::parse(last_line(result.out));
  EXPECT_EQ(last.at("event"), "done");
  EXPECT_GT(last.at("test_accuracy").get<double>(), 0.9);
  EXPECT_GT(last.at("samples_per_second").get<double>(), 0);
  EXPECT_GT(last.at("activation_bytes").get<std::int64_t>(), 0);
  EXPECT_GE(last.at("skipped_steps").get<int>(), 0);
  EXPECT_EQ(last.at("steps"), 2 * tiny_train / 32);
  EXPECT_EQ(last.at("test_samples"), tiny_test);
  EXPECT_EQ(last.at("weights_sha256").get<std::string>().size(), 64u);
}

TEST_F(Training, environment_decides_where_the_flag_is_not_given) {
  const auto amp_of = [](const Words& words, const char* value) {
    return done(words, {.variables = {{"NARROWGAUGE_AUTO_MIXED_PRECISION", value}}}).at("amp");
  };
  EXPECT_EQ(amp_of(quiet_json({}), "1"), "f16");
  EXPECT_EQ(amp_of(quiet_json({}), "bf16"), "bf16");
  EXPECT_EQ(amp_of(quiet_json({}), "0"), "off");
  EXPECT_EQ(amp_of(quiet_json({"--amp", "off"}), "1"), "off");
  const Surroundings other{.variables = {{"NARROWGAUGE_AMP", "bf16"}}};
  EXPECT_EQ(done(quiet_json({}), other).at("amp"), "bf16");
  EXPECT_EQ(done(quiet_json({"--amp", "f16"}), other).at("amp"), "f16");
  // What is said must also be what is done.
  const Json off = done(quiet_json({"--deterministic"}));
  const Json told = done(quiet_json({"--deterministic", "--amp", "off"}),
                         {.variables = {{"NARROWGAUGE_AUTO_MIXED_PRECISION", "1"}}});
  EXPECT_EQ(off.at("weights_sha256"), told.at("weights_sha256"));
}

// What is fastest differs from machine to machine; that it is settled once, and why, does not.
TEST_F(Training, auto_settles_on_a_format_and_keeps_the_reason) {
  const std::string folder = *folder_ / "auto", plan = folder + "/plan.txt";
  const Result result = run(quiet_json({"--amp", "auto", "--epochs", "1", "--output", folder}));
  EXPECT_EQ(result.code, 0) << result.err;
  const std::string said = "narrowgauge: --amp auto: ";
  ASSERT_TRUE(result.err.starts_with(said)) << result.err;
  const std::string reason = result.err.substr(said.size(), result.err.find('\n') - said.size());
  const Json settings = Json::parse(testing_files::read_file(folder + "/run.json")).at("settings");
  const std::string amp = settings.at("amp");
  EXPECT_TRUE(amp == "off" || amp == "bf16" || amp == "f16") << amp;
  EXPECT_TRUE(contains(testing_files::read_file(plan), "reason \"" + reason)) << plan;
  const Result explained =
      run({"explain", "--model", "mlp", "--image", "1x8x8", "--classes", "4", "--plan", plan});
  EXPECT_TRUE(contains(explained.out, "by --amp auto: " + reason)) << explained.out;
  const Result further = run({"train", "--resume", folder, "--epochs", "2", "--json", "--quiet"});
  EXPECT_EQ(further.err, "");
  EXPECT_EQ(Json::parse(last_line(further.out)).at("amp"), amp);
}

TEST_F(Training, saved_run_is_evaluated_to_the_same_accuracy) {
  const std::string folder = *folder_ / "saved";
  const Json trained = done(quiet_json({"--amp", "bf16", "--epochs", "1", "--output", folder}));
  for (const char* file : {"model.safetensors", "run.json", "plan.txt", "latest/state.safetensors",
                           "checkpoints/000001/manifest.json"})
    EXPECT_TRUE(std::filesystem::exists(folder + "/" + file)) << file;
  const Json again = done({"evaluate", folder, "--json"});
  EXPECT_EQ(again.at("amp"), "bf16");
  EXPECT_EQ(again.at("test_accuracy"), trained.at("test_accuracy"));
  EXPECT_NEAR(again.at("test_loss").get<double>(), trained.at("test_loss").get<double>(), 1e-6);
  const Json elsewhere = done({"evaluate", folder, "--data", data(), "--amp", "off", "--json"});
  EXPECT_EQ(elsewhere.at("amp"), "off");
  EXPECT_NEAR(elsewhere.at("test_loss").get<double>(), trained.at("test_loss").get<double>(), 0.02);
}

TEST_F(Training, starts_from_given_weights) {
  const std::string folder = *folder_ / "start";
  const Json first = done(quiet_json({"--output", folder}));
  const Json second =
      done(quiet_json({"--weights", folder + "/model.safetensors", "--epochs", "1"}));
  EXPECT_LT(second.at("first_loss").get<double>(), 0.5 * first.at("first_loss").get<double>());
}

TEST_F(Training, same_seed_gives_the_same_bits_for_any_number_of_threads) {
  const auto sha = [](const Words& words) { return done(words).at("weights_sha256"); };
  const Json one = sha(quiet_json({"--deterministic", "--threads", "1"}));
  EXPECT_EQ(one, sha(quiet_json({"--deterministic", "--threads", "2"})));
  EXPECT_NE(one, sha(quiet_json({"--deterministic", "--seed", "2"})));
}

TEST_F(Training, interrupted_run_is_saved_and_goes_on_to_the_same_bits) {
  const Words words = train({"--deterministic", "--epochs", "40", "--amp", "f16"});
  Words whole = words;
  whole.insert(whole.end(), {"--json", "--quiet"});
  const Json never_stopped = done(whole);
  const std::string folder = *folder_ / "interrupted";
  Words stopped = words;
  stopped.insert(stopped.end(), {"--output", folder});
  const Result result = run(stopped, {.interrupt_at = "epoch 1/"});
  ASSERT_EQ(result.code, 130) << result.err;
  EXPECT_TRUE(contains(result.err, "train --resume " + folder)) << result.err;
  const Json resumed = done({"train", "--resume", folder, "--json", "--quiet"});
  EXPECT_EQ(resumed.at("weights_sha256"), never_stopped.at("weights_sha256"));
  EXPECT_LT(resumed.at("steps"), never_stopped.at("steps"));
}

TEST_F(Training, killed_run_goes_on_from_its_last_epoch) {
  const std::string folder = *folder_ / "killed";
  const Result result = run(train({"--epochs", "1000", "--output", folder}),
                            {.interrupt_at = "epoch 3/", .interrupt_by = SIGKILL});
  ASSERT_EQ(result.code, 128 + SIGKILL) << result.err;
  const Json resumed = done({"train", "--resume", folder, "--epochs", "60", "--json", "--quiet"});
  EXPECT_LE(resumed.at("steps"), 58 * 8);
}

TEST_F(Training, resumed_run_keeps_what_it_was_told_before) {
  const std::string folder = *folder_ / "told";
  done(quiet_json({"--optimizer", "adam", "--amp", "bf16", "--output", folder}));
  const Result batch = run({"train", "--resume", folder, "--epochs", "4", "--batch", "64"});
  EXPECT_EQ(batch.code, 2);
  EXPECT_TRUE(contains(batch.err, "keeps its batch of 32")) << batch.err;
  // adam and adamw have the same moments, so one can go on as the other.
  const Surroundings f16{.variables = {{"NARROWGAUGE_AUTO_MIXED_PRECISION", "f16"}}};
  const Json other = done(
      {"train", "--resume", folder, "--epochs", "3", "--optimizer", "adamw", "--json", "--quiet"},
      f16);
  EXPECT_EQ(other.at("test_samples"), tiny_test);
  EXPECT_EQ(other.at("amp"), "bf16");
  const Json record = Json::parse(read_file(folder + "/run.json")).at("settings");
  EXPECT_EQ(record.at("data"), data());
  EXPECT_EQ(record.at("batch"), 32);
  EXPECT_EQ(record.at("weight_decay"), 0.01);
  EXPECT_EQ(done({"evaluate", folder, "--json"}, f16).at("amp"), "bf16");
}

TEST_F(Training, evaluation_needs_no_schedule_of_training) {
  const std::string folder = *folder_ / "warm";
  done(quiet_json({"--warmup", "15", "--output", folder}));
  make_earlier_form(folder);
  const std::string path = folder + "/run.json";
  std::string text = read_file(path);
  const std::string was = "\"warmup\": 15";
  ASSERT_NE(text.find(was), std::string::npos) << text;
  write_file(path, text.replace(text.find(was), was.size(), "\"warmup\": 3000"));
  EXPECT_EQ(done({"evaluate", folder, "--json"}).at("test_samples"), tiny_test);
}

TEST_F(Training, nodes_of_the_backward_pass_can_be_changed) {
  const Json by_pattern = done(quiet_json({"--amp", "f16", "--override", "*gradient*=f32"}));
  EXPECT_EQ(by_pattern.at("test_samples"), tiny_test);
  const std::string plan = *folder_ / "backward.txt";
  done(quiet_json({"--amp", "f16", "--save-plan", plan}));
  std::string text = read_file(plan);
  const std::size_t line = text.find("\nlogits.gradient/");
  ASSERT_NE(line, std::string::npos) << text;
  text.replace(text.find(" f16", line), 4, " f32");
  write_file(plan, text);
  EXPECT_EQ(done(quiet_json({"--plan", plan})).at("test_samples"), tiny_test);
}

TEST_F(Training, resumed_run_goes_on_to_more_epochs) {
  const auto sha = [](const Words& words) { return done(words).at("weights_sha256"); };
  const Words constant{"--deterministic", "--schedule", "constant"};
  Words whole = quiet_json(constant), half = quiet_json(constant);
  whole.insert(whole.end(), {"--epochs", "4"});
  const std::string folder = *folder_ / "half";
  half.insert(half.end(), {"--output", folder});
  sha(half);
  EXPECT_EQ(sha({"train", "--resume", folder, "--epochs", "4", "--json", "--quiet"}), sha(whole));
}

TEST_F(Training, interrupt_without_output_saves_nothing) {
  const Result result = run(train({"--epochs", "1000"}), {.interrupt_at = "epoch 1/"});
  EXPECT_EQ(result.code, 130) << result.err;
  EXPECT_TRUE(contains(result.err, "nothing is saved")) << result.err;
}

TEST_F(Training, interrupted_comparison_shows_the_runs_that_came_to_their_end) {
  const Result result =
      run(train({"--compare", "off,ieee", "--epochs", "400"}), {.interrupt_at = "ieee  epoch 1/"});
  EXPECT_EQ(result.code, 130) << result.err;
  EXPECT_TRUE(contains(result.out, "\nf32 ")) << result.out;
  EXPECT_FALSE(contains(result.out, "\nieee ")) << result.out;
  EXPECT_TRUE(contains(result.err, "interrupted: stopped in ieee after ")) << result.err;
}

TEST_F(Training, edited_line_of_a_plan_changes_that_node_only) {
  const std::string plan = *folder_ / "plan.txt", edited = *folder_ / "edited.txt";
  done(quiet_json({"--amp", "f16", "--save-plan", plan}));
  std::string text = read_file(plan);
  const std::size_t line = text.find("\nhidden1 ");
  ASSERT_NE(line, std::string::npos) << text;
  const std::size_t format = text.find(" f16", line);
  ASSERT_LT(format, text.find('\n', line + 1)) << text;
  text.replace(format, 4, " f32");
  write_file(plan, text);
  done(quiet_json({"--plan", plan, "--save-plan", edited}));
  const std::string result = read_file(edited);
  const std::size_t after_comments = result.find("\nversion ");
  ASSERT_NE(after_comments, std::string::npos) << result;
  const std::size_t first = result.find("rule=edited", after_comments);
  EXPECT_NE(first, std::string::npos) << result;
  EXPECT_EQ(first, result.rfind("rule=edited")) << result;
  const Json explained = done({"explain", "--model", "mlp", "--image", "1x8x8", "--classes", "4",
                               "--plan", plan, "--node", "hidden1", "--json"});
  EXPECT_EQ(explained.at("dtype"), "f32");
  EXPECT_EQ(explained.at("rule"), "edited");
}

TEST_F(Training, compare_shows_one_row_for_each_format) {
  const Result result = run(train({"--compare", "off,f16,bf16", "--tolerance", "100"}));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(result.out.starts_with("precision")) << result.out;
  for (const char* row : {"\nf32 ", "\nf16 ", "\nbf16 "})
    EXPECT_TRUE(contains(result.out, row)) << result.out;
  EXPECT_TRUE(contains(result.out, "two standard errors")) << result.out;
}

TEST_F(Training, compare_measures_by_ieee_where_it_is_named) {
  const Json last = done(quiet_json({"--compare", "off,ieee", "--output", *folder_ / "runs"}));
  EXPECT_EQ(last.at("base"), "ieee");
  EXPECT_EQ(last["runs"][0]["precision"], "f32");
  EXPECT_EQ(last["runs"][1]["precision"], "ieee");
  EXPECT_EQ(last["runs"][1]["speed_up"], 1.0);
  for (const char* run : {"runs/f32/run.json", "runs/ieee/run.json"})
    EXPECT_TRUE(std::filesystem::exists(*folder_ / run)) << run;
}

TEST_F(Training, compared_runs_start_from_the_same_weights) {
  const Json last = done(quiet_json({"--compare", "off,f16,bf16"}));
  EXPECT_EQ(last.at("event"), "done");
  ASSERT_EQ(last.at("runs").size(), 3u);
  const double f32 = last["runs"][0]["first_loss"];
  EXPECT_NEAR(last["runs"][1]["first_loss"].get<double>(), f32, 0.01 * f32);
  EXPECT_NEAR(last["runs"][2]["first_loss"].get<double>(), f32, 0.05 * f32);
  EXPECT_EQ(last["runs"][0]["speed_up"], 1.0);
  EXPECT_LT(last["runs"][1]["activation_bytes"], last["runs"][0]["activation_bytes"]);
}

TEST_F(Training, compare_says_why_a_narrow_format_is_not_faster) {
  const Json last = done(quiet_json({"--compare", "off,f16"}));
  const double speed_up = last["runs"][1]["speed_up"];
  if (speed_up >= 1.05) GTEST_SKIP() << "f16 is faster here: " << speed_up;
  EXPECT_TRUE(contains(last.at("remarks").dump(), "widened to f32")) << last.at("remarks");
}

TEST_F(Training, gradients_flushed_without_a_loss_scale_are_counted) {
  const Words words = train({"--amp", "f16", "--loss-scale", "off", "--epochs", "20"});
  const Result result = run(words);
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "were flushed to zero by f16, first in ")) << result.out;
  EXPECT_TRUE(contains(result.out, "--loss-scale dynamic")) << result.out;
  const Json last = done(quiet_json({"--amp", "f16", "--loss-scale", "off", "--epochs", "20"}));
  EXPECT_GT(last.at("flushed").at("values"), 0);
  EXPECT_LE(last.at("flushed").at("values"), last.at("flushed").at("of"));
  EXPECT_NE(last.at("flushed").at("first"), "");
}

TEST_F(Training, trace_shows_the_passes) {
  const Result result = run(train({"--trace", "passes", "--quiet"}));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(contains(result.err, "== ")) << result.err.substr(0, 500);
}

TEST_F(Training, small_images_are_padded_to_whole_patches) {
  const Json last = done({"train", "--model", "vit-small", "--data", data(), "--epochs", "1",
                          "--batch", "128", "--json", "--output", *folder_ / "vit"});
  EXPECT_EQ(last.at("steps"), 2);
  EXPECT_TRUE(last.at("final_loss").is_number());
  const Json record = Json::parse(read_file(*folder_ / "vit/run.json"));
  EXPECT_EQ(record.at("images").at("padded_height"), 16);
}

TEST_F(Training, small_images_are_padded_for_resnet) {
  const Json last = done({"train", "--model", "resnet20", "--data", data(), "--epochs", "1",
                          "--batch", "64", "--json", "--output", *folder_ / "resnet"});
  EXPECT_EQ(last.at("steps"), 4);
  const Json record = Json::parse(read_file(*folder_ / "resnet/run.json"));
  EXPECT_EQ(record.at("images").at("padded_height"), 32);
  EXPECT_EQ(record.at("images").at("mean").size(), 1u);
}

}  // namespace
}  // namespace narrowgauge::testing_cli::train_test
