// SPDX-License-Identifier: Apache-2.0
#include "io/onnx/write.h"

#include <filesystem>
#include <limits>
#include <map>
#include <protozero/pbf_writer.hpp>

#include "base/enumerate.h"
#include "base/files/atomic_file.h"
#include "io/onnx/fields.h"
#include "io/onnx/for_each.h"
#include "io/onnx/read.h"

namespace narrowgauge::onnx {
namespace {

using protozero::pbf_writer;

constexpr protozero::pbf_tag_type name_of_tensor = 8;

// Bytes to put before the fields of a tensor, at least 2, so that its raw bytes are aligned.
using Padding = std::map<const TensorData*, std::size_t>;

// A name that the tensor's own replaces, as the last of a field counts: no reader sees it.
void pad(pbf_writer& tensor, std::size_t bytes) {
  constexpr std::size_t head = 2;  // number and length of the field
  tensor.add_bytes(name_of_tensor, std::string(bytes - head, ' '));
}

// Writes the members of one message as the fields that fields.h says they are.
class FieldWriter {
 public:
  FieldWriter(std::string& buffer, pbf_writer& writer, Stated stated, const Padding& padding)
      : buffer_(buffer), writer_(writer), stated_(stated), padding_(padding) {}

  template <class T>
  void operator()(int number, const T& member) {
    const bool stated = (stated_ >> number & 1) != 0;
    if constexpr (Number<T> || std::same_as<T, std::string>)
      if (member == T{} && !stated) return;
    write(static_cast<protozero::pbf_tag_type>(number), member);
  }
  template <class T, class... Ts>
  void one_of(int number, const std::variant<Ts...>& variant) {
    const T* const held = std::get_if<T>(&variant);
    if (held) write(static_cast<protozero::pbf_tag_type>(number), *held);
  }
  void refused(int, const char*) {}

 private:
  using Tag = protozero::pbf_tag_type;

  void write(Tag tag, const std::string& text) { writer_.add_bytes(tag, text); }
  void write(Tag tag, float number) { writer_.add_float(tag, number); }
  void write(Tag tag, const Number auto& number) {
    writer_.add_int64(tag, static_cast<std::int64_t>(number));
  }
  void write(Tag tag, const SharedBytes& bytes) {
    writer_.add_bytes(tag, bytes.view().data(), bytes.size());
  }
  template <class T>
  void write(Tag tag, const Packed<T>& list) {
    if (!list.wire.empty()) write(tag, list.wire);
  }
  template <class T>
  void write(Tag tag, const std::optional<T>& value) {
    if (value) write(tag, *value);
  }
  template <class T>
  void write(Tag tag, const Box<T>& value) {
    write(tag, *value);
  }
  template <class T>
  void write(Tag tag, const std::vector<T>& values) {
    for (const T& value : values) write(tag, value);
  }
  template <class M>
  void write(Tag tag, const M& message);

  std::string& buffer_;
  pbf_writer& writer_;
  Stated stated_;
  const Padding& padding_;
};

template <class M>
void write_message(std::string& buffer, pbf_writer& writer, const M& message,
                   const Padding& padding) {
  Stated stated = 0;
  if constexpr (requires { message.stated; }) stated = message.stated;
  FieldWriter fields(buffer, writer, stated, padding);
  if constexpr (Is<M, TensorData>)
    if (const auto found = padding.find(&message); found != padding.end())
      pad(writer, found->second);
  if constexpr (Is<M, TensorData>)
    if (message.data_location == DataLocation::external && message.raw_data) {
      M outside = message;
      outside.raw_data.reset();
      return visit_fields(outside, fields);
    }
  visit_fields(message, fields);
}

template <class M>
void FieldWriter::write(Tag tag, const M& message) {
  const std::size_t before = buffer_.size();
  {
    pbf_writer inner(writer_, tag);
    write_message(buffer_, inner, message, padding_);
  }
  if (buffer_.size() == before) writer_.add_message(tag, "", 0);  // protozero drops empty ones
}

void require_size(std::uint64_t bytes) {
  require<DataError>(bytes <= std::numeric_limits<std::int32_t>::max(), "onnx: expected a file of ",
                     "less than 2 GiB, it would have ", bytes,
                     " bytes: large tensors belong beside the model");
}

template <class M>
std::string serialized_message(const M& message, const Padding& padding = {}) {
  std::uint64_t payloads = 0;
  for_each<TensorData>(message, [&](const TensorData& tensor) {
    const bool inside = tensor.data_location == DataLocation::inside;
    if (tensor.raw_data && inside) payloads += tensor.raw_data->size();
  });
  require_size(payloads);
  std::string buffer;
  buffer.reserve(payloads + payloads / 64);
  pbf_writer writer(buffer);
  write_message(buffer, writer, message, padding);
  require_size(buffer.size());
  return buffer;
}

// The tensors whose raw bytes are aligned, in the order in which they are written.
std::vector<const TensorData*> large_tensors(const Model& model) {
  constexpr std::size_t least = 1024;  // bytes; smaller ones are copied as fast
  std::vector<const TensorData*> large;
  for_each<TensorData>(model, [&](const TensorData& tensor) {
    const bool inside = tensor.data_location == DataLocation::inside && tensor.raw_data;
    if (inside && tensor.raw_data->size() >= least && !tensor.name.empty())
      large.push_back(&tensor);
  });
  return large;
}

// How far the raw bytes of a tensor are behind a multiple of the alignment, in a file that was
// written so far.
std::vector<std::size_t> misalignments(const std::string& file) {
  std::vector<std::size_t> found;
  const Model read = read_model(SharedBytes({}, file), "model");
  for (const TensorData* tensor : large_tensors(read))
    found.push_back(static_cast<std::size_t>(tensor->raw_data->view().data() - file.data()) %
                    Tensor::alignment);
  return found;
}

// The file with large tensors at multiples of the alignment. Padding may lengthen the fields that
// say lengths, which a second round takes in.
std::string aligned(const Model& model) {
  const std::vector<const TensorData*> large = large_tensors(model);
  Padding padding;
  std::string file = serialized_message(model);
  if (large.empty()) return file;
  for (int round = 0; round < 3; ++round) {
    std::size_t moved = 0;  // by the padding that grew in this round
    bool changed = false;
    const std::vector<std::size_t> misaligned = misalignments(file);
    for (const auto& [i, behind] : enumerate(misaligned)) {
      const std::size_t missing =
          (Tensor::alignment - (behind + moved) % Tensor::alignment) % Tensor::alignment;
      if (missing == 0) continue;
      std::size_t& bytes = padding[large[i]];
      const std::size_t before = bytes;
      bytes = (bytes + missing) % Tensor::alignment;
      if (bytes < 2) bytes += Tensor::alignment;  // as short a field there is not
      moved += bytes + Tensor::alignment - before;
      changed = true;
    }
    if (!changed) break;
    file = serialized_message(model, padding);
  }
  return file;
}

// Tensors one after another, each at an aligned offset.
class DataFile {
 public:
  explicit DataFile(const std::string& path)
      : file_(path), location_(std::filesystem::path(path).filename().string()) {}

  void add(TensorData& tensor) {
    const std::string_view bytes = tensor.raw_data->view();
    const std::int64_t offset =
        (end_ + external_alignment - 1) / external_alignment * external_alignment;
    file_.write(std::string(static_cast<std::size_t>(offset - end_), '\0'));
    file_.write(bytes);
    end_ = offset + static_cast<std::int64_t>(bytes.size());
    tensor.data_location = DataLocation::external;
    tensor.external_data.clear();
    const auto say = [&](const char* key, std::string value) {
      Entry& entry = tensor.external_data.emplace_back();
      entry.key = key;
      entry.value = std::move(value);
    };
    say("location", location_);
    say("offset", std::to_string(offset));
    say("length", std::to_string(bytes.size()));
  }
  void commit() { file_.commit(); }

 private:
  AtomicFile file_;
  std::string location_;
  std::int64_t end_ = 0;
};

void bring_inside(TensorData& tensor) {
  if (tensor.data_location != DataLocation::external || !tensor.raw_data) return;
  tensor.data_location = DataLocation::inside;
  tensor.external_data.clear();
}

void take_outside(Model& model, std::int64_t least, const std::string& path) {
  std::optional<DataFile> file;
  for_each<Graph>(model, [&](Graph& graph) {
    for (TensorData& tensor : graph.initializers) {
      if (raw_bytes(tensor).value_or(-1) < least) continue;
      tensor = with_raw_bytes(std::move(tensor));
      if (tensor.data_location == DataLocation::external || !tensor.raw_data) continue;
      if (!file) file.emplace(path);
      file->add(tensor);
    }
  });
  if (file) file->commit();
}

}  // namespace

std::string serialized(const Model& model) { return serialized_message(model); }
std::string serialized(const TensorData& tensor) { return serialized_message(tensor); }

std::string serialized_alone(const Model& model) {
  Model placed = model;  // payloads are shared
  for_each<TensorData>(placed, bring_inside);
  return aligned(placed);
}

void write_model(const std::string& path, const Model& model, const WriteOptions& options) {
  Model placed = model;  // payloads are shared
  for_each<TensorData>(placed, bring_inside);
  if (options.external_from) take_outside(placed, *options.external_from, path + ".data");
  write_file_atomically(path, options.aligned ? aligned(placed) : serialized(placed));
}

}  // namespace narrowgauge::onnx
