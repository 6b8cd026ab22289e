// SPDX-License-Identifier: Apache-2.0
// The fields of ONNX's messages (onnx.proto), each listed once, in the order of their numbers: for
// reader and writer alike. A visitor is called with the number and the member; `one_of<T>` is an
// alternative of a variant, `refused` a field that no file may have.
#pragma once

#include <concepts>
#include <type_traits>

#include "io/onnx/model.h"
#include "io/onnx/value.h"

namespace narrowgauge::onnx {

template <class M, class T>
concept Is = std::same_as<std::remove_const_t<M>, T>;

// What a file holds as a varint.
template <class T>
concept Number = std::integral<T> || std::is_enum_v<T>;

void visit_fields(Is<Entry> auto& m, auto& field) {
  field(1, m.key);
  field(2, m.value);
}

void visit_fields(Is<TensorData> auto& m, auto& field) {
  field(1, m.dims);
  field(2, m.data_type);
  field.refused(3, "segments of tensors are not supported");
  field(4, m.float_data);
  field(5, m.int32_data);
  field(6, m.string_data);
  field(7, m.int64_data);
  field(8, m.name);
  field(9, m.raw_data);
  field(10, m.double_data);
  field(11, m.uint64_data);
  field(12, m.doc_string);
  field(13, m.external_data);
  field(14, m.data_location);
  field(16, m.metadata);
}

void visit_fields(Is<SparseTensor> auto& m, auto& field) {
  field(1, m.values);
  field(2, m.indices);
  field(3, m.dims);
}

void visit_fields(Is<SequenceData> auto& m, auto& field) {
  field(1, m.name);
  field(2, m.element_type);
  field(3, m.tensors);
}

void visit_fields(Is<OptionalData> auto& m, auto& field) {
  field(1, m.name);
  field(2, m.element_type);
  field(3, m.tensor);
  field(5, m.sequence);
}

void visit_fields(Is<Dimension> auto& m, auto& field) {
  field.template one_of<std::int64_t>(1, m.size);
  field.template one_of<std::string>(2, m.size);
  field(3, m.denotation);
}

void visit_fields(Is<TensorShape> auto& m, auto& field) { field(1, m.dims); }

void visit_fields(Is<DenseTensorType> auto& m, auto& field) {
  field(1, m.element);
  field(2, m.shape);
}

void visit_fields(Is<SparseTensorType> auto& m, auto& field) {
  field(1, m.element);
  field(2, m.shape);
}

void visit_fields(Is<SequenceType> auto& m, auto& field) { field(1, m.element); }

void visit_fields(Is<OptionalType> auto& m, auto& field) { field(1, m.element); }

void visit_fields(Is<MapType> auto& m, auto& field) {
  field(1, m.key);
  field(2, m.value);
}

void visit_fields(Is<OpaqueType> auto& m, auto& field) {
  field(1, m.domain);
  field(2, m.name);
}

void visit_fields(Is<Type> auto& m, auto& field) {
  field.template one_of<DenseTensorType>(1, m.kind);
  field.template one_of<SequenceType>(4, m.kind);
  field.template one_of<MapType>(5, m.kind);
  field(6, m.denotation);
  field.template one_of<OpaqueType>(7, m.kind);
  field.template one_of<SparseTensorType>(8, m.kind);
  field.template one_of<OptionalType>(9, m.kind);
}

void visit_fields(Is<Attribute> auto& m, auto& field) {
  field(1, m.name);
  field.template one_of<float>(2, m.value);
  field.template one_of<std::int64_t>(3, m.value);
  field.template one_of<std::string>(4, m.value);
  field.template one_of<Box<TensorData>>(5, m.value);
  field.template one_of<Box<Graph>>(6, m.value);
  field.template one_of<std::vector<float>>(7, m.value);
  field.template one_of<std::vector<std::int64_t>>(8, m.value);
  field.template one_of<std::vector<std::string>>(9, m.value);
  field.template one_of<std::vector<TensorData>>(10, m.value);
  field.template one_of<std::vector<Graph>>(11, m.value);
  field(13, m.doc_string);
  field.template one_of<Box<Type>>(14, m.value);
  field.template one_of<std::vector<Type>>(15, m.value);
  field(20, m.type);
  field(21, m.ref_attr_name);
  field.template one_of<Box<SparseTensor>>(22, m.value);
  field.template one_of<std::vector<SparseTensor>>(23, m.value);
}

void visit_fields(Is<DeviceConfiguration> auto& m, auto& field) {
  field(1, m.name);
  field(2, m.device_count);
  field(3, m.devices);
}

void visit_fields(Is<SimpleSharding> auto& m, auto& field) {
  field.template one_of<std::int64_t>(1, m.dim);
  field.template one_of<std::string>(2, m.dim);
  field(3, m.shards);
}

void visit_fields(Is<ShardedDimension> auto& m, auto& field) {
  field(1, m.axis);
  field(2, m.shardings);
}

void visit_fields(Is<DeviceGroup> auto& m, auto& field) {
  field(1, m.index);
  field(2, m.devices);
}

void visit_fields(Is<Sharding> auto& m, auto& field) {
  field(1, m.tensor);
  field(2, m.devices);
  field(3, m.groups);
  field(4, m.dims);
}

void visit_fields(Is<NodeDevices> auto& m, auto& field) {
  field(1, m.configuration);
  field(2, m.shardings);
  field(3, m.pipeline_stage);
}

void visit_fields(Is<Node> auto& m, auto& field) {
  field(1, m.inputs);
  field(2, m.outputs);
  field(3, m.name);
  field(4, m.op_type);
  field(5, m.attributes);
  field(6, m.doc_string);
  field(7, m.domain);
  field(8, m.overload);
  field(9, m.metadata);
  field(10, m.devices);
}

void visit_fields(Is<ValueInfo> auto& m, auto& field) {
  field(1, m.name);
  field(2, m.type);
  field(3, m.doc_string);
  field(4, m.metadata);
}

void visit_fields(Is<QuantizationAnnotation> auto& m, auto& field) {
  field(1, m.tensor);
  field(2, m.parameters);
}

void visit_fields(Is<Graph> auto& m, auto& field) {
  field(1, m.nodes);
  field(2, m.name);
  field(5, m.initializers);
  field(10, m.doc_string);
  field(11, m.inputs);
  field(12, m.outputs);
  field(13, m.value_infos);
  field(14, m.quantization_annotations);
  field(15, m.sparse_initializers);
  field(16, m.metadata);
}

void visit_fields(Is<OpsetImport> auto& m, auto& field) {
  field(1, m.domain);
  field(2, m.version);
}

void visit_fields(Is<Function> auto& m, auto& field) {
  field(1, m.name);
  field(4, m.inputs);
  field(5, m.outputs);
  field(6, m.attributes);
  field(7, m.nodes);
  field(8, m.doc_string);
  field(9, m.opset_imports);
  field(10, m.domain);
  field(11, m.default_attributes);
  field(12, m.value_infos);
  field(13, m.overload);
  field(14, m.metadata);
}

void visit_fields(Is<TrainingInfo> auto& m, auto& field) {
  field(1, m.initialization);
  field(2, m.algorithm);
  field(3, m.initialization_bindings);
  field(4, m.update_bindings);
}

void visit_fields(Is<Model> auto& m, auto& field) {
  field(1, m.ir_version);
  field(2, m.producer_name);
  field(3, m.producer_version);
  field(4, m.domain);
  field(5, m.model_version);
  field(6, m.doc_string);
  field(7, m.graph);
  field(8, m.opset_imports);
  field(14, m.metadata);
  field(20, m.training_infos);
  field(25, m.functions);
  field(26, m.device_configurations);
}

}  // namespace narrowgauge::onnx
