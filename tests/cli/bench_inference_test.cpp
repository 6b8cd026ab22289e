// SPDX-License-Identifier: Apache-2.0
// bench --inference: its rows, its peers, and what it refuses.
#include <gtest/gtest.h>

#include <sstream>

#include "cli/fake_python.h"
#include "cli/program.h"
#include "support/json.h"

namespace narrowgauge::testing_cli::bench_inference_test {
namespace {

using testing_json::Json;

Words inference(const Words& more) {
  Words words{"bench", "--inference", "--iterations", "1"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(bench_inference, has_a_row_for_each_batch_and_precision) {
  const Result result =
      run(inference({"--model", "lenet", "--batch", "1,3", "--precision", "ieee,bf16", "--json"}));
  ASSERT_EQ(result.code, 0) << result.err;
  const Json rows = Json::parse(last_line(result.out)).at("rows");
  ASSERT_EQ(rows.size(), 4u);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Json& row = rows[i];
    EXPECT_EQ(row.at("batch"), i < 2 ? 1 : 3);
    EXPECT_EQ(row.at("precision"), i % 2 == 0 ? "ieee" : "bf16");
    EXPECT_EQ(row.at("program"), "narrowgauge");
    EXPECT_GT(row.at("answers"), 0);
    EXPECT_LE(row.at("p50_seconds"), row.at("p90_seconds"));
    EXPECT_LE(row.at("p90_seconds"), row.at("p99_seconds"));
    EXPECT_GT(row.at("load_seconds"), 0);
    EXPECT_LT(row.at("difference"), 0.1);
    EXPECT_FALSE(row.contains("ratio"));
  }
}

TEST(bench_inference, takes_files_at_the_batch_that_they_fix) {
  const testing_files::TemporaryFolder folder;
  const std::string file = folder / "small.onnx", picture = folder / "bars.svg";
  ASSERT_EQ(run({"export", "--model", "lenet", "--batch", "2", "--onnx", file}).code, 0);
  const Result result =
      run(inference({file, "--precision", "ieee", "--plot", picture}), {.columns = 80});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "small")) << result.out;
  EXPECT_TRUE(contains(result.out, "samples/s")) << result.out;
  EXPECT_TRUE(contains(testing_files::read_file(picture), "small, batch 2"));
  const Result other = run(inference({file, "--batch", "4"}));
  EXPECT_EQ(other.code, 2);
  EXPECT_TRUE(contains(other.err, "its batch is fixed at 2, --batch is 4")) << other.err;
}

TEST(bench_inference, refuses_what_is_of_training) {
  const auto refused = [](const Words& words, const char* part) {
    const Result result = run(words);
    EXPECT_EQ(result.code, 2) << result.err;
    EXPECT_TRUE(contains(result.err, part)) << result.err;
    EXPECT_EQ(line_count(result.err), 1) << result.err;
    EXPECT_EQ(result.out, "");
  };
  refused(inference({}), "--model or the file of a network is required");
  refused(inference({"--model", "mlp", "--roofline"}), "not with --inference");
  refused(inference({"--model", "mlp", "--against", "torch"}), "reads no ONNX");
  refused(inference({"--model", "mlp", "--precision", "auto"}), "expected ieee, f32");
  refused(inference({"--model", "mlp", "--batch", "0"}), "--batch: expected whole numbers");
  refused({"bench", "--model", "mlp", "--batch", "1,2"}, "measured at one size");
  refused({"bench", "--model", "mlp", "--against", "openvino"}, "measured against torch");
  refused({"bench", "net.onnx", "--model", "mlp"}, "are for --inference");
  refused({"bench", "--model", "mlp", "--peer-file", "openvino=a.onnx"}, "are for --inference");
}

TEST(bench_inference, refuses_files_of_peers_that_stand_beside_nothing) {
  const testing_files::TemporaryFolder folder;
  const std::string one = folder / "one.onnx", two = folder / "two.onnx";
  testing_files::write_file(one, "");
  testing_files::write_file(two, "");
  const auto refused = [](const Words& more, int code, const char* part) {
    Words words{"--model", "lenet", "--against", "openvino"};
    words.insert(words.end(), more.begin(), more.end());
    const Result result = run(inference(words));
    EXPECT_EQ(result.code, code) << result.err;
    EXPECT_TRUE(contains(result.err, part)) << result.err;
    EXPECT_EQ(line_count(result.err), 1) << result.err;
  };
  refused({"--peer-file", "net.onnx"}, 2, "expected PEER=FILE, got \"net.onnx\"");
  refused({"--peer-file", "onnxruntime=" + one}, 2, "\"onnxruntime\" is not one of --against");
  refused({"--peer-file", "openvino=" + one, "--peer-file", "openvino=" + two}, 2,
          "two files for openvino");
  refused({"--peer-file", "openvino=" + one, two}, 2, "stands beside one network, got 2");
  refused({"--peer-file", "openvino=" + (folder / "absent")}, 4, "absent: is not a file");
}

// A program that answers as inference_peer.py does: with the answers of narrowgauge itself, or with
// the inputs where WRONG is set; a second for whatever is asked.
class AgainstPeers : public testing::Test {
 protected:
  Result against(const Words& more,
                 const std::vector<std::pair<std::string, std::string>>& variables = {}) {
    return python_.run_with(inference({"--model", "lenet", "--batch", "2"}), more, variables);
  }

  FakePython python_{R"sh(#!/bin/sh
[ "$3" = f32 ] || { echo '{"error":"only f32 here"}'; exit; }
version='{"version":"9.8"}'
echo "${FIRST:-$version}"
while IFS="$(printf '\t')" read -r command model inputs outputs; do
  if [ "$command" = open ]; then
    if [ -n "$WRONG" ]; then cp "$inputs" "$outputs"; else
      "$NARROWGAUGE_PROGRAM" run "$model" --input "$inputs" --output "$outputs" --quiet >&2; fi
    echo '{"seconds":2,"bytes":1048576}'
  else
    echo '{"seconds":[1,1,4]}'
  fi
done
)sh"};
};

TEST_F(AgainstPeers, ratios_are_to_the_fastest_peer) {
  const Result result =
      against({"--precision", "ieee,bf16", "--against", "onnxruntime,openvino", "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  const Json done = Json::parse(last_line(result.out));
  EXPECT_EQ(done.at("peers"), Json::parse(R"(["onnxruntime 9.8", "openvino 9.8"])"));
  ASSERT_EQ(done.at("rows").size(), 6u);
  const Json &own = done.at("rows")[0], &peer = done.at("rows")[2];
  EXPECT_EQ(peer.at("program"), "onnxruntime");
  EXPECT_EQ(peer.at("samples_per_second"), 2);
  EXPECT_EQ(peer.at("p99_seconds"), 4);
  EXPECT_EQ(peer.at("load_bytes"), 1048576);
  EXPECT_LT(peer.at("difference"), 1e-3);
  EXPECT_EQ(own.at("peer"), "onnxruntime f32");
  EXPECT_NEAR(own.at("ratio").get<double>(), own.at("samples_per_second").get<double>() / 2, 1e-9);
  EXPECT_EQ(done.at("rows")[3].at("missing"), "only f32 here");
}

TEST_F(AgainstPeers, a_table_of_eighty_columns_says_what_is_missing) {
  const Result result = against({"--precision", "bf16", "--against", "openvino"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "[SKIP] openvino bf16: only f32 here\n")) << result.out;
  EXPECT_TRUE(contains(result.out, "openvino     f32")) << result.out;
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

TEST_F(AgainstPeers, a_file_of_its_own_may_answer_otherwise_but_not_in_other_sizes) {
  const testing_files::TemporaryFolder folder;
  const std::string other = folder / "other.onnx", sizes = folder / "sizes.onnx";
  ASSERT_EQ(run({"export", "--model", "mlp", "--image", "1x28x28", "--onnx", other}).code, 0);
  ASSERT_EQ(run({"export", "--model", "lenet", "--classes", "3", "--onnx", sizes}).code, 0);
  const Words words{"--precision", "ieee", "--against", "openvino", "--peer-file"};
  const auto with = [&](const std::string& file, const Words& more) {
    Words all = words;
    all.push_back("openvino=" + file);
    all.insert(all.end(), more.begin(), more.end());
    return against(all);
  };
  const Result result = with(other, {"--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  const Json rows = Json::parse(last_line(result.out)).at("rows");
  EXPECT_GT(rows[1].at("difference"), 1e-3);
  EXPECT_EQ(rows[0].at("peer"), "openvino f32");
  EXPECT_EQ(rows[2].at("precision"), "bf16");
  const Result table = with(other, {});
  EXPECT_TRUE(contains(table.out, "openvino answers from")) << table.out;
  const Result refused = with(sizes, {});
  EXPECT_EQ(refused.code, 7);
  EXPECT_TRUE(contains(refused.err, "openvino f32: its answers differ")) << refused.err;
}

TEST_F(AgainstPeers, other_answers_end_with_7_and_a_missing_library_with_2) {
  const Words ieee{"--precision", "ieee,f32", "--against", "openvino"};
  const Result wrong = against(ieee, {{"WRONG", "1"}});
  EXPECT_EQ(wrong.code, 7);
  EXPECT_TRUE(contains(wrong.err, "openvino f32: its answers differ")) << wrong.err;
  const Result missing =
      against(ieee, {{"FIRST", R"({"error":"no module openvino","missing":true})"}});
  EXPECT_EQ(missing.code, 2);
  EXPECT_TRUE(contains(missing.err, "--against openvino: no module openvino")) << missing.err;
}

}  // namespace
}  // namespace narrowgauge::testing_cli::bench_inference_test
