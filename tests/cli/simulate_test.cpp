// SPDX-License-Identifier: Apache-2.0
// `narrowgauge simulate` as a user types it.
#include <gtest/gtest.h>

#include "cli/program.h"
#include "cli/tiny_data.h"
#include "narrowgauge/npz.h"

namespace narrowgauge::testing_cli::simulate_test {
namespace {

using testing_files::read_file;
using testing_files::TemporaryFolder;

Words simulate(const Words& more) {
  Words words{"simulate"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::string printed(const Words& more) {
  const Result result = run(simulate(more));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  return result.out;
}

// pytorch#78275: z S z of z = [0, 3.14] and the identity gave 9.8616 on an A40 and 9.8596
// elsewhere: the product with S on the tensor cores, the one with z after it in f32.
TEST(simulate, tells_why_an_a40_gives_98616) {
  const TemporaryFolder folder;
  write_npy(folder / "z.npy", Tensor::from<float>({2}, std::vector<float>{0, 3.14F}));
  write_npy(folder / "S.npy", Tensor::from<float>({2, 2}, std::vector<float>{1, 0, 0, 1}));
  const auto answer = [&](const std::string& dtype) {
    const std::string out =
        printed({"--unit", "a40", "--op", "matmul", "--dtype", dtype, folder / "z.npy",
                 folder / "S.npy", "--output", folder / "zS.npy"});
    if (dtype == "tf32") {
      EXPECT_TRUE(contains(out, "tf32 keeps 10 of 23 bits: 3.14 becomes 3.140625")) << out;
    }
    printed({"--unit", "a40", "--dtype", "f32", folder / "zS.npy", folder / "z.npy", "--output",
             folder / "d.npy"});
    return read_npy(folder / "d.npy").at(0);
  };
  EXPECT_NEAR(answer("tf32"), 9.8616, 5e-5);
  EXPECT_NEAR(answer("f32"), 9.8596, 5e-5);
}

TEST(simulate, numbers_may_be_typed) {
  const std::string out =
      printed({"--unit", "a40", "--dtype", "tf32", "[0, 3.14]", "[[1,0],[0,1]]"});
  EXPECT_TRUE(contains(out, "0 3.140625")) << out;
  EXPECT_TRUE(out.starts_with("a40     computed as a100: ")) << out;
  const std::string cut = printed({"--unit", "a100", "--dtype", "tf32", "--tf32-rounding",
                                   "truncate", "[0, 3.1413]", "[[1,0],[0,1]]"});
  EXPECT_TRUE(contains(cut, "0 3.140625")) << cut;
  EXPECT_FALSE(contains(cut, "computed as")) << cut;
}

TEST(simulate, files_of_all_kinds_give_the_same) {
  const TemporaryFolder folder;
  const Tensor a = Tensor::from<float>({2, 2}, std::vector<float>{1, 2, 3, 4});
  const Tensor b = Tensor::from<float>({2, 1}, std::vector<float>{0.5F, -1});
  write_npz(folder / "both.npz", std::vector<NamedTensor>{{"a", a}, {"b", b}},
            Compression::deflated);
  write_npz(folder / "a.npz", std::vector<NamedTensor>{{"x", a}});
  write_safetensors(folder / "b.safetensors", {{{"y", b.cast(DType::f16)}}, {}});
  const std::vector<Words> ways{{folder / "both.npz:a", folder / "both.npz:b"},
                                {folder / "a.npz", folder / "b.safetensors"},
                                {folder / "a.npz:x", folder / "b.safetensors:y"}};
  for (const Words& way : ways)
    for (const char* ending : {".npy", ".npz", ".safetensors"}) {
      const std::string output = folder / (std::string("d") + ending);
      printed({"--unit", "h100", "--dtype", "f16", way[0], way[1], "--output", output});
      const Tensor d = ending == std::string(".npy")   ? read_npy(output)
                       : ending == std::string(".npz") ? read_npz(output, "d")
                                                       : *read_safetensors(output).find("d");
      EXPECT_TRUE(d.same_bits(Tensor::from<float>({2, 1}, std::vector<float>{-1.5F, -2.5F})));
    }
  printed({"--unit", "h100", "--dtype", "f16", "--accumulate", "f16", "--transpose-b",
           folder / "both.npz:a", "[[0.5, -1]]", "[[1], [2]]", "--output", folder / "d.npy"});
  EXPECT_TRUE(
      read_npy(folder / "d.npy")
          .same_bits(
              Tensor::from<float>({2, 1}, std::vector<float>{-0.5F, -0.5F}).cast(DType::f16)));
}

TEST(simulate, blocks_are_scaled_along_k) {
  // All but 1/512 are numbers of f4e2m1 with a power of two; NVFP4 has other scales: 0.5 beside 4
  // becomes 2/3.
  for (const char* dtype : {"mxf4", "mxf8e4m3", "mxf8e5m2", "nvf4"}) {
    const std::string out = printed({"--unit", "b200", "--dtype", dtype, "[[1,2],[6,0.001953125]]",
                                     "[[0.5],[4]]", "[[1],[1]]"});
    EXPECT_TRUE(contains(out, dtype == std::string("nvf4") ? "9.35" : "9.5")) << out;
  }
  const std::string out =
      printed({"--compare", "b200,ieee", "--dtype", "f8e4m3", "--random", "8,8,64"});
  EXPECT_TRUE(contains(out, "b200 f8e4m3 -> f32")) << out;
  const std::string lost =
      printed({"--unit", "b200", "--dtype", "mxf4", "[[6, 0.1]]", "[[1],[1]]"});
  EXPECT_TRUE(contains(lost, "1 become zero")) << lost;
}

TEST(simulate, probe_gives_the_numbers_that_fttn_published) {
  const std::string out = printed({"--probe", "--json"});
  const auto expect = [&](const std::string& unit, const std::string& value) {
    const std::string line = "{\"unit\":\"" + unit +
                             "\",\"operand\":\"f16\",\"result\":\"f32\",\"cancellation\":" + value;
    EXPECT_TRUE(contains(out, line)) << out << "lacks " << line;
  };
  expect("v100",
         "0.0,\"result_bits\":23,\"kept_bits\":23,\"at_once\":4,\"rounding\":\"towards 0\"");
  expect("a100",
         "0.0,\"result_bits\":23,\"kept_bits\":24,\"at_once\":8,\"rounding\":\"towards 0\"");
  expect("h100",
         "191.875,\"result_bits\":23,\"kept_bits\":25,\"at_once\":16,\"rounding\":\"towards 0\"");
  EXPECT_TRUE(contains(printed({"--probe"}), "191.875"));
}

TEST(simulate, list_says_how_sure_each_model_is) {
  const std::string out = printed({"--list"});
  for (const char* word :
       {"v100", "a100", "h100", "b200", "amx", "verified", "published", "unresolved", "2512.07004"})
    EXPECT_TRUE(contains(out, word)) << word;
}

TEST(simulate, compared_units_are_tabled_and_plotted) {
  const TemporaryFolder folder;
  const Words words{"--compare", "v100,a100,h100,ieee", "--dtype", "f16", "--random", "16,16,256"};
  const std::string out = printed(words);
  for (const char* word : {"v100 f16 -> f32", "ieee f16 -> f32", "v100 and a100", "equal"})
    EXPECT_TRUE(contains(out, word)) << out;
  EXPECT_EQ(out, printed(words));
  Words more = words;
  more.insert(more.end(), {"--json", "--plot", folder / "x.svg", "--threads", "1"});
  const std::string json = printed(more);
  EXPECT_EQ(line_count(json), 1);
  EXPECT_TRUE(contains(json, "\"differ\":")) << json;
  const std::string svg = read_file(folder / "x.svg");
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
}

TEST(simulate, nan_and_infinity_are_computed_but_not_compared) {
  const TemporaryFolder folder;
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  write_npy(folder / "a.npy",
            Tensor::from<float>({3, 2}, std::vector<float>{nan, 1, infinity, 1, 1, 1}));
  const std::string out = printed({"--unit", "a100", folder / "a.npy", "[[1],[2]]"});
  EXPECT_TRUE(contains(out, "nan") && contains(out, "inf")) << out;
  EXPECT_TRUE(contains(out, "of the rounded operands  33.33 %")) << out;
  printed({"--compare", "a100,ieee", folder / "a.npy", "[[1],[2]]"});
  const std::string empty = printed({"--unit", "a100", "[]", "[]"});
  EXPECT_TRUE(contains(empty, "f32[]")) << empty;
}

TEST(simulate, a_network_is_trained_and_evaluated_on_a_unit) {
  const TemporaryFolder folder;
  const std::string data = write_tiny_data(folder / "data");
  const Result trained = run({"train", "--model", "mlp", "--data", data, "--epochs", "1", "--batch",
                              "32", "--quiet", "--output", folder / "run"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const std::string out = printed({folder / "run", "--unit", "a100"});
  EXPECT_TRUE(contains(out, "sim:a100 f32") && contains(out, "logits of 64 test samples")) << out;
  const Result fresh = run(simulate({"--model", "mlp", "--data", data, "--epochs", "1", "--batch",
                                     "32", "--unit", "h100", "--amp", "f16", "--json"}));
  EXPECT_EQ(fresh.code, 0) << fresh.err;
  EXPECT_TRUE(contains(fresh.out, "\"math\":\"sim:h100 f16\"")) << fresh.out;
}

struct BadWords {
  const char* name;
  Words words;
  int code;
  const char* message;
};
class BadSimulations : public testing::TestWithParam<BadWords> {};

TEST_P(BadSimulations, end_in_one_line) {
  const Result result = run(simulate(GetParam().words));
  EXPECT_EQ(result.code, GetParam().code) << result.err;
  EXPECT_EQ(line_count(result.err), 1) << result.err;
  EXPECT_TRUE(contains(result.err, GetParam().message)) << result.err;
  EXPECT_EQ(result.out, "");
}

const char* const one = "[[1]]";
INSTANTIATE_TEST_SUITE_P(
    All, BadSimulations,
    testing::Values(
        BadWords{"Nothing", {}, 2, "--unit or --compare is required"},
        BadWords{"OneMatrix", {"--unit", "a100", one}, 2, "expected two matrices"},
        BadWords{"UnknownUnit", {"--unit", "h10", one, one}, 2, "did you mean h100?"},
        BadWords{"UnknownUnits", {"--compare", "a100,x", one, one}, 2, "got \"x\""},
        BadWords{"UnitTwice", {"--compare", "a100,a40", one, one}, 2, "named twice"},
        BadWords{"UnknownFormat",
                 {"--unit", "a100", "--dtype", "fp16", one, one},
                 2,
                 "did you mean f16?"},
        BadWords{"FormatOfAnother",
                 {"--unit", "v100", "--dtype", "bf16", one, one},
                 2,
                 "has no bf16 -> f32, it has f16 -> f32"},
        BadWords{"Unresolved",
                 {"--unit", "b200", "--dtype", "f8e4m3", "--accumulate", "f16", one, one},
                 2,
                 "--unresolved computes it all the same"},
        BadWords{"Shapes", {"--unit", "a100", "[[1,2]]", "[[1,2]]"}, 2, "has 2 elements in a row"},
        BadWords{"ShapeOfC", {"--unit", "a100", one, one, "[1,2]"}, 2, "expected c of [1,1]"},
        BadWords{"Ragged", {"--unit", "a100", "[[1,2],[3]]", one}, 2, "rows of one length"},
        BadWords{"NotNumbers", {"--unit", "a100", "[[1,\"2\"]]", one}, 2, "expected numbers"},
        BadWords{"NotJson", {"--unit", "a100", "[[1,", one}, 2, "expected numbers such as"},
        BadWords{"MissingFile", {"--unit", "a100", "/no/a.npz", one}, 4, "/no/a.npz"},
        BadWords{"UnknownFile", {"--unit", "a100", "/no/a.txt", one}, 4, ".npy, .npz or"},
        BadWords{"RandomSizes", {"--unit", "a100", "--random", "3,4"}, 2, "such as 64,64,1024"},
        BadWords{
            "RandomTooLarge", {"--unit", "a100", "--random", "100000,100000,100000"}, 2, "1e9"},
        BadWords{"RandomAndFiles", {"--unit", "a100", "--random", "3,4,5", one}, 2, "A and B"},
        BadWords{"OutputName", {"--unit", "a100", one, one, "--output", "x.txt"}, 2, "--output"},
        BadWords{"TooLargeForBytes",
                 {"--unit", "a100", "--dtype", "s8", "[[200]]", one},
                 2,
                 "whole numbers of -128 to 127"},
        BadWords{"ProbeAndList", {"--probe", "--list"}, 2, "different tasks"},
        BadWords{"ModelWithoutUnit", {"--model", "lenet"}, 2, "--unit is required"},
        BadWords{
            "UnknownModel", {"--model", "lennet", "--unit", "a100"}, 3, "did you mean lenet?"}),
    [](const auto& each) { return each.param.name; });

TEST(simulate, several_arrays_must_be_named) {
  const TemporaryFolder folder;
  const Tensor a = Tensor::from<float>({1}, std::vector<float>{1});
  write_npz(folder / "x.npz", std::vector<NamedTensor>{{"left", a}, {"right", a}});
  Result result = run(simulate({"--unit", "a100", folder / "x.npz", "[1]"}));
  EXPECT_EQ(result.code, 4);
  EXPECT_TRUE(contains(result.err, "x.npz:NAME, such as left or right")) << result.err;
  result = run(simulate({"--unit", "a100", folder / "x.npz:lef", "[1]"}));
  EXPECT_EQ(result.code, 4);
  EXPECT_TRUE(contains(result.err, "did you mean left?")) << result.err;
}

}  // namespace
}  // namespace narrowgauge::testing_cli::simulate_test
