// SPDX-License-Identifier: Apache-2.0
#include "cli/run/inputs.h"

#include <algorithm>
#include <random>

#include "cli/flags/shape_flag.h"
#include "cli/run/pictures.h"
#include "cli/run/preprocess.h"
#include "io/onnx/read.h"
#include "narrowgauge/npz.h"

namespace narrowgauge::cli {

void add_run_inputs(CLI::App& app, InputFlags& flags) {
  add_texts(app,
            {"--input,-i", "[NAME=]FILE",
             ".npz with arrays by name, or .npy, .pb or a picture for one input (its only one)"},
            flags.files);
  add_texts(app, {"--random", "[NAME=]DIMS", "random numbers, such as --random x=1x3x224x224"},
            flags.shapes);
  add_text(
      app,
      {"--mean", "A,B,C", "subtracted from each channel of what is read (0 to 255 in pictures)"},
      flags.mean);
  add_text(app, {"--scale", "A,B,C", "what then multiplies each channel, such as 0.0039"},
           flags.scale);
  add_word(app, {"--layout", "L", "of images in .npy, .npz and .pb: nchw (default) or nhwc"},
           flags.layout, {"nchw", "nhwc"});
  add_word(app,
           {"--resize", "HOW",
            "pictures to the input's size: stretch (default), crop to the middle, or off"},
           flags.resize, {"stretch", "crop", "off"});
  add_switch(app, {"--bgr", "", "pictures in blue, green, red, and not red, green, blue"},
             flags.bgr);
}

namespace {

std::string names_of(const std::vector<ModelPort>& ports) {
  std::string text;
  for (const ModelPort& port : ports) text += (text.empty() ? "" : ", ") + port.name;
  return text;
}

const ModelPort* find(const std::vector<ModelPort>& ports, const std::string& name) {
  const auto found = std::ranges::find(ports, name, &ModelPort::name);
  return found == ports.end() ? nullptr : &*found;
}

// The input that a nameless value is for.
std::string only_input(const std::string& flag, const std::vector<ModelPort>& ports) {
  require(ports.size() == 1, flag, ": say for which input, NAME=...; the model takes ",
          names_of(ports));
  return ports[0].name;
}

// The tensor in the dtype of the input, where numbers can become it.
Tensor as_input(Tensor tensor, const ModelPort* port) {
  if (!port || !port->type || port->type->dtype == tensor.dtype()) return tensor;
  const DType wanted = port->type->dtype;
  const bool widens = is_floating(wanted) && !is_storage_only(wanted);
  require(widens, "--input: ", port->name, " is ", *port->type, ", the file has ", tensor.type());
  return tensor.cast(wanted);
}

// The axis of channels goes where the model's input wants it, if that can be told.
Tensor preprocessed(const Preprocess& preprocess, const Tensor& tensor, const ModelPort* port) {
  const Dims& dims = tensor.dims();
  const bool last = preprocess.channels_last();
  if (dims.size() != 3 && dims.size() != 4)
    return preprocess.apply(tensor, {.from_last = last, .to_last = false});
  const std::int64_t channels = last ? dims.back() : dims[dims.size() - 3];
  return preprocess.apply(
      tensor, {.from_last = last, .to_last = last && wants_channels_last(port, channels)});
}

}  // namespace

Tensor random_tensor(const std::string& name, DType dtype, const Dims& dims) {
  std::mt19937_64 generator(std::hash<std::string>{}(name));
  std::uniform_real_distribution<double> uniform(0, 1);
  Tensor tensor(dtype, dims);
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const double number = uniform(generator);
    tensor.set(i, is_floating(dtype) ? number : number < 0.5 ? 0 : 1);
  }
  return tensor;
}

std::vector<NamedTensor> read_tensors(const std::string& path) {
  if (path.ends_with(".npz")) return read_npz(path);
  if (path.ends_with(".npy")) return {{"", read_npy(path)}};
  require(path.ends_with(".pb"), path, ": expected a file .npz, .npy or .pb, or a picture");
  const onnx::TensorData tensor = onnx::read_tensor(path);
  return {{"", onnx::tensor_of(tensor)}};
}

namespace {

bool has_tensors(const std::string& path) {
  return path.ends_with(".npz") || path.ends_with(".npy") || path.ends_with(".pb");
}

// Pictures for one input become a batch, in their order.
void add_picture(std::vector<NamedTensor>& inputs, const std::string& name, Tensor picture) {
  const auto before = std::ranges::find(inputs, name, &NamedTensor::name);
  if (before == inputs.end())
    inputs.push_back({name, std::move(picture)});
  else
    before->tensor = joined(before->tensor, picture, name);
}

}  // namespace

std::vector<NamedTensor> read_inputs(const InputFlags& flags, const std::vector<ModelPort>& ports) {
  std::vector<NamedTensor> inputs;
  const Preprocess preprocess(flags);
  for (const std::string& text : flags.files) {
    const auto [name, path] = parse_assignment(text);
    if (!has_tensors(path) && is_picture(path)) {
      const std::string input = name.empty() ? only_input("--input", ports) : name;
      const ModelPort* const port = find(ports, input);
      add_picture(inputs, input, as_input(read_picture(path, port, flags, preprocess), port));
      continue;
    }
    for (NamedTensor& read : read_tensors(path)) {
      const bool named_in_file = !read.name.empty() && name.empty();
      NamedTensor input{named_in_file ? read.name : name, std::move(read.tensor)};
      if (input.name.empty()) input.name = only_input("--input", ports);
      const ModelPort* const port = find(ports, input.name);
      input.tensor = as_input(preprocessed(preprocess, input.tensor, port), port);
      inputs.push_back(std::move(input));
    }
  }
  for (const std::string& text : flags.shapes) {
    auto [name, sizes] = parse_assignment(text);
    if (name.empty()) name = only_input("--random", ports);
    const ModelPort* const port = find(ports, name);
    const DType dtype = port && port->type ? port->type->dtype : DType::f32;
    inputs.push_back({name, random_tensor(name, dtype, parse_dims("--random", sizes))});
  }
  return inputs;
}

}  // namespace narrowgauge::cli
