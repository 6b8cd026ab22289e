// SPDX-License-Identifier: Apache-2.0
// Files that are no models, by accident or on purpose.
#include <gtest/gtest.h>

#include "io/onnx/write.h"
#include "io/onnx_every_field.h"
#include "io/onnx_wire.h"

namespace narrowgauge::onnx::onnx_refusals_test {
namespace {

using namespace testing_support;

std::string refusal(const std::string& bytes) {
  return error_of([&] { model_of(bytes); });
}
std::string with_attribute(const std::string& attribute) {
  return model_with(field(1, field(3, "conv1") + field(4, "Conv") + field(5, attribute)));
}

TEST(onnx_refusals, a_model_that_breaks_off_anywhere_is_refused) {
  Model model = model_of(every_field());
  model.opset_imports.clear();
  model.metadata.clear();
  model.training_infos.clear();
  model.functions.clear();
  model.device_configurations.clear();
  const std::string bytes = serialized(model);  // which ends with the graph
  EXPECT_EQ(refusal(bytes), "");
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_TRUE(refusal(bytes.substr(0, size)).starts_with("m.onnx: ")) << size;
}

TEST(onnx_refusals, a_model_with_a_wrong_bit_is_refused_or_another_model) {
  const std::string right = every_field();
  int refused = 0;
  for (std::size_t i = 0; i < 8 * right.size(); ++i) {
    std::string bytes = right;
    bytes[i / 8] = static_cast<char>(bytes[i / 8] ^ 1 << i % 8);
    const std::string error = refusal(bytes);
    if (!error.empty()) {
      EXPECT_TRUE(error.starts_with("m.onnx: ")) << error;
      EXPECT_EQ(error.find('\n'), std::string::npos);
      ++refused;
    } else {
      const std::string written = serialized(model_of(bytes));
      EXPECT_TRUE(serialized(model_of(written)) == written) << i;
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(onnx_refusals, a_field_of_the_wrong_kind_is_refused_with_its_place) {
  EXPECT_EQ(refusal(field(1, "x") + model_with("")),
            "m.onnx: field 1: expected an integer, found another kind of value");
  EXPECT_EQ(refusal(field(7, 1)), "m.onnx: field 7: expected bytes, found another kind of value");
  EXPECT_EQ(refusal(with_attribute(field(1, "pads") + field(2, 1))),
            "m.onnx: node 'conv1' (Conv), attribute 'pads': field 2: expected a float, found "
            "another kind of value");
  EXPECT_EQ(refusal(with_attribute(key(8, 5) + "1234" + field(1, "pads"))),
            "m.onnx: node 'conv1' (Conv), attribute 'pads': field 8: expected bytes, found another "
            "kind of value");
  EXPECT_EQ(refusal(model_with(field(5, field(8, "w") + key(4, 0) + "\x01"))),
            "m.onnx: tensor 'w': field 4: expected numbers, found another kind of value");
  EXPECT_EQ(refusal(model_with(field(5, field(8, "w") + field(4, "12345")))),
            "m.onnx: tensor 'w': field 4: a number is cut off");
  EXPECT_EQ(refusal(model_with(field(5, field(8, "w") + field(9, 1)))),
            "m.onnx: tensor 'w': field 9: expected bytes, found another kind of value");
  EXPECT_EQ(refusal(model_with(field(11, field(1, "x") + field(2, 1)))),
            "m.onnx: value 'x': field 2: expected bytes, found another kind of value");
  EXPECT_EQ(refusal(model_with("") + field(25, field(1, "f") + field(4, 1))),
            "m.onnx: function 'f': field 4: expected bytes, found another kind of value");
}

TEST(onnx_refusals, places_are_named_through_graphs_in_graphs) {
  const std::string inner = field(1, field(2, "y") + field(4, "Add") + field(5, 1));
  EXPECT_EQ(refusal(with_attribute(field(1, "body") + field(6, inner) + field(20, 5))),
            "m.onnx: node 'conv1' (Conv), attribute 'body', node (Add) for 'y': field 5: expected "
            "bytes, found another kind of value");
}

TEST(onnx_refusals, what_is_no_protobuf_is_refused) {
  EXPECT_EQ(refusal(""), "m.onnx: a model without a graph");
  EXPECT_EQ(refusal("PK\x03\x04"), "m.onnx: there is no field where one should begin");
  EXPECT_EQ(refusal(std::string("\0\0", 2)), "m.onnx: there is no field where one should begin");
  EXPECT_EQ(refusal(key(7, 3)), "m.onnx: there is no field where one should begin");  // a group
  EXPECT_EQ(refusal(std::string(11, '\xff')), "m.onnx: a number has more than ten bytes");
}

TEST(onnx_refusals, lengths_beyond_the_file_are_refused) {
  for (const std::uint64_t length :
       {std::uint64_t{6}, std::uint64_t{1} << 31, (std::uint64_t{1} << 32) + 1,
        std::uint64_t{1} << 63, ~std::uint64_t{0}})
    for (const int number : {2, 7, 99})
      EXPECT_EQ(refusal(key(number, 2) + varint(length) + "short"),
                concat("m.onnx: field ", number, " is cut off"));
  EXPECT_EQ(refusal(varint((std::uint64_t{1} << 32) + (7 << 3 | 2)) + std::string(1, '\0')),
            "m.onnx: the number of a field is too large");
}

TEST(onnx_refusals, messages_in_messages_end_at_64) {
  // A graph in an attribute of a node is three messages deeper.
  const auto graphs = [](int levels) {
    std::string graph = field(2, "innermost");
    for (int i = 0; i < levels; ++i)
      graph = field(1, field(4, "If") + field(5, field(6, graph) + field(20, 5)));
    return model_with(graph);
  };
  EXPECT_EQ(refusal(graphs(20)), "");
  const std::string deep = refusal(graphs(21));
  EXPECT_TRUE(deep.ends_with("messages are nested deeper than 64")) << deep;
  EXPECT_EQ(deep.find('\n'), std::string::npos);
  std::string bomb = field(1, 1);
  for (int i = 0; i < 2000; ++i) bomb = field(4, field(1, bomb));
  EXPECT_TRUE(refusal(model_with(field(11, field(1, "x") + field(2, bomb))))
                  .ends_with("messages are nested deeper than 64"));
}

TEST(onnx_refusals, attributes_must_hold_what_their_type_says) {
  const std::string named = field(1, "pads");
  EXPECT_EQ(refusal(with_attribute(named + field(3, 1) + field(20, 7))),
            "m.onnx: node 'conv1' (Conv), attribute 'pads': expected list of ints, found int");
  EXPECT_EQ(refusal(with_attribute(named + field(3, 1) + field(4, "x") + field(20, 2))),
            "m.onnx: node 'conv1' (Conv), attribute 'pads': field 4: another field has the value "
            "already");
  EXPECT_EQ(refusal(with_attribute(named + field(20, 4))),
            "m.onnx: node 'conv1' (Conv), attribute 'pads': expected tensor, found nothing");
  EXPECT_EQ(refusal(with_attribute(named + field(21, "outer") + field(20, 4))), "");
}

TEST(onnx_refusals, a_message_that_can_stand_once_stands_once) {
  EXPECT_EQ(refusal(model_with("") + model_with("")),
            "m.onnx: field 7: expected once, found twice");
  EXPECT_EQ(refusal(model_with(field(11, field(2, "") + field(2, "") + field(1, "x")))),
            "m.onnx: value 'x': field 2: expected once, found twice");
  EXPECT_EQ(refusal(model_with(field(15, field(1, field(12, std::string(20, 'd')))))),
            "m.onnx: a sparse tensor lacks values or indices");
}

TEST(onnx_refusals, names_are_made_fit_for_a_terminal) {
  const std::string error =
      refusal(model_with(field(1, field(3, "a\n\x1b[2J" + std::string(500, 'x')) + field(5, 1))));
  EXPECT_TRUE(error.starts_with("m.onnx: node 'a\\n\\x1b[2J")) << error;
  EXPECT_LT(error.size(), 300u);
}

}  // namespace
}  // namespace narrowgauge::onnx::onnx_refusals_test
