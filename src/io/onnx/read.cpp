// SPDX-License-Identifier: Apache-2.0
#include "io/onnx/read.h"

#include "base/text/printable.h"
#include "io/onnx/field_reader.h"
#include "io/onnx/fields.h"

namespace narrowgauge::onnx {
namespace {

// What went wrong, and the messages around it, outermost first.
struct ReadError {
  std::string place, problem;
};

// The text with this number, which is the last there is, as far as the message can be read.
std::string text_at(std::string_view message, int number) {
  std::string_view text;
  try {
    for (Wire wire(message); wire.next();)
      if (wire.number() == number)
        text = wire.bytes();
      else
        wire.value();
  } catch (const DataError&) {  // it is damaged behind this
  }
  return std::string(text);
}

std::string named(std::string_view what, const std::string& name) {
  return concat(what, " '", printable(name, most_of_a_name), "'");
}

// The name of a message, by what can be read of it.
template <class M>
std::string place_of(std::string_view) {
  return {};
}
template <>
std::string place_of<Node>(std::string_view wire) {
  Node node;
  node.name = text_at(wire, 3);
  node.op_type = text_at(wire, 4);
  node.domain = text_at(wire, 7);
  node.outputs = {text_at(wire, 2)};
  return description(node);
}
template <>
std::string place_of<TensorData>(std::string_view wire) {
  TensorData tensor;
  tensor.name = text_at(wire, 8);
  return description(tensor);
}
template <>
std::string place_of<Attribute>(std::string_view wire) {
  return named("attribute", text_at(wire, 1));
}
template <>
std::string place_of<ValueInfo>(std::string_view wire) {
  return named("value", text_at(wire, 1));
}
template <>
std::string place_of<Function>(std::string_view wire) {
  return named("function", text_at(wire, 1));
}

// What a message must be when all its fields are read.
template <class M>
void finish(Source&, const FieldReader&, M&) {}

void finish(Source&, const FieldReader& fields, Model&) {
  require<DataError>(fields.seen(7), "a model without a graph");
}

void finish(Source&, const FieldReader& fields, SparseTensor&) {
  require<DataError>(fields.seen(1) && fields.seen(2), "a sparse tensor lacks values or indices");
}

void finish(Source& source, const FieldReader&, TensorData& tensor) {
  if (tensor.data_location == DataLocation::external) {
    require<DataError>(!tensor.raw_data, "expected external data or raw bytes, found both");
    if (source.files) tensor.raw_data = source.files->bytes_of(tensor);
  }
  check_payload(tensor);
}

// The value that a file leaves out: zero, or a list without elements.
AttributeValue default_value(AttributeType type) {
  switch (type) {
    case AttributeType::number:
      return 0.0f;
    case AttributeType::integer:
      return std::int64_t{0};
    case AttributeType::text:
      return std::string();
    case AttributeType::numbers:
      return std::vector<float>();
    case AttributeType::integers:
      return std::vector<std::int64_t>();
    case AttributeType::texts:
      return std::vector<std::string>();
    case AttributeType::tensors:
      return std::vector<TensorData>();
    case AttributeType::graphs:
      return std::vector<Graph>();
    case AttributeType::sparse_tensors:
      return std::vector<SparseTensor>();
    case AttributeType::types:
      return std::vector<Type>();
    default:
      throw DataError(concat("expected ", name_of(type), ", found nothing"));
  }
}

void finish(Source&, const FieldReader&, Attribute& attribute) {
  const auto type = static_cast<std::size_t>(attribute.type);
  if (type == 0 || type >= std::variant_size_v<AttributeValue::variant>) return;
  if (attribute.value.index() == 0 && !attribute.ref_attr_name.empty()) return;
  if (attribute.value.index() == 0) attribute.value = default_value(attribute.type);
  require<DataError>(attribute.value.index() == type, "expected ", name_of(attribute.type),
                     ", found ", name_of(attribute.value));
}

template <class M>
void read_fields(Source& source, std::string_view wire, M& message) {
  require<DataError>(source.depth < deepest_message, "messages are nested deeper than ",
                     deepest_message);
  ++source.depth;
  Stated* stated = nullptr;
  if constexpr (requires { message.stated; }) stated = &message.stated;
  FieldReader fields(source, wire, stated);
  while (fields.next()) {
    visit_fields(message, fields);
    if (!fields.known()) fields.skip();
  }
  finish(source, fields, message);
  --source.depth;
}

}  // namespace

template <class M>
void read_message(Source& source, std::string_view wire, M& message) {
  try {
    read_fields(source, wire, message);
  } catch (ReadError& error) {
    const std::string place = place_of<M>(wire);
    if (!place.empty())
      error.place = error.place.empty() ? place : concat(place, ", ", error.place);
    throw;
  } catch (const DataError& error) {
    throw ReadError{place_of<M>(wire), error.what()};
  }
}

namespace {

template <class M>
M read_whole(const SharedBytes& bytes, const std::string& name, ExternalFiles* files) {
  Source source{bytes, files, reading_factor * bytes.size() + reading_allowance};
  M message;
  try {
    read_message(source, bytes.view(), message);
  } catch (const ReadError& error) {
    const std::string place = error.place.empty() ? "" : error.place + ": ";
    throw DataError(concat(name, ": ", place, error.problem));
  }
  return message;
}

template <class M>
M read_file(const std::string& path, Mapping mapping = Mapping::read) {
  ExternalFiles files(std::filesystem::path(path).parent_path(), mapping);
  return read_whole<M>(map_file(path, mapping), path, &files);
}

}  // namespace

Model read_model(const std::string& path, Mapping mapping) {
  return read_file<Model>(path, mapping);
}
Model read_model(const SharedBytes& bytes, const std::string& name) {
  return read_whole<Model>(bytes, name, nullptr);
}
Model read_model(const SharedBytes& bytes, const std::string& name, ExternalFiles external) {
  return read_whole<Model>(bytes, name, &external);
}
TensorData read_tensor(const std::string& path) { return read_file<TensorData>(path); }
TensorData read_tensor(const SharedBytes& bytes, const std::string& name) {
  return read_whole<TensorData>(bytes, name, nullptr);
}

std::vector<TensorData> read_value(const std::string& path, const Type& type) {
  if (std::holds_alternative<DenseTensorType>(type.kind)) return {read_tensor(path)};
  if (std::holds_alternative<SequenceType>(type.kind)) return read_file<SequenceData>(path).tensors;
  require<DataError>(std::holds_alternative<OptionalType>(type.kind), path,
                     ": only tensors, sequences and optionals of them are supported");
  const OptionalData optional = read_file<OptionalData>(path);
  if (optional.tensor) return {*optional.tensor};
  return optional.sequence ? (*optional.sequence)->tensors : std::vector<TensorData>{};
}

}  // namespace narrowgauge::onnx
