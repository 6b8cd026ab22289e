// SPDX-License-Identifier: Apache-2.0
// What exporters write out in primitives becomes one op with the same results; near misses stay.
#include "passes/forms/recognize_forms.h"

#include <gtest/gtest.h>

#include "ops/composition/interpret.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/shape/transpose.h"
#include "ops/table.h"
#include "support/count.h"

namespace narrowgauge::recognize_forms_test {
namespace {

Tensor numbers(const TensorType& type, int seed) {
  Tensor tensor(type.dtype, known_dims(type.shape));
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    tensor.set(i, static_cast<double>((i * 37 + seed * 11) % 23) / 8 - 1.3);
  return tensor;
}

// Expects that the op is found, and that it gives what the primitives gave.
void expect_form(const std::string& nodes, std::string_view op) {
  SCOPED_TRACE(nodes);
  const Graph graph = parse("graph \"g\" {\n" + nodes + "}\n", op_table());
  const Graph found = recognize_forms(graph);
  ASSERT_EQ(count(found, op), 1) << print(found);
  std::vector<Tensor> inputs;
  for (const Value value : graph.inputs())
    inputs.push_back(numbers(graph.type(value), static_cast<int>(inputs.size())));
  const Tensor before = interpret(graph, inputs).at(0), after = interpret(found, inputs).at(0);
  ASSERT_EQ(before.type(), after.type());
  for (std::int64_t i = 0; i < before.size(); ++i)
    ASSERT_NEAR(before.at(i), after.at(i), 2e-6 * (1 + std::abs(before.at(i)))) << i;
}

void expect_none(const std::string& nodes) {
  SCOPED_TRACE(nodes);
  const Graph graph = parse("graph \"g\" {\n" + nodes + "}\n", op_table());
  EXPECT_EQ(print(recognize_forms(graph)), print(graph));
}

const std::string x = "  %x = ng.Input {type=f32[2,3,8]} : f32[2,3,8]\n";
std::string scalar(const std::string& name, const std::string& value) {
  return "  %" + name + " = Constant {value=f32[]{" + value + "}} : f32[]\n";
}
std::string node(const std::string& text, const std::string& type = "f32[2,3,8]") {
  return "  " + text + " : " + type + "\n";
}

TEST(recognize_forms, swish) {
  expect_form(x + node("%s = Sigmoid(%x)") + node("%y = Mul(%s, %x)") + "  output \"y\" = %y\n",
              "Swish");
  expect_form(x + scalar("a", "1.702") + node("%m = Mul(%x, %a)") + node("%s = Sigmoid(%m)") +
                  node("%y = Mul(%x, %s)") + "  output \"y\" = %y\n",
              "Swish");
  expect_none(x + node("%n = Neg(%x)") + node("%s = Sigmoid(%n)") + node("%y = Mul(%n, %x)") +
              node("%z = Mul(%y, %s)") + "  output \"z\" = %z\n");
}

std::string erf_curve() {
  return x + scalar("root", "1.41421356") + scalar("one", "1") + scalar("half", "0.5") +
         node("%q = Div(%x, %root)") + node("%f = Erf(%q)") + node("%e = Add(%f, %one)");
}

TEST(recognize_forms, gelu_in_any_order) {
  expect_form(erf_curve() + node("%m = Mul(%x, %e)") + node("%y = Mul(%m, %half)") +
                  "  output \"y\" = %y\n",
              "Gelu");
  expect_form(erf_curve() + node("%m = Mul(%x, %half)") + node("%y = Mul(%m, %e)") +
                  "  output \"y\" = %y\n",
              "Gelu");
  expect_form(erf_curve() + node("%m = Mul(%half, %e)") + node("%y = Mul(%x, %m)") +
                  "  output \"y\" = %y\n",
              "Gelu");
  expect_none(erf_curve() + scalar("third", "0.33") + node("%m = Mul(%x, %e)") +
              node("%y = Mul(%m, %third)") + node("%z = Mul(%y, %half)") + "  output \"z\" = %z\n");
}

TEST(recognize_forms, names_of_nodes_to_come_stay_theirs) {
  const std::string perm = " {perm=[0,2,1,3]}";
  std::string text = "  %q = ng.Input {type=f32[2,3,5,4]} : f32[2,3,5,4]\n";
  text += node("%k = Transpose(%q) {perm=[0,1,3,2]}", "f32[2,3,4,5]") +
          node("%s = MatMul(%q, %k)", "f32[2,3,5,5]") + node("%p = Softmax(%s)", "f32[2,3,5,5]") +
          node("%end = MatMul(%p, %q)", "f32[2,3,5,4]");
  for (const char* name : {"attention", "reshapeto", "transpose", "transpose_2"})
    text += node(concat("%", name, " = Neg(%end)"), "f32[2,3,5,4]") +
            concat("  output \"", name, "\" = %", name, "\n");
  const Graph found = recognize_forms(parse("graph \"g\" {\n" + text + "}\n", op_table()));
  EXPECT_EQ(count(found, "ng.Attention"), 1) << print(found);
  EXPECT_TRUE(found.node(found.find_node("transpose_2")).is<Neg>());
  EXPECT_TRUE(found.node(found.find_node("end")).is<Transpose>());
}

TEST(recognize_forms, gelu_by_tanh) {
  expect_form(x + scalar("c", "0.79788456") + scalar("d", "0.044715") + scalar("one", "1") +
                  scalar("half", "0.5") + scalar("three", "3") + node("%p = Pow(%x, %three)") +
                  node("%q = Mul(%d, %p)") + node("%r = Add(%x, %q)") + node("%s = Mul(%r, %c)") +
                  node("%t = Tanh(%s)") + node("%e = Add(%one, %t)") + node("%h = Mul(%half, %x)") +
                  node("%y = Mul(%h, %e)") + "  output \"y\" = %y\n",
              "Gelu");
}

std::string normalization(const std::string& what, bool with_bias) {
  return x + "  %w = ng.Input {type=f32[8]} : f32[8]\n  %b = ng.Input {type=f32[8]} : f32[8]\n" +
         "  %axes = Constant {value=i64[1]{-1}} : i64[1]\n" + scalar("eps", "1e-5") +
         scalar("two", "2") + node("%mean = ReduceMean(%x, %axes)", "f32[2,3,1]") +
         node("%d = Sub(%x, %mean)") + node("%q = Pow(%" + what + ", %two)") +
         node("%v = ReduceMean(%q, %axes)", "f32[2,3,1]") +
         node("%e = Add(%v, %eps)", "f32[2,3,1]") + node("%s = Sqrt(%e)", "f32[2,3,1]") +
         node("%n = Div(%" + what + ", %s)") + node("%m = Mul(%n, %w)") +
         (with_bias ? node("%y = Add(%m, %b)") : "") +
         "  output \"y\" = " + (with_bias ? "%y\n" : "%m\n");
}

TEST(recognize_forms, normalizations_of_rows) {
  expect_form(normalization("d", true), "LayerNormalization");
  expect_form(normalization("d", false), "LayerNormalization");
  expect_form(normalization("x", false), "RMSNormalization");
}

// The nodes of the file that each op of this kind stands for.
std::string nodes_of(const Graph& graph, std::string_view op) {
  std::string names;
  for (const Node& node : graph.nodes()) {
    if (node.op->full_name() != op) continue;
    names += names.empty() ? "" : "; ";
    for (const FileNode& part : node.file_nodes) names += part.path + ' ';
  }
  return names;
}
std::string parts_of(const std::string& nodes, std::string_view op) {
  return nodes_of(recognize_forms(parse("graph \"g\" {\n" + nodes + "}\n", op_table())), op);
}

TEST(recognize_forms, the_op_goes_by_the_names_of_all_nodes_that_it_stands_for) {
  EXPECT_EQ(parts_of(x + node("%a = Neg(%x)") + node("%s = Sigmoid(%a)") +
                         node("%y = Mul(%s, %a)") + node("%z = Neg(%y)") + "  output \"z\" = %z\n",
                     "Swish"),
            "s y ");
  EXPECT_EQ(parts_of(erf_curve() + node("%m = Mul(%x, %e)") + node("%y = Mul(%m, %half)") +
                         "  output \"y\" = %y\n",
                     "Gelu"),
            "q f e m y ");
  EXPECT_EQ(parts_of(normalization("d", true), "LayerNormalization"), "mean d q v e s n m y ");
  EXPECT_EQ(parts_of(normalization("x", false), "RMSNormalization"), "q v e s n m ");
}

// What is also read by others stays, and is a part all the same.
TEST(recognize_forms, parts_that_stay_are_parts) {
  EXPECT_EQ(parts_of(x + node("%s = Sigmoid(%x)") + node("%y = Mul(%s, %x)") +
                         "  output \"y\" = %y\n  output \"s\" = %s\n",
                     "Swish"),
            "s y ");
}

TEST(recognize_forms, parts_are_called_as_in_the_file) {
  EXPECT_EQ(parts_of(x + node("%s_2 = Sigmoid(%x)", "f32[2,3,8] @file_nodes=\"s\"=\"l:body:s\"") +
                         node("%y = Mul(%s_2, %x)") + "  output \"y\" = %y\n",
                     "Swish"),
            "l:body:s y ");
}

std::string heads(const std::string& name) {
  return "  %" + name + " = ng.Input {type=f32[2,5,12]} : f32[2,5,12]\n" +
         node("%" + name + "r = ng.ReshapeTo(%" + name + ") {shape=[2,5,3,4]}", "f32[2,5,3,4]");
}

TEST(recognize_forms, a_deviation_of_another_value_is_none) {
  expect_none(x +
              "  %w = ng.Input {type=f32[8]} : f32[8]\n  %z = ng.Input {type=f32[8]} : f32[8]\n" +
              "  %axes = Constant {value=i64[1]{-1}} : i64[1]\n" + scalar("eps", "1e-5") +
              node("%q = Mul(%x, %x)") + node("%v = ReduceMean(%q, %axes)", "f32[2,3,1]") +
              node("%e = Add(%v, %eps)", "f32[2,3,1]") + node("%s = Sqrt(%e)", "f32[2,3,1]") +
              node("%n = Div(%z, %s)") + node("%m = Mul(%n, %w)") + "  output \"y\" = %m\n");
}

// x [2,6,4] in 3 groups of 2 channels.
std::string channels(const std::string& normalized, const std::string& parameter = "f32[6,1]") {
  return "  %x = ng.Input {type=f32[2,6,4]} : f32[2,6,4]\n  %w = ng.Input {type=" + parameter +
         "} : " + parameter + "\n  %b = ng.Input {type=" + parameter + "} : " + parameter +
         "\n  %in = Constant {value=i64[3]{0,3,-1}} : i64[3]\n" +
         "  %out = Constant {value=i64[3]{2,6,4}} : i64[3]\n" +
         node("%r = Reshape(%x, %in)", "f32[2,3,8]") + normalized +
         node("%o = Reshape(%n, %out)", "f32[2,6,4]") + node("%m = Mul(%o, %w)", "f32[2,6,4]") +
         node("%y = Add(%b, %m)", "f32[2,6,4]") + "  output \"y\" = %y\n";
}

std::string instances(const std::string& ones, const std::string& zeros = "0,0,0") {
  return "  %ones = Constant {value=f32[3]{" + ones +
         "}} : f32[3]\n  %zeros = Constant {value=f32[3]{" + zeros + "}} : f32[3]\n" +
         node("%n = InstanceNormalization(%r, %ones, %zeros) {epsilon=0.01}", "f32[2,3,8]");
}

// The same without parameters of the channels, and perhaps with parameters of the groups that a
// run gives.
std::string plain_channels(const std::string& normalized, const std::string& back = "2,6,4") {
  return "  %x = ng.Input {type=f32[2,6,4]} : f32[2,6,4]\n"
         "  %s = ng.Input {type=f32[3]} : f32[3]\n  %t = ng.Input {type=f32[3]} : f32[3]\n"
         "  %in = Constant {value=i64[3]{0,3,-1}} : i64[3]\n"
         "  %out = Constant {value=i64[3]{" +
         back + "}} : i64[3]\n" + node("%r = Reshape(%x, %in)", "f32[2,3,8]") + normalized +
         node("%y = Reshape(%n, %out)", "f32[" + back + "]") + "  output \"y\" = %y\n";
}

TEST(recognize_forms, normalization_of_groups) {
  expect_form(channels(instances("1,1,1")), "GroupNormalization");
  expect_form(channels(instances("1,1,1"), "f32[1,6,1]"), "GroupNormalization");
  expect_form(channels(instances("1,1,2")), "GroupNormalization");
  expect_form(channels(instances("3,1,2", "1,0,-2")), "GroupNormalization");
  expect_form(channels("  %g = ng.Input {type=f32[3]} : f32[3]\n" +
                       node("%n = InstanceNormalization(%r, %g, %g)", "f32[2,3,8]")),
              "GroupNormalization");
  const std::string mean = "f32[2,3,1]";
  expect_form(
      channels("  %axes = Constant {value=i64[1]{2}} : i64[1]\n" + scalar("eps", "1e-5") +
               node("%mean = ReduceMean(%r, %axes)", mean) +
               node("%d = Sub(%r, %mean)", "f32[2,3,8]") + node("%q = Mul(%d, %d)", "f32[2,3,8]") +
               node("%v = ReduceMean(%q, %axes)", mean) + node("%e = Add(%v, %eps)", mean) +
               node("%s = Sqrt(%e)", mean) + node("%n = Div(%d, %s)", "f32[2,3,8]")),
      "GroupNormalization");
}

TEST(recognize_forms, normalization_of_groups_between_reshapes_alone) {
  expect_form(plain_channels(instances("1,1,1")), "GroupNormalization");
  expect_form(plain_channels(instances("1,1,2", "1,0,-2")), "GroupNormalization");
  const std::string given = node("%n = InstanceNormalization(%r, %s, %t)", "f32[2,3,8]");
  expect_form(plain_channels(given), "GroupNormalization");
  expect_none(plain_channels(given, "2,4,6"));
  expect_none(plain_channels(given, "6,2,4"));
}

// A gate of [2,3,1] for x, expanded to `shape` before it multiplies.
std::string gated(const std::string& shape, const std::string& product) {
  return x +
         "  %g = ng.Input {type=f32[2,3,1]} : f32[2,3,1]\n  %v = ng.Input {type=f32[1,3,1]} : "
         "f32[1,3,1]\n" +
         "  %to = Constant {value=i64[3]{" + shape + "}} : i64[3]\n" +
         node("%e = Expand(%g, %to)", "f32[" + shape + "]") +
         node("%y = " + product, "f32[" + shape + "]") + "  output \"y\" = %y\n";
}

TEST(recognize_forms, an_operand_is_not_expanded_where_the_op_broadcasts_it) {
  for (const std::string product : {"Mul(%e, %x)", "Div(%x, %e)", "Sub(%e, %x)", "Add(%x, %e)"}) {
    const std::string text = gated("2,3,8", product);
    expect_form(text, product.substr(0, 3));
    const Graph found = recognize_forms(parse("graph \"g\" {\n" + text + "}\n", op_table()));
    EXPECT_EQ(count(found, "Expand"), 0) << print(found);
  }
  expect_none(gated("2,3,5", "Mul(%e, %v)"));
}

TEST(recognize_forms, attention_of_heads) {
  const std::string perm = " {perm=[0,2,1,3]}";
  for (const bool at_once : {false, true}) {
    std::string text = heads("q") + heads("k") + heads("v") + scalar("scale", "0.5") +
                       "  %mask = ng.Input {type=f32[2,1,1,5]} : f32[2,1,1,5]\n" +
                       node("%qt = Transpose(%qr)" + perm, "f32[2,3,5,4]") +
                       node("%vt = Transpose(%vr)" + perm, "f32[2,3,5,4]");
    if (at_once)
      text += node("%ke = Transpose(%kr) {perm=[0,2,3,1]}", "f32[2,3,4,5]");
    else
      text += node("%kt = Transpose(%kr)" + perm, "f32[2,3,5,4]") +
              node("%ke = Transpose(%kt) {perm=[0,1,3,2]}", "f32[2,3,4,5]");
    text +=
        node("%s = MatMul(%qt, %ke)", "f32[2,3,5,5]") +
        node("%t = Mul(%s, %scale)", "f32[2,3,5,5]") + node("%u = Add(%t, %mask)", "f32[2,3,5,5]") +
        node("%p = Softmax(%u)", "f32[2,3,5,5]") + node("%o = MatMul(%p, %vt)", "f32[2,3,5,4]") +
        node("%ot = Transpose(%o)" + perm, "f32[2,5,3,4]") +
        node("%y = ng.ReshapeTo(%ot) {shape=[2,5,12]}", "f32[2,5,12]") + "  output \"y\" = %y\n";
    expect_form(text, "ng.Attention");
    const Graph graph = recognize_forms(parse("graph \"g\" {\n" + text + "}\n", op_table()));
    EXPECT_EQ(count(graph, "Transpose"), 0) << print(graph);
    const std::string keys = at_once ? "ke " : "kt ke ";
    EXPECT_EQ(nodes_of(graph, "ng.Attention"), "qr kr vr qt vt " + keys + "s t u p o ot y ");
  }
}

// Sizes are computed from what the form does not read.
TEST(recognize_forms, what_computes_sizes_is_no_part) {
  std::string text = heads("q") + "  %w = ng.Input {type=f32[12,12]} : f32[12,12]\n" +
                     node("%k = MatMul(%q, %w)", "f32[2,5,12]") +
                     node("%kr = ng.ReshapeTo(%k) {shape=[2,5,3,4]}", "f32[2,5,3,4]") +
                     node("%n = Neg(%q)", "f32[2,5,12]") + node("%shape = Shape(%n)", "i64[3]") +
                     node("%ke = Transpose(%kr) {perm=[0,2,3,1]}", "f32[2,3,4,5]") +
                     node("%qt = Transpose(%qr) {perm=[0,2,1,3]}", "f32[2,3,5,4]") +
                     node("%s = MatMul(%qt, %ke)", "f32[2,3,5,5]") +
                     node("%p = Softmax(%s)", "f32[2,3,5,5]") +
                     node("%o = MatMul(%p, %qt)", "f32[2,3,5,4]") +
                     node("%ot = Transpose(%o) {perm=[0,2,1,3]}", "f32[2,5,3,4]") +
                     node("%y = Reshape(%ot, %shape)", "f32[2,5,12]") + "  output \"y\" = %y\n";
  EXPECT_EQ(parts_of(text, "ng.Attention"), "qr kr ke qt s p o ot y ");
}

// Attention of two heads, whose operands and result are cast.
std::string cast_attention(const std::string& to) {
  std::string text;
  for (const std::string name : {"q", "k", "v"})
    text +=
        "  %" + name + "n = ng.Input {type=bf16[2,5,4]} : bf16[2,5,4]\n" +
        node("%" + name + "w = Cast(%" + name + "n)", "f32[2,5,4]") +
        node("%" + name + "r = ng.ReshapeTo(%" + name + "w) {shape=[2,5,2,2]}", "f32[2,5,2,2]") +
        node("%" + name + " = Transpose(%" + name + "r) {perm=[0,2,1,3]}", "f32[2,2,5,2]");
  return text + node("%ke = Transpose(%k) {perm=[0,1,3,2]}", "f32[2,2,2,5]") +
         node("%s = MatMul(%q, %ke)", "f32[2,2,5,5]") + node("%p = Softmax(%s)", "f32[2,2,5,5]") +
         node("%o = MatMul(%p, %v)", "f32[2,2,5,2]") +
         node("%t = Transpose(%o) {perm=[0,2,1,3]}", "f32[2,5,2,2]") +
         node("%r = ng.ReshapeTo(%t) {shape=[2,5,4]}", "f32[2,5,4]") +
         node("%y = Cast(%r) {to=" + to + "}", to + "[2,5,4]") + "  output \"y\" = %y\n";
}

TEST(recognize_forms, normalization_of_widened_values_is_narrow) {
  const std::string text =
      "  %n = ng.Input {type=bf16[2,3,8]} : bf16[2,3,8]\n" + node("%x = Cast(%n)") +
      "  %s = Constant {value=f32[8]{1,2,3,4,5,6,7,8}} : f32[8]\n" +
      node("%w = LayerNormalization(%x, %s)", "f32[2,3,8], f32[2,3,1], f32[2,3,1]") +
      node("%y = Cast(%w) {to=bf16}", "bf16[2,3,8]") + "  output \"y\" = %y\n";
  expect_form(text, "LayerNormalization");
  const Graph graph = recognize_forms(parse("graph \"g\" {\n" + text + "}\n", op_table()));
  EXPECT_EQ(count(graph, "Cast"), 0) << print(graph);
  EXPECT_EQ(nodes_of(graph, "LayerNormalization"), "x w y ");
}

TEST(recognize_forms, attention_of_widened_values_is_narrow) {
  const auto dtype_of_attention = [](const Graph& graph) {
    for (const Node& node : graph.nodes())
      if (node.op->full_name() == "ng.Attention") return node.outputs[0].type.dtype;
    return DType::u8;
  };
  expect_form(cast_attention("bf16"), "ng.Attention");
  const auto found = [](const std::string& text) {
    return recognize_forms(parse("graph \"g\" {\n" + text + "}\n", op_table()));
  };
  const Graph narrow = found(cast_attention("bf16"));
  EXPECT_EQ(dtype_of_attention(narrow), DType::bf16) << print(narrow);
  EXPECT_EQ(count(narrow, "Cast"), 0) << print(narrow);
  EXPECT_EQ(nodes_of(narrow, "ng.Attention"), "qw qr q kw kr k vw vr v ke s p o t r y ");
  const Graph other = found(cast_attention("f16"));
  EXPECT_EQ(dtype_of_attention(other), DType::f32) << print(other);
  const Graph read_wide = found(cast_attention("bf16") + "  output \"r\" = %r\n");
  EXPECT_EQ(count(read_wide, "ng.Attention"), 2) << print(read_wide);
}

}  // namespace
}  // namespace narrowgauge::recognize_forms_test
