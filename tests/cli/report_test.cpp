// SPDX-License-Identifier: Apache-2.0
// info, explain and doctor: what they answer about networks and machines.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "cli/program.h"

namespace narrowgauge::testing_cli {
namespace {

using nlohmann::json;

json answer(const Words& words, const Surroundings& surroundings = {}) {
  const Result result = run(words, surroundings);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(line_count(result.out), 1);
  return result.code == 0 ? json::parse(result.out) : json{};
}

TEST(Info, CountsTheParametersOfLenet) {
  // conv 5*5*1*16+16, conv 5*5*16*32+32, linear 7*7*32*128+128, linear 128*10+10.
  constexpr std::int64_t expected = 416 + 12832 + 200832 + 1290;
  const json info = answer({"info", "--model", "lenet", "--json"});
  EXPECT_EQ(info.at("parameters"), expected);
  std::int64_t sum = 0;
  for (const json& layer : info.at("layers")) sum += layer.at("parameters").get<std::int64_t>();
  EXPECT_EQ(sum, expected);
}

TEST(Info, CountsTheMultiplyAddsOfLenet) {
  constexpr double expected =
      28. * 28 * 16 * 25 + 14. * 14 * 32 * 16 * 25 + 1568. * 128 + 128. * 10;
  EXPECT_NEAR(answer({"info", "--model", "lenet", "--json"}).at("macs").get<double>(), expected,
              0.01 * expected);
}

TEST(Info, MemoryGrowsWithTheBatchAndShrinksInNarrowFormats) {
  const auto bytes = [](const char* batch, const char* amp) {
    const json info = answer({"info", "--model", "resnet20", "--batch", batch, "--json"});
    return info.at("training_memory").at(amp).at("activation_bytes").get<double>();
  };
  EXPECT_NEAR(bytes("64", "off") / bytes("32", "off"), 2, 0.1);
  EXPECT_LT(bytes("64", "bf16"), 0.75 * bytes("64", "off"));
  EXPECT_LT(bytes("64", "f16"), 0.75 * bytes("64", "off"));
}

TEST(Info, MemoryIsThatOfTheRun) {
  const json info = answer({"info", "--model", "mlp", "--batch", "100", "--json"});
  const Result trained = run({"train", "--model", "mlp", "--data", "glyphs", "--batch", "100",
                              "--epochs", "1", "--json", "--quiet"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(info.at("training_memory").at("off").at("activation_bytes"),
            json::parse(last_line(trained.out)).at("activation_bytes"));
}

TEST(Info, TakesTheUsualImagesOfANetwork) {
  const json info = answer({"info", "--model", "resnet18", "--batch", "2", "--json"});
  EXPECT_EQ(info.at("image"), "3x224x224");
  EXPECT_EQ(info.at("parameters"), 11689512);
}

TEST(Info, TellsOfANetworkForText) {
  const Words words{"info", "--model", "bert-base", "--batch", "1", "--sequence"};
  Words shorter = words, longer = words;
  shorter.insert(shorter.end(), {"16", "--head", "question-answering", "--json"});
  longer.insert(longer.end(), {"32"});
  const json info = answer(shorter);
  EXPECT_EQ(info.at("sequence"), 16);
  EXPECT_EQ(info.at("head"), "question-answering");
  EXPECT_EQ(info.at("parameters"), 108893186);
  EXPECT_FALSE(info.contains("image"));
  const Result result = run(longer);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "sequences of 32 tokens, 2 classes")) << result.out;
}

TEST(Info, PrintsATable) {
  const Result result = run({"info", "--model", "resnet20", "--image", "3x32x32"},
                            {.variables = {{"COLUMNS", "100"}}});
  EXPECT_EQ(result.code, 0) << result.err;
  for (const char* part :
       {"parameters", "multiply-adds", "stage3.block3.conv2", "training", "bf16"})
    EXPECT_TRUE(contains(result.out, part)) << part;
}

TEST(Info, ListsTheOps) {
  const Result result = run({"info", "--ops"});
  EXPECT_EQ(result.code, 0) << result.err;
  for (const char* op : {"\nConv ", "\nRelu ", "\nSoftmaxCrossEntropyLoss "})
    EXPECT_TRUE(contains(result.out, op)) << result.out;
  const json conv = [] {
    std::istringstream lines(run({"info", "--ops", "--json"}).out);
    for (std::string line; std::getline(lines, line);)
      if (const json op = json::parse(line); op.at("op") == "Conv") return op;
    return json();
  }();
  EXPECT_EQ(conv.at("f16"), "allow");
}

TEST(Explain, LeavesWeightsAndBookkeepingToAll) {
  const Words words{"explain", "--model", "lenet", "--amp", "f16"};
  Words all = words;
  all.emplace_back("--all");
  const std::string usual = run(words).out, whole = run(all).out;
  EXPECT_TRUE(contains(usual, "are not shown: --all")) << usual;
  EXPECT_FALSE(contains(whole, "are not shown")) << whole;
  EXPECT_FALSE(contains(usual, "\nconv1.weight ")) << usual;
  EXPECT_TRUE(contains(whole, "\nconv1.weight ")) << whole;
}

TEST(Explain, GivesEveryNodeOfResnetAReasonFromAClosedList) {
  const std::set<std::string> rules{"seed-allow",
                                    "between-allows",
                                    "infer-extension",
                                    "clear-neighbour",
                                    "cast-consumers",
                                    "deny-list",
                                    "deny-propagated",
                                    "unlisted",
                                    "infer-without-allow-producer",
                                    "clear-not-reached",
                                    "preserved-output",
                                    "dtype-not-supported",
                                    "no-narrow-kernel",
                                    "not-f32",
                                    "pinned-type",
                                    "source",
                                    "region"};
  for (const char* amp : {"f16", "bf16"}) {
    const json all = answer({"explain", "--model", "resnet20", "--amp", amp, "--json"});
    ASSERT_GT(all.at("nodes").size(), 100u);
    for (const json& node : all.at("nodes")) {
      EXPECT_TRUE(rules.count(node.at("rule"))) << node.at("rule");
      EXPECT_NE(node.at("reason"), "") << node.at("name");
      EXPECT_GE(node.at("chain").size(), 1u) << node.at("name");
    }
    EXPECT_GT(all.at("summary").at("casts"), 0);
    EXPECT_GT(all.at("summary").at("cast_bytes"), 0);
  }
}

TEST(Explain, AnswersForANetworkForText) {
  const json node = answer({"explain", "--model", "bert-base", "--sequence", "16", "--amp", "bf16",
                            "--node", "bert.encoder.layer.0.attention.self.query", "--json"});
  EXPECT_EQ(node.at("dtype"), "bf16");
}

TEST(Explain, PrintsOneNodeInFull) {
  const Result result =
      run({"explain", "--model", "resnet20", "--amp", "f16", "--node", "stage1.block1.conv1"});
  EXPECT_EQ(result.code, 0) << result.err;
  for (const char* part : {"Conv", "allow", "f16", "rule", "because"})
    EXPECT_TRUE(contains(result.out, part)) << result.out;
}

TEST(Explain, SavedPlanExplainsTheSame) {
  testing_files::TemporaryFolder folder;
  const std::string plan = folder / "plan.txt";
  const Words words{"explain", "--model", "lenet", "--amp", "bf16", "--json"};
  Words saving = words, reading{"explain", "--model", "lenet", "--plan", plan, "--json"};
  saving.insert(saving.end(), {"--save-plan", plan});
  const json saved = answer(saving);
  EXPECT_EQ(answer(reading), saved);
}

TEST(Explain, OverrideByNameIsSaid) {
  const json node = answer({"explain", "--model", "lenet", "--amp", "f16", "--override",
                            "conv1=f32", "--node", "conv1", "--json"});
  EXPECT_EQ(node.at("dtype"), "f32");
  EXPECT_EQ(node.at("rule"), "override");
}

TEST(Explain, PlanOfAStrongCpuIsReadOnAWeakOne) {
  testing_files::TemporaryFolder folder;
  const std::string plan = folder / "plan.txt";
  const Words saving{"explain", "--model", "lenet", "--amp", "bf16", "--json", "--save-plan", plan};
  const Words reading{"explain", "--model", "lenet", "--plan", plan, "--json"};
  const json saved = answer(saving, {.variables = {{"NARROWGAUGE_ISA", "amx"}}});
  EXPECT_EQ(answer(reading, {.variables = {{"NARROWGAUGE_ISA", "avx2"}}}), saved);
}

TEST(Doctor, MeasuresEachMathMode) {
  const json doctor = answer({"doctor", "--json"});
  for (const char* format : {"ieee", "f32", "dfp16", "f16", "bf16"}) {
    const json& math = doctor.at("math").at(format);
    for (const char* rate : {"product_gflops", "convolution_gflops"}) {
      // Beside other programs there may be no telling: never a wrong rate.
      if (math.at(rate).is_null()) continue;
      EXPECT_GT(math.at(rate).get<double>(), 0.1) << format;
    }
    EXPECT_NE(math.at("product_kernel"), "") << format;
  }
  for (const char* amp : {"off", "f16", "bf16", "auto"}) EXPECT_NE(doctor.at("amp").at(amp), "");
  EXPECT_GT(doctor.at("peaks").at("f32_gflops"), 1);
  EXPECT_GT(doctor.at("memory_bytes_per_second"), 1e8);
  EXPECT_GT(doctor.at("memory_bytes").get<double>(), 1e8);
  EXPECT_GE(doctor.at("cores").get<int>(), 1);
  EXPECT_NE(doctor.at("gpu"), "");
}

TEST(Doctor, ObeysTheCapOnInstructions) {
  const Result result = run({"doctor"}, {.variables = {{"NARROWGAUGE_ISA", "avx2"}}});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "isa       avx2")) << result.out;
  EXPECT_TRUE(contains(result.out, "tier      AVX2: f32 alone")) << result.out;
}

// Widening cannot be faster than what is not widened; and it says so.
TEST(Doctor, KeepsF32WhereNarrowIsNoFaster) {
  const json doctor = answer({"doctor", "--json"}, {.variables = {{"NARROWGAUGE_ISA", "avx2"}}});
  EXPECT_EQ(doctor.at("amp_auto"), "off");
  const std::string bf16 = doctor.at("amp").at("bf16"), choice = doctor.at("amp").at("auto");
  EXPECT_TRUE(contains(bf16, "no faster than f32")) << bf16;
  EXPECT_TRUE(contains(choice, "f32 is kept")) << choice;
  for (const char* unit : {"bf16_gflops", "int16_gops", "int8_gops"})
    EXPECT_EQ(doctor.at("peaks").at(unit), 0) << unit;
}

}  // namespace
}  // namespace narrowgauge::testing_cli
