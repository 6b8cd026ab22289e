// SPDX-License-Identifier: Apache-2.0
// Weights without masters, apex's levels and Keras's policies, as a user asks for them.
#include "cli/training_fixture.h"

namespace narrowgauge::master_weights_test {
namespace {

using namespace testing_cli;

class MasterWeights : public Training {};

Words without_masters(const std::string& rounding) {
  return {"--amp", "bf16", "--master-weights", "off", "--weight-rounding", rounding};
}

Words joined(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST_F(MasterWeights, off_takes_less_memory_and_trains) {
  const Json with = done(quiet_json({"--amp", "bf16"}));
  for (const std::string rounding : {"stochastic", "kahan"}) {
    const Json without = done(quiet_json(without_masters(rounding)));
    EXPECT_LT(without["state_bytes"].get<double>(), 0.85 * with["state_bytes"].get<double>());
    EXPECT_NEAR(without["test_accuracy"].get<double>(), with["test_accuracy"].get<double>(), 0.1);
    EXPECT_NE(without["weights_sha256"], with["weights_sha256"]);
  }
}

TEST_F(MasterWeights, off_runs_resume_and_evaluate_as_they_were) {
  for (const std::string rounding : {"stochastic", "kahan", "nearest"}) {
    const Words flags = joined(without_masters(rounding), {"--deterministic"});
    const std::string whole = *folder_ / ("whole_" + rounding),
                      part = *folder_ / ("part_" + rounding);
    // The other schedules end with the epochs, so that a run of one would be another training.
    const Words constant{"--schedule", "constant"};
    const Json all = done(joined(joined(quiet_json(flags), constant), {"--output", whole}));
    Words first = joined(joined(quiet_json(flags), constant), {"--output", part});
    first[6] = "1";
    done(first);
    const Json resumed = done({"train", "--resume", part, "--epochs", "2", "--json", "--quiet"});
    EXPECT_EQ(resumed["weights_sha256"], all["weights_sha256"]) << rounding;
    const std::string other = rounding == "kahan" ? "nearest" : "kahan";
    const Result changed =
        run({"train", "--resume", part, "--epochs", "3", "--weight-rounding", other});
    EXPECT_EQ(changed.code, 4) << rounding << changed.err;
    const Json evaluated = done({"evaluate", part, "--json"});
    EXPECT_EQ(evaluated["test_accuracy"], resumed["test_accuracy"]) << rounding;
    EXPECT_EQ(run({"evaluate", part, "--amp", "off", "--json"}).code, 0) << rounding;
    EXPECT_EQ(run({"export", part, "--onnx", *folder_ / "exported.onnx"}).code, 0) << rounding;
  }
}

TEST_F(MasterWeights, are_kept_where_f32_is_the_fastest_format) {
  for (const std::string isa : {"avx2", "amx"}) {
    const Json result = done(quiet_json({"--amp", "auto", "--master-weights", "off"}),
                             {.variables = {{"NARROWGAUGE_ISA", isa}}});
    EXPECT_TRUE(result.contains("test_accuracy")) << isa;
  }
  EXPECT_EQ(run(train({"--compare", "off,bf16", "--master-weights", "off"})).code, 0);
}

TEST_F(MasterWeights, levels_of_apex_are_kept_with_the_run) {
  for (const std::string level : {"O0", "O1", "O2", "O3"}) {
    const std::string folder = *folder_ / level;
    const Json result = done(joined(quiet_json({"--opt-level", level}), {"--output", folder}));
    const double scale = result["loss_scale"].get<double>();
    EXPECT_EQ(scale > 1, level == "O1" || level == "O2") << level;
    EXPECT_EQ(result["amp"], level == "O0" ? "off" : "f16");
    const Json evaluated = done({"evaluate", folder, "--json"});
    EXPECT_EQ(evaluated["test_accuracy"], result["test_accuracy"]) << level;
  }
}

TEST_F(MasterWeights, policies_of_keras_bring_their_format) {
  EXPECT_EQ(done(quiet_json({"--policy", "mixed_float16"}))["loss_scale"], 32768);
  EXPECT_EQ(done(quiet_json({"--policy", "mixed_bfloat16"}))["amp"], "bf16");
  EXPECT_EQ(done(quiet_json({"--policy", "float32"}))["amp"], "off");
}

TEST_F(MasterWeights, explain_says_where_weights_are_kept) {
  const Result result = run({"explain", "--model", "lenet", "--amp", "bf16", "--master-weights",
                             "off", "--node", "conv1.weight"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("kept-narrow"), std::string::npos) << result.out;
  const Result o2 = run({"explain", "--model", "resnet20", "--opt-level", "O2"});
  EXPECT_NE(o2.out.find("whole-network"), std::string::npos) << o2.out;
}

TEST_F(MasterWeights, flags_that_do_not_fit_are_refused) {
  const std::pair<Words, std::string> cases[] = {
      {{"--master-weights", "off"}, "--master-weights off: needs --amp f16 or bf16"},
      {{"--amp", "bf16", "--weight-rounding", "kahan"},
       "--weight-rounding: needs --master-weights off"},
      {{"--amp", "bf16", "--keep-batchnorm-fp32", "on"},
       "--keep-batchnorm-fp32: needs --opt-level"},
      {{"--opt-level", "O2", "--amp", "f16"},
       "--opt-level: decides on the formats, --amp cannot be added"},
      {{"--opt-level", "O2", "--policy", "lists"},
       "--opt-level: decides on the formats, --policy cannot be added"},
      {{"--opt-level", "O1", "--master-weights", "on"},
       "apex: O1 takes no master_weights: its parameters are f32 as they are"},
      {{"--opt-level", "O1", "--keep-batchnorm-fp32", "on"},
       "apex: O1 takes no keep_batchnorm_fp32: its parameters are f32 as they are"},
      {{"--policy", "mixed_float16", "--amp", "bf16"},
       "precision: policy mixed_float16 computes in f16, and bf16 was asked for"},
      {{"--plan", "p", "--weight-rounding", "kahan"},
       "--plan: says how weights are rounded, --weight-rounding cannot be added"},
      {{"--plan", "p", "--opt-level", "O2"},
       "--plan: decides on every node, --opt-level cannot be added"},
      {{"--opt-level", "O5"}, "O5"},
      {{"--master-weights", "maybe"}, "maybe"},
      {{"--amp", "bf16", "--master-weights", "off", "--weight-rounding", "up"}, "up"}};
  for (const auto& [words, message] : cases) {
    const Result result = run(train(words));
    EXPECT_EQ(result.code, 2) << message;
    EXPECT_NE(result.err.find(message), std::string::npos) << message << "\n" << result.err;
    EXPECT_EQ(result.out, "") << message;
  }
}

}  // namespace
}  // namespace narrowgauge::master_weights_test
