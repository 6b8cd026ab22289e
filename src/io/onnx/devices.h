// SPDX-License-Identifier: Apache-2.0
// How a model is spread over devices (IR version 11): sets of devices, and what of them a node
// uses.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "io/onnx/tensor.h"

namespace narrowgauge::onnx {

struct DeviceConfiguration {
  std::string name;
  std::int32_t device_count = 0;
  std::vector<std::string> devices;
  Stated stated = 0;
  bool operator==(const DeviceConfiguration&) const = default;
};

struct SimpleSharding {
  std::variant<std::monostate, std::int64_t, std::string> dim;  // a number or a symbol
  std::int64_t shards = 0;
  Stated stated = 0;
  bool operator==(const SimpleSharding&) const = default;
};

struct ShardedDimension {
  std::int64_t axis = 0;
  std::vector<SimpleSharding> shardings;
  Stated stated = 0;
  bool operator==(const ShardedDimension&) const = default;
};

struct DeviceGroup {  // IntIntListEntryProto
  std::int64_t index = 0;
  std::vector<std::int64_t> devices;
  Stated stated = 0;
  bool operator==(const DeviceGroup&) const = default;
};

struct Sharding {
  std::string tensor;
  std::vector<std::int64_t> devices;
  std::vector<DeviceGroup> groups;
  std::vector<ShardedDimension> dims;
  Stated stated = 0;
  bool operator==(const Sharding&) const = default;
};

struct NodeDevices {
  std::string configuration;  // the name of a DeviceConfiguration
  std::vector<Sharding> shardings;
  std::int32_t pipeline_stage = 0;
  Stated stated = 0;
  bool operator==(const NodeDevices&) const = default;
};

}  // namespace narrowgauge::onnx
