// SPDX-License-Identifier: Apache-2.0
#include "groups/group_run.h"

namespace narrowgauge::byte_sum_test {
namespace {

// Every byte with every other one: 65,536 sums, and some more that fill no vector.
constexpr std::string_view network = R"(graph "g" {
  %a = ng.Input {type=u8[257,256]} : u8[257,256]
  %b = ng.Input {type=u8[257,256]} : u8[257,256]
  %as = Constant {value=f32[]{0.031}} : f32[]
  %az = Constant {value=u8[]{7}} : u8[]
  %bs = Constant {value=f32[]{0.0207}} : f32[]
  %bz = Constant {value=u8[]{130}} : u8[]
  %ys = Constant {value=f32[]{SCALE}} : f32[]
  %yz = Constant {value=u8[]{3}} : u8[]
  %da = DequantizeLinear(%a, %as, %az) : f32[257,256]
  %db = DequantizeLinear(%b, %bs, %bz) : f32[257,256]
  %s = Add(%da, %db) : f32[257,256]
  %r = Relu(%s) : f32[257,256]
  %q = QuantizeLinear(%r, %ys, %yz) : u8[257,256]
  output "y" = %q
}
)";

std::vector<Tensor> all_pairs(const Graph& graph) {
  std::vector<Tensor> inputs;
  for (const Value& value : graph.inputs()) {
    const TensorType& type = graph.type(value);
    Tensor& bytes = inputs.emplace_back(type.dtype, known_dims(type.shape));
    const std::int64_t least = type.dtype == DType::u8 ? 0 : -128;
    const bool first = inputs.size() == 1;
    for (std::int64_t i = 0; i < bytes.size(); ++i)
      bytes.set(i, static_cast<double>(least + (first ? i / 256 : i) % 256));
  }
  return inputs;
}

Tensor sums_of(const std::string& text, const CompileOptions& options, int threads = 2) {
  const Graph graph = parse(text, op_table());
  StateStore store;
  CompileOptions deterministic = options;
  deterministic.deterministic = true;
  const ThreadScope scope(threads);
  Executor executor(compile(graph, deterministic), store, 1);
  return executor.run(all_pairs(graph))[0];
}

std::string with_scale(const std::string& scale) {
  return replaced(std::string(network), "SCALE", scale);
}

// The text with i8 for u8 in the lines of one value.
std::string with_signed(std::string text, const std::vector<std::string>& values) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    for (const std::string& value : values)
      if (line.find("  %" + value + " = ") == 0)
        line = replaced(replaced(line, "u8", "i8"), "{130}", "{-2}");
    out += line + '\n';
  }
  return out;
}

void expect_bytes_of_the_nodes(const std::string& text) {
  const Tensor apart = sums_of(text, {.fuse = false});
  for (const int threads : {1, 3}) {
    const Tensor fused = sums_of(text, {}, threads);
    ASSERT_EQ(fused.type(), apart.type());
    for (std::int64_t i = 0; i < apart.size(); ++i) ASSERT_EQ(apart.at(i), fused.at(i)) << i;
  }
}

TEST(byte_sum, bytes_are_those_of_the_nodes_apart) {
  for (const char* const scale : {"0.03", "0.031", "0.0155", "0.0207", "0.5", "0.0009765625", "7"})
    expect_bytes_of_the_nodes(with_scale(scale));
}

TEST(byte_sum, takes_bytes_of_either_sign) {
  const std::string text = with_scale("0.05");
  expect_bytes_of_the_nodes(with_signed(text, {"a", "az"}));
  expect_bytes_of_the_nodes(with_signed(text, {"b", "bz"}));
  expect_bytes_of_the_nodes(with_signed(text, {"a", "az", "b", "bz", "yz", "q"}));
}

TEST(byte_sum, takes_sums_without_a_relu_and_unlikely_scales) {
  const std::string text = replaced(with_scale("0.05"), "QuantizeLinear(%r", "QuantizeLinear(%s");
  expect_bytes_of_the_nodes(text);
  expect_bytes_of_the_nodes(with_signed(text, {"yz", "q"}));
  expect_bytes_of_the_nodes(with_scale("1e-30"));
  expect_bytes_of_the_nodes(with_scale("1e30"));
}

TEST(byte_sum, is_a_kernel_of_its_own_with_avx512) {
  const Graph graph = parse(with_scale("0.05"), op_table());
  const Plan plan = compile(graph, {});
  const auto is_own = [](const PlanStep& step) { return step.implementation == "bytes, avx512"; };
  EXPECT_EQ(std::ranges::count_if(plan.steps, is_own), isa() >= Isa::avx512 ? 1 : 0);
}

}  // namespace
}  // namespace narrowgauge::byte_sum_test
