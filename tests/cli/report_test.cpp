// SPDX-License-Identifier: Apache-2.0
// info, explain and doctor: what they answer about networks and machines.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>

#include "cli/program.h"
#include "support/json.h"

namespace narrowgauge::testing_cli::report_test {
namespace {

using testing_json::Json;

Json answer(const Words& words, const Surroundings& surroundings = {}) {
  const Result result = run(words, surroundings);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(line_count(result.out), 1);
  return result.code == 0 ? Json::parse(result.out) : Json{};
}

TEST(info, counts_the_parameters_of_lenet) {
  // conv 5*5*1*16+16, conv 5*5*16*32+32, linear 7*7*32*128+128, linear 128*10+10.
  constexpr std::int64_t expected = 416 + 12832 + 200832 + 1290;
  const Json info = answer({"info", "--model", "lenet", "--json"});
  EXPECT_EQ(info.at("parameters"), expected);
  std::int64_t sum = 0;
  for (const Json& layer : info.at("layers")) sum += layer.at("parameters").get<std::int64_t>();
  EXPECT_EQ(sum, expected);
}

TEST(info, counts_the_multiply_adds_of_lenet) {
  constexpr double expected =
      28. * 28 * 16 * 25 + 14. * 14 * 32 * 16 * 25 + 1568. * 128 + 128. * 10;
  EXPECT_NEAR(answer({"info", "--model", "lenet", "--json"}).at("macs").get<double>(), expected,
              0.01 * expected);
}

TEST(info, memory_grows_with_the_batch_and_shrinks_in_narrow_formats) {
  const auto bytes = [](const char* batch, const char* amp) {
    const Json info = answer({"info", "--model", "resnet20", "--batch", batch, "--json"});
    return info.at("training_memory").at(amp).at("activation_bytes").get<double>();
  };
  EXPECT_NEAR(bytes("64", "off") / bytes("32", "off"), 2, 0.1);
  EXPECT_LT(bytes("64", "bf16"), 0.75 * bytes("64", "off"));
  EXPECT_LT(bytes("64", "f16"), 0.75 * bytes("64", "off"));
}

TEST(info, memory_is_that_of_the_run) {
  const Json info = answer({"info", "--model", "mlp", "--batch", "100", "--json"});
  const Result trained = run({"train", "--model", "mlp", "--data", "glyphs", "--batch", "100",
                              "--epochs", "1", "--json", "--quiet"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(info.at("training_memory").at("off").at("activation_bytes"),
            Json::parse(last_line(trained.out)).at("activation_bytes"));
}

TEST(info, takes_the_usual_images_of_a_network) {
  const Json info = answer({"info", "--model", "resnet18", "--batch", "2", "--json"});
  EXPECT_EQ(info.at("image"), "3x224x224");
  EXPECT_EQ(info.at("parameters"), 11689512);
}

TEST(info, tells_of_a_network_for_text) {
  const Words words{"info", "--model", "bert-base", "--batch", "1", "--sequence"};
  Words shorter = words, longer = words;
  shorter.insert(shorter.end(), {"16", "--head", "question-answering", "--json"});
  longer.insert(longer.end(), {"32"});
  const Json info = answer(shorter);
  EXPECT_EQ(info.at("sequence"), 16);
  EXPECT_EQ(info.at("head"), "question-answering");
  EXPECT_EQ(info.at("parameters"), 108893186);
  EXPECT_FALSE(info.contains("image"));
  const Result result = run(longer);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "sequences of 32 tokens, 2 classes")) << result.out;
}

TEST(info, prints_a_table) {
  const Result result = run({"info", "--model", "resnet20", "--image", "3x32x32"},
                            {.variables = {{"COLUMNS", "100"}}});
  EXPECT_EQ(result.code, 0) << result.err;
  for (const char* part :
       {"parameters", "multiply-adds", "stage3.block3.conv2", "training", "bf16"})
    EXPECT_TRUE(contains(result.out, part)) << part;
}

TEST(info, lists_the_ops) {
  const Result result = run({"info", "--ops"});
  EXPECT_EQ(result.code, 0) << result.err;
  for (const char* op : {"\nConv ", "\nRelu ", "\nSoftmaxCrossEntropyLoss "})
    EXPECT_TRUE(contains(result.out, op)) << result.out;
  const Json conv = [] {
    std::istringstream lines(run({"info", "--ops", "--json"}).out);
    for (std::string line; std::getline(lines, line);)
      if (const Json op = Json::parse(line); op.at("op") == "Conv") return op;
    return Json();
  }();
  EXPECT_EQ(conv.at("f16"), "allow");
}

TEST(explain, leaves_weights_and_bookkeeping_to_all) {
  const Words words{"explain", "--model", "lenet", "--amp", "f16"};
  Words all = words;
  all.emplace_back("--all");
  const std::string usual = run(words).out, whole = run(all).out;
  EXPECT_TRUE(contains(usual, "are not shown: --all")) << usual;
  EXPECT_FALSE(contains(whole, "are not shown")) << whole;
  EXPECT_FALSE(contains(usual, "\nconv1.weight ")) << usual;
  EXPECT_TRUE(contains(whole, "\nconv1.weight ")) << whole;
}

TEST(explain, gives_every_node_of_resnet_a_reason_from_a_closed_list) {
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
    const Json all = answer({"explain", "--model", "resnet20", "--amp", amp, "--json"});
    ASSERT_GT(all.at("nodes").size(), 100u);
    for (const Json& node : all.at("nodes")) {
      EXPECT_TRUE(rules.count(node.at("rule"))) << node.at("rule");
      EXPECT_NE(node.at("reason"), "") << node.at("name");
      EXPECT_GE(node.at("chain").size(), 1u) << node.at("name");
    }
    EXPECT_GT(all.at("summary").at("casts"), 0);
    EXPECT_GT(all.at("summary").at("cast_bytes"), 0);
  }
}

TEST(explain, answers_for_a_network_for_text) {
  const Json node = answer({"explain", "--model", "bert-base", "--sequence", "16", "--amp", "bf16",
                            "--node", "bert.encoder.layer.0.attention.self.query", "--json"});
  EXPECT_EQ(node.at("dtype"), "bf16");
}

TEST(explain, prints_one_node_in_full) {
  const Result result =
      run({"explain", "--model", "resnet20", "--amp", "f16", "--node", "stage1.block1.conv1"});
  EXPECT_EQ(result.code, 0) << result.err;
  for (const char* part : {"Conv", "allow", "f16", "rule", "because"})
    EXPECT_TRUE(contains(result.out, part)) << result.out;
}

TEST(explain, saved_plan_explains_the_same) {
  testing_files::TemporaryFolder folder;
  const std::string plan = folder / "plan.txt";
  const Words words{"explain", "--model", "lenet", "--amp", "bf16", "--json"};
  Words saving = words, reading{"explain", "--model", "lenet", "--plan", plan, "--json"};
  saving.insert(saving.end(), {"--save-plan", plan});
  const Json saved = answer(saving);
  EXPECT_EQ(answer(reading), saved);
}

TEST(explain, override_by_name_is_said) {
  const Json node = answer({"explain", "--model", "lenet", "--amp", "f16", "--override",
                            "conv1=f32", "--node", "conv1", "--json"});
  EXPECT_EQ(node.at("dtype"), "f32");
  EXPECT_EQ(node.at("rule"), "override");
}

TEST(explain, plan_of_a_strong_cpu_is_read_on_a_weak_one) {
  testing_files::TemporaryFolder folder;
  const std::string plan = folder / "plan.txt";
  const Words saving{"explain", "--model", "lenet", "--amp", "bf16", "--json", "--save-plan", plan};
  const Words reading{"explain", "--model", "lenet", "--plan", plan, "--json"};
  const Json saved = answer(saving, {.variables = {{"NARROWGAUGE_ISA", "amx"}}});
  EXPECT_EQ(answer(reading, {.variables = {{"NARROWGAUGE_ISA", "avx2"}}}), saved);
}

TEST(doctor, measures_each_math_mode) {
  const Json doctor = answer({"doctor", "--json"});
  for (const char* format : {"ieee", "f32", "dfp16", "f16", "bf16"}) {
    const Json& math = doctor.at("math").at(format);
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

TEST(doctor, obeys_the_cap_on_instructions) {
  const Result result = run({"doctor"}, {.variables = {{"NARROWGAUGE_ISA", "avx2"}}});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "isa       avx2")) << result.out;
  EXPECT_TRUE(contains(result.out, "tier      AVX2: f32 alone")) << result.out;
}

// What each contraction would take there, by kernel.
std::map<std::string, int> kernels_on(const std::string& target, const std::string& amp) {
  const Result result = run({"explain", "--model", "resnet20", "--amp", amp, "--batch", "32",
                             "--kernels", "--target", target, "--json"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  std::map<std::string, int> kernels;
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) {
    const Json kernel = Json::parse(line);
    ++kernels[kernel.at("kernel")];
    const std::string why = kernel.at("why");
    EXPECT_TRUE(why.empty() || why.starts_with("not measured; first of ")) << why;
  }
  return kernels;
}

TEST(explain, tells_the_kernels_of_any_target_on_any_machine) {
  const auto avx2 = kernels_on("avx2", "bf16"), vnni = kernels_on("vnni", "bf16"),
             zen4 = kernels_on("bf16", "bf16"), amx = kernels_on("amx", "bf16");
  EXPECT_EQ(avx2.size(), 1U);
  EXPECT_GT(avx2.at("onednn"), 50);
  EXPECT_GT(vnni.at("dfp16"), 50);
  EXPECT_GT(zen4.at("pairs"), 50);
  EXPECT_EQ(amx.count("pairs") + amx.count("dfp16"), 0U);
  for (const char* amp : {"bf16", "off"})
    EXPECT_GT(kernels_on("amx", amp)["amx tiles, batch-inner, normalize"], 5) << amp;
}

// Widening cannot be faster than what is not widened; and it says so.
TEST(doctor, keeps_f32_where_narrow_is_no_faster) {
  const Json doctor = answer({"doctor", "--json"}, {.variables = {{"NARROWGAUGE_ISA", "avx2"}}});
  EXPECT_EQ(doctor.at("amp_auto"), "off");
  const std::string bf16 = doctor.at("amp").at("bf16"), choice = doctor.at("amp").at("auto");
  EXPECT_TRUE(contains(bf16, "no faster than f32")) << bf16;
  EXPECT_TRUE(contains(choice, "f32 is kept")) << choice;
  for (const char* unit : {"bf16_gflops", "int16_gops", "int8_gops"})
    EXPECT_EQ(doctor.at("peaks").at(unit), 0) << unit;
}

}  // namespace
}  // namespace narrowgauge::testing_cli::report_test
