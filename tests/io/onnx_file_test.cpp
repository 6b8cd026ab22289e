// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>
#include <typeinfo>

#include "io/files.h"
#include "io/onnx/for_each.h"
#include "io/onnx/read.h"
#include "io/onnx/write.h"
#include "io/onnx_every_field.h"
#include "io/onnx_wire.h"

namespace narrowgauge::onnx::onnx_file_test {
namespace {

using namespace testing_support;

// Which fields messages have, and which of them any message fills.
struct Coverage {
  std::string message;
  std::set<std::string>*listed, *filled;

  template <class T>
  void operator()(int number, const T& member) {
    note(number, !(member == T{}));
  }
  template <class T>
  void operator()(int number, const Box<T>&) {
    note(number, true);
  }
  template <class T>
  void one_of(int number, const auto& variant) {
    note(number, std::holds_alternative<T>(variant));
  }
  void refused(int, const char*) {}
  void note(int number, bool is_filled) {
    const std::string name = message + std::to_string(number);
    listed->insert(name);
    if (is_filled) filled->insert(name);
  }
};

template <class... Messages>
void cover(const Model& model, std::set<std::string>& listed, std::set<std::string>& filled) {
  const auto note = [&](const auto& message) {
    Coverage coverage{typeid(message).name() + std::string(" "), &listed, &filled};
    visit_fields(message, coverage);
  };
  (for_each<Messages>(model, note), ...);
}

TEST(onnx_file, every_field_is_read_and_written_as_onnx_does) {
  const std::string bytes = every_field();
  const Model model = model_of(bytes);
  std::set<std::string> listed, filled;
  cover<Model, Graph, Node, Attribute, TensorData, SparseTensor, Entry, Dimension, TensorShape,
        DenseTensorType, SparseTensorType, SequenceType, OptionalType, MapType, OpaqueType, Type,
        DeviceConfiguration, SimpleSharding, ShardedDimension, DeviceGroup, Sharding, NodeDevices,
        ValueInfo, QuantizationAnnotation, OpsetImport, Function, TrainingInfo>(model, listed,
                                                                                filled);
  EXPECT_EQ(filled, listed);
  EXPECT_EQ(listed.size(), 131u);
  EXPECT_TRUE(serialized(model) == bytes);
}

TEST(onnx_file, a_model_that_was_written_is_read_as_equal) {
  const Model model = model_of(every_field());
  EXPECT_EQ(model_of(serialized(model)), model);
  Model other = model;
  other.graph.nodes[0].attributes[5].value = Box<Graph>();
  EXPECT_FALSE(other == model);
  EXPECT_TRUE(model_of(serialized(other)) == other);
}

// Tensors around the size from which on they are aligned, and around those at which the fields that
// say lengths grow by a byte.
TEST(onnx_file, large_tensors_are_aligned) {
  Model model = model_of(every_field());
  model.graph.initializers.clear();
  for (const std::int64_t bytes : {1000, 1024, 1025, 16300, 16330, 16384, 50000, 2097100, 3})
    model.graph.initializers.push_back(
        tensor_data_of(Tensor::full(DType::u8, {bytes}, 7), concat("w", bytes)));
  const testing_files::TemporaryFolder folder;
  write_model(folder / "aligned.onnx", model, {.aligned = true});
  const Model read = read_model(folder / "aligned.onnx");
  EXPECT_TRUE(read == model);
  for (const TensorData& tensor : read.graph.initializers) {
    const auto at = reinterpret_cast<std::uintptr_t>(tensor.raw_data->view().data());
    EXPECT_TRUE(tensor.raw_data->size() < 1024 || at % Tensor::alignment == 0) << tensor.name;
  }
  EXPECT_TRUE(serialized(read) == serialized(model));
}

TEST(onnx_file, texts_and_numbers_are_where_onnx_says) {
  const Model model = model_of(every_field());
  EXPECT_EQ(model.ir_version, 13);
  EXPECT_EQ(model.model_version, 7);
  EXPECT_EQ(model.producer_name + model.producer_version + model.domain + model.doc_string,
            "producerp_versionm_domainm_doc");
  const Node& node = model.graph.nodes.at(0);
  EXPECT_EQ(node.name + node.op_type + node.domain + node.overload + node.doc_string,
            "nodeOpn_domainn_overn_doc");
  EXPECT_EQ(node.inputs, (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(node.outputs, std::vector<std::string>{"c"});
  const Function& function = model.functions.at(0);
  EXPECT_EQ(function.name + function.domain + function.overload + function.doc_string,
            "funf_domainf_overf_doc");
  EXPECT_EQ(function.inputs.at(0) + function.outputs.at(0) + function.attributes.at(0),
            "fifoneeded");
  EXPECT_EQ(function.default_attributes.at(0).name, "default");
  EXPECT_EQ(model.graph.inputs.at(0).name, "a");
  EXPECT_EQ(model.graph.outputs.at(0).name, "c");
  EXPECT_EQ(model.graph.value_infos.size(), 6u);
  EXPECT_EQ(model.training_infos.at(0).initialization->name, "init");
  EXPECT_EQ(model.training_infos.at(0).algorithm->name, "algo");
  EXPECT_EQ(model.graph.sparse_initializers.at(0).values.name, "sv");
}

TEST(onnx_file, types_are_read_with_their_shapes) {
  const auto& values = model_of(every_field()).graph.value_infos;
  const auto& dense = std::get<DenseTensorType>(values.at(0).type->kind);
  EXPECT_EQ(dense.element, DataType::f32);
  EXPECT_EQ(values[0].type->denotation, "type_den");
  ASSERT_EQ(dense.shape->dims.size(), 3u);
  EXPECT_EQ(std::get<std::int64_t>(dense.shape->dims[0].size), 3);
  EXPECT_EQ(std::get<std::string>(dense.shape->dims[1].size), "N");
  EXPECT_EQ(dense.shape->dims[2].size.index(), 0u);
  const auto& sequence = std::get<SequenceType>(values.at(1).type->kind);
  EXPECT_FALSE(std::get<DenseTensorType>((*sequence.element)->kind).shape.has_value());
  const auto& optional = std::get<OptionalType>(values.at(3).type->kind);
  const auto& scalar = std::get<DenseTensorType>((*optional.element)->kind);
  EXPECT_EQ(scalar.element, DataType::boolean);
  EXPECT_TRUE(scalar.shape.has_value());
}

TEST(onnx_file, attributes_are_found_by_name_and_type) {
  const Model model = model_of(every_field());
  const Node& node = model.graph.nodes.at(0);
  EXPECT_EQ(*node.get<float>("float"), 0.5f);
  EXPECT_EQ(*node.get<std::int64_t>("int"), -3);
  EXPECT_EQ(*node.get<std::int64_t>("zero"), 0);
  EXPECT_EQ(*node.get<std::string>("string"), std::string("\xff\0s", 3));
  EXPECT_EQ(*node.get<Dims>("ints"), (Dims{-1, 2}));
  EXPECT_TRUE(node.get<Dims>("none")->empty());
  EXPECT_EQ((*node.get<Box<Graph>>("graph"))->nodes.at(0).op_type, "Inner");
  EXPECT_EQ(node.get<float>("missing"), nullptr);
  EXPECT_EQ(error_of([&] { node.get<Dims>("float"); }),
            "node 'node' (n_domain.Op), attribute 'float': expected list of ints, found float");
  EXPECT_EQ(node.find("ref")->ref_attr_name, "outer");
  EXPECT_EQ(node.find("ref")->value.index(), 0u);
}

TEST(onnx_file, ops_and_opsets_are_found_by_domain) {
  const Model model = model_of(every_field());
  EXPECT_EQ(model.opset_version(), 24);
  EXPECT_EQ(model.opset_version("ai.onnx"), 24);
  EXPECT_EQ(model.opset_version("ai.onnx.ml"), 5);
  EXPECT_EQ(model.opset_version("com.example"), std::nullopt);
  Node node;
  node.op_type = "Conv";
  EXPECT_EQ(node.full_name(), "Conv");
  node.domain = "ai.onnx";
  EXPECT_EQ(node.full_name(), "Conv");
  node.domain = "com.example";
  EXPECT_EQ(node.full_name(), "com.example.Conv");
  node.outputs = {"y"};
  EXPECT_EQ(description(node), "node (com.example.Conv) for 'y'");
}

TEST(onnx_file, fields_of_later_versions_are_skipped) {
  const std::string unknown =
      field(99, 7) + field(98, "later") + key(97, 5) + "1234" + key(96, 1) + "12345678";
  const Model model = model_of(unknown + model_with(unknown + field(2, "g")) + unknown);
  EXPECT_EQ(model.graph.name, "g");
  EXPECT_EQ(serialized(model), model_with(field(2, "g")));
}

TEST(onnx_file, an_attribute_without_its_zero_has_it) {
  const auto attribute = [](int type) {
    return model_with(field(1, field(4, "Op") + field(5, field(1, "a") + field(20, type))));
  };
  EXPECT_EQ(*model_of(attribute(2)).graph.nodes[0].get<std::int64_t>("a"), 0);
  EXPECT_EQ(*model_of(attribute(3)).graph.nodes[0].get<std::string>("a"), "");
  EXPECT_TRUE(model_of(attribute(6)).graph.nodes[0].get<std::vector<float>>("a")->empty());
}

TEST(onnx_file, an_attribute_of_the_first_version_has_no_type) {
  const std::string ints = field(1, "a") + field(8, 4) + field(8, std::string("\x05\x06"));
  const Model model = model_of(model_with(field(1, field(4, "Op") + field(5, ints))));
  EXPECT_EQ(model.graph.nodes[0].attributes[0].type, AttributeType::undefined);
  EXPECT_EQ(*model.graph.nodes[0].get<Dims>("a"), (Dims{4, 5, 6}));
}

TEST(onnx_file, the_last_of_several_numbers_and_texts_counts) {
  const Model model =
      model_of(field(1, 4) + field(2, "x") + field(1, 5) + field(2, "y") + model_with(""));
  EXPECT_EQ(model.ir_version, 5);
  EXPECT_EQ(model.producer_name, "y");
}

TEST(onnx_file, a_copy_of_a_model_is_its_own) {
  const Model model = model_of(every_field());
  Model copy = model;
  (*std::get<Box<Graph>>(copy.graph.nodes[0].attributes[5].value)).name = "changed";
  EXPECT_EQ((*model.graph.nodes[0].get<Box<Graph>>("graph"))->name, "inner");
}

}  // namespace
}  // namespace narrowgauge::onnx::onnx_file_test
