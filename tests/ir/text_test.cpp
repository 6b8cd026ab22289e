// SPDX-License-Identifier: Apache-2.0
// Print and parse are inverse; bad text is refused with a place.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "narrowgauge/graph.h"
#include "ops/activation/relu.h"
#include "ops/pointwise/min_max.h"
#include "ops/table.h"

namespace narrowgauge::text_test {
namespace {

Graph small_graph() {
  Graph graph("small");
  const Value x = graph.input("x", TensorType::parse("f32[N,3]"));
  const Value w = graph.state(
      {"w", Role::parameter, TensorType::parse("f32[N,3]"), Initial::normal(0, 0.5), {}, {}});
  const Value y = graph.add(Relu{}, {x}, {.name = "y"});
  const Value z =
      graph.add(ReluGradient{}, {y, w}, {.origin = "y", .phase = Phase::backward, .instance = 2});
  graph.constant(Tensor::from<float>({2}, {0.1F, -3e30F}), "k");
  graph.set_next("w", z);
  graph.output("out", z);
  return graph;
}

TEST(text, a_printed_graph_parses_to_the_same_text) {
  const std::string text = print(small_graph());
  const Graph again = parse(text, op_table());
  EXPECT_EQ(print(again), text) << text;
  EXPECT_EQ(again.producer(again.outputs()[0].value).phase, Phase::backward) << text;
}

TEST(text, every_kind_of_beginning_survives) {
  Graph graph("beginnings");
  const TensorType type = TensorType::parse("f32[2]");
  const Initial initials[] = {Initial::constant(0.25), Initial::uniform(-1, 2),
                              Initial::normal(0.5, 0.02), Initial::truncated_normal(0.5, 0.02),
                              Initial::of(Tensor::from<float>({2}, {1, 2}))};
  for (const Initial& initial : initials)
    graph.state({concat("s", graph.states().size()), Role::parameter, type, initial, {}, {}});
  const Graph again = parse(print(graph), op_table());
  for (std::size_t i = 0; i < std::size(initials); ++i) {
    EXPECT_EQ(again.states()[i].initial.kind, initials[i].kind) << i;
    EXPECT_EQ(again.states()[i].initial.a, initials[i].a) << i;
    EXPECT_EQ(again.states()[i].initial.b, initials[i].b) << i;
  }
}

TEST(text, any_name_survives) {
  Graph graph("my \"graph\"");
  const TensorType type = TensorType::parse("f32[2]");
  Value last = graph.input("#x", type);
  last = graph.state({"a b", Role::parameter, type, Initial::constant(0), {}, {}});
  for (const char* name : {"s@1", "a;b", "line\nbreak", "q\"\\", "f(x,{y})", "a=b", "c#1", "c#d"})
    last = graph.add(Relu{}, {last}, {.name = name});
  last = graph.add(Relu{}, {last}, {.name = "once more", .instance = 2});
  last = graph.add(
      Relu{}, {last},
      {.phase = Phase::backward, .file_nodes = {{"a \"b\"", "a \"b\""}, {"c=d", "e,f:c=d"}}});
  graph.set_next("a b", last);
  graph.output("out \"1\"", last);
  const std::string text = print(graph);
  const Graph again = parse(text, op_table());
  EXPECT_EQ(print(again), text);
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    EXPECT_EQ(again.nodes()[i].name, graph.nodes()[i].name);
    EXPECT_EQ(again.nodes()[i].instance, graph.nodes()[i].instance);
  }
}

rusage usage() {
  rusage result{};
  getrusage(RUSAGE_SELF, &result);
  return result;
}

TEST(text, graphs_nested_without_end_are_refused) {
  std::string text = "graph \"g\" {";
  for (int i = 0; i < 100000; ++i) text += " %n = ng.Fused {body=graph \"g\" {";
  try {
    parse(text, op_table());
    FAIL() << "accepted";
  } catch (const ModelError& error) {
    EXPECT_NE(std::string(error.what()).find("nested deeper than 100"), std::string::npos);
  }
}

std::string message(std::string_view text) {
  try {
    parse(text, op_table());
    return "accepted";
  } catch (const ModelError& error) {
    return error.what();
  }
}

TEST(text, an_absent_value_is_for_inputs_only) {
  EXPECT_EQ(message("graph \"s\" { output \"y\" = _ }"),
            "line 1, column 26: expected '%', got '_ }'");
  EXPECT_EQ(message("graph \"s\" { state _"), "line 1, column 19: expected '%', got '_'");
}

TEST(text, numbers_beyond_their_range_and_storages_too_many_are_refused) {
  const auto with = [](std::string_view rest) {
    return message(concat("graph \"g\" {\n  %x = ng.Input {type=f32[2]} : f32[2]\n  ", rest));
  };
  EXPECT_EQ(with("%y#4294967296 = Relu(%x)\n}"),
            "line 3, column 16: expected a number from 0 to 2147483647, got 4294967296");
  EXPECT_NE(with("output \"y\" = %x@4294967296\n}").find("expected a number from 0"),
            std::string::npos);
  EXPECT_NE(with("%y = Relu(%x) @storage=plain,plain\n}")
                .find("node 'y': expected a storage for each of 1 outputs, got 2"),
            std::string::npos);
  EXPECT_NE(with("%y = Relu(%x) : f32[2], f32[2]\n}").find("node 'y': has 1 outputs, not 2"),
            std::string::npos);
}

TEST(text, graphs_that_break_a_rule_are_refused) {
  const auto with = [](std::string_view rest) {
    return message(concat("graph \"g\" {\n  %s = ng.State {type=f32[2]} : f32[2]\n", rest, "}"));
  };
  const std::string state = "  state %s role=parameter initial=constant(0) next=%s\n";
  EXPECT_EQ(with(state), "accepted");
  EXPECT_EQ(with(""), "line 3, column 2: graph g, node 's': belongs to no state, or to several");
  EXPECT_EQ(with(state + state),
            "line 5, column 2: graph g, node 's': belongs to no state, or to several");
  EXPECT_EQ(
      with("  %y = Relu(%s)\n" + state + "  state %y role=parameter initial=constant(0) next=%y\n"),
      "line 6, column 2: graph g, node 'y': is not a state");
  EXPECT_EQ(with("  %x = ng.Input {type=f32[3]} : f32[3]\n"
                 "  state %s role=parameter initial=constant(0) next=%x\n"),
            "line 5, column 2: graph g, node 's': state holds f32[2], next is f32[3]");
  EXPECT_EQ(
      with("  state %s role=derived initial=constant(0) next=%s\n"),
      "line 4, column 2: graph g, node 's': derived states, and only they, have a derivation");
  EXPECT_EQ(with("  state %s role=derived initial=constant(0) next=%s from=[\"s\"] "
                 "derivation=graph \"d\" { %t = ng.State {type=f32[2]} }\n"),
            "line 4, column 2: graph d, node 't': belongs to no state, or to several");
  EXPECT_EQ(with(state + "  %y = Relu(%s) @storage=210\n"),
            "line 5, column 2: graph g, node 'y': storage 210 does not fit f32[2]");
}

TEST(text, a_tensor_takes_no_more_memory_than_its_text_can_fill) {
  const rusage before = usage();
  EXPECT_EQ(message("graph \"g\" {\n  %k = Constant {value=f32[700000000]{0}} : f32[700000000]\n}"),
            "line 2, column 39: expected 700000000 values of f32[700000000], the text has room for "
            "11");
  EXPECT_LT(usage().ru_maxrss - before.ru_maxrss, 64 << 10);  // KiB
}

TEST(text, errors_name_line_and_column) {
  EXPECT_EQ(message("graph \"g\" {\n  %x = Nothing : f32[]\n}"),
            "line 2, column 15: unknown op 'Nothing'; `narrowgauge info --ops` lists them");
  EXPECT_EQ(message("graph \"g\" {\n  %x = Rleu : f32[]\n}"),
            "line 2, column 12: unknown op 'Rleu'; did you mean Relu? `narrowgauge info --ops` "
            "lists them");
  EXPECT_EQ(message("graph \"g\" {\n  %y = Relu(%x)\n}"), "line 2, column 15: unknown value %x");
  EXPECT_NE(message("graph \"g\" {").find("expected 'output'"), std::string::npos);
  EXPECT_NE(message("graph \"g\" {}x").find("expected the end"), std::string::npos);
}

TEST(text, numbers_that_their_format_cannot_hold_are_refused) {
  const auto outcome = [](const std::string& tensor) -> std::string {
    try {
      parse(concat("graph \"g\" {\n  %c = Constant {value=", tensor, "} : f32[]\n}"), op_table());
    } catch (const ModelError& error) {
      return error.what();
    }
    return "";
  };
  for (const auto& [tensor, number] :
       {std::pair{"f32[1]{1e39}", "1e+39"}, std::pair{"f32[1]{1e-60}", "1e-60"},
        std::pair{"f16[2]{1,70000}", "70000"}, std::pair{"i8[1]{300}", "300"},
        std::pair{"i32[1]{1.5}", "1.5"}, std::pair{"u16[1]{65536}", "65536"},
        std::pair{"i2[1]{2}", "2"}, std::pair{"f8e4m3fnuz[1]{500}", "500"}})
    EXPECT_NE(outcome(tensor).find(concat(number, " is beyond what ")), std::string::npos)
        << outcome(tensor);
  for (const char* tensor : {"f32[2]{inf,nan}", "f16[1]{65504}", "f32[1]{1e-40}", "i8[1]{-128}",
                             "i2[2]{-2,1}", "u32[1]{4294967295}", "u64[1]{18446744073709551615}"})
    EXPECT_EQ(outcome(tensor).find("is beyond"), std::string::npos) << outcome(tensor);
}

TEST(text, the_widest_integers_are_exact) {
  const auto text_of = [](const std::string& tensor) {
    return concat("graph \"g\" {\n  %c = Constant {value=", tensor,
                  "} : ", tensor.substr(0, tensor.find('{')), "\n  output \"y\" = %c\n}\n");
  };
  for (const char* tensor : {"u64[2]{18446744073709551615,9007199254740993}",
                             "i64[2]{-9223372036854775808,9007199254740993}"})
    EXPECT_EQ(print(parse(text_of(tensor), op_table())), text_of(tensor));
  for (const char* number : {"-1", "18446744073709551616", "1.5"}) try {
      parse(text_of(concat("u64[1]{", number, "}")), op_table());
      ADD_FAILURE() << number;
    } catch (const ModelError& error) {
      EXPECT_NE(std::string(error.what()).find("expected a whole number"), std::string::npos)
          << error.what();
    }
}

TEST(text, every_truncation_of_a_graph_is_refused_without_a_crash) {
  const std::string text = print(small_graph());
  for (std::size_t length = 0; length + 2 < text.size(); ++length)
    EXPECT_THROW(parse(std::string_view(text).substr(0, length), op_table()), ModelError) << length;
}

TEST(graph, refuses_wrong_inputs_by_name) {
  Graph graph;
  const Value x = graph.input("x", TensorType::parse("f32[2]"));
  EXPECT_THROW(graph.add(Relu{}, {x, x}), UsageError);
  EXPECT_THROW(graph.add(Relu{}, {}), UsageError);
  EXPECT_THROW(graph.input("x", TensorType::parse("f32[2]")), UsageError);
  const Value b = graph.input("b", TensorType::parse("bool[2]"));
  EXPECT_THROW(graph.add(Relu{}, {b}), UsageError);
  EXPECT_THROW(graph.add(Max{}, {x, x, absent, x}), UsageError);
}

}  // namespace
}  // namespace narrowgauge::text_test
