// SPDX-License-Identifier: Apache-2.0
// A host that links protobuf of its own beside the library: both read a model file of ONNX, and
// neither disturbs the other. Its arguments: a folder to write to.
#include <google/protobuf/empty.pb.h>
#include <google/protobuf/struct.pb.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "narrowgauge/narrowgauge.h"

namespace {

bool protobuf_works() {
  google::protobuf::Struct written;
  (*written.mutable_fields())["batch"].set_number_value(32);
  google::protobuf::Struct read;
  return read.ParseFromString(written.SerializeAsString()) &&
         read.fields().at("batch").number_value() == 32;
}

}  // namespace

int main(int, char** arguments) {
  namespace ng = narrowgauge;
  GOOGLE_PROTOBUF_VERIFY_VERSION;
  const std::string path = std::string(arguments[1]) + "/relu.onnx";
  ng::Model("relu", [](ng::Network& net) {
    return net.relu(net.input("x", {net.batch(), 3}));
  }).to_onnx(path);

  std::ifstream file(path, std::ios::binary);
  google::protobuf::Empty fields;  // keeps every field as one that it does not know
  if (!fields.ParseFromIstream(&file) || !protobuf_works()) return 1;
  ng::Model model = ng::Model::from_onnx(path);
  const ng::NamedTensor input[] = {{"x", ng::Tensor::full(ng::DType::f32, {1, 3}, -1)}};
  const auto outputs = model.run(input);
  if (outputs.at(0).tensor.at(0) != 0 || !protobuf_works()) return 1;
  std::printf("protobuf %d beside narrowgauge\n", GOOGLE_PROTOBUF_VERSION);
}
