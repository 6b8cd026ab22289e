// SPDX-License-Identifier: Apache-2.0
// What calibration saw of the values of a network: sizes and, channel by channel, means. Parts that
// were observed apart can be merged in any order, and give the same file.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "narrowgauge/tensor.h"
#include "quantize/exact_sum.h"
#include "quantize/histogram.h"

namespace narrowgauge {

// Sums of each channel along an axis of f32 tensors.
class ChannelSums {
 public:
  // A tensor that has no such axis, or no other one, is one channel. An axis below 0 counts from
  // the last one.
  void add(std::span<const float> values, const Dims& dims, int axis = 1);
  void merge(const ChannelSums& other);

  // Empty before the first tensor, and where tensors had different axes or numbers of channels.
  const std::vector<ExactSum>& sums() const { return sums_; }
  bool differ() const { return differ_; }  // whether they had
  int axis() const { return axis_; }       // that was given; 1 where sums() is empty
  std::vector<double> means() const;

  // The sums of a channel from what sums(), axis() and differ() gave. Throws UsageError where no
  // tensors can have given them.
  static ChannelSums of(std::vector<ExactSum> sums, int axis, bool differ);
  bool operator==(const ChannelSums&) const = default;

 private:
  bool fits(std::size_t channels, int axis);

  std::vector<ExactSum> sums_;
  int axis_ = 1;
  bool differ_ = false;
};

struct ValueStatistics {
  Histogram histogram;
  ChannelSums channels;
  bool operator==(const ValueStatistics&) const = default;
};

// The network that calibration saw, so that ranges are not taken for those of another.
struct CalibratedNetwork {
  bool equalized = false;  // whether channels were scaled between its layers; see equalize()
  // The root mean square of the weights of each contraction, by its name.
  std::map<std::string, double> weights{};
  bool operator==(const CalibratedNetwork&) const = default;
};
// Says how the first is not the second; "" where they are the same, but for what rounding may do.
std::string difference(const CalibratedNetwork& one, const CalibratedNetwork& other);

class Calibration {
 public:
  Calibration() = default;
  // A calibration of these values, in the order of the graph, that has seen nothing. Throws
  // UsageError for a name that stands twice.
  explicit Calibration(std::vector<std::string> names);
  // A calibration with what names(), of() and samples() gave.
  Calibration(std::vector<std::string> names, std::vector<ValueStatistics> values,
              std::int64_t samples);

  // Takes a tensor of f32, f16 or bf16 into account, whose channels are along an axis; throws
  // UsageError for others, and for a value that is not among names(). Computes in the threads of
  // the caller.
  void observe(std::string_view name, const Tensor& values, int axis = 1);
  void count_samples(std::int64_t samples) { samples_ += samples; }
  void set_network(CalibratedNetwork network) { network_ = std::move(network); }
  // Throws UsageError unless it is of the same values of the same network.
  void merge(const Calibration& other);

  const std::vector<std::string>& names() const { return names_; }
  std::int64_t samples() const { return samples_; }
  const CalibratedNetwork& network() const { return network_; }
  bool has(std::string_view name) const { return places_.contains(name); }
  const ValueStatistics& of(std::string_view name) const;  // throws UsageError

  // Text; equal calibrations give equal bytes.
  void save(const std::string& path) const;
  static Calibration load(const std::string& path);  // throws DataError
  bool operator==(const Calibration&) const = default;

 private:
  std::size_t place_of(std::string_view name) const;

  std::vector<std::string> names_;
  std::vector<ValueStatistics> values_;
  std::map<std::string, std::size_t, std::less<>> places_;  // of names in names_
  std::int64_t samples_ = 0;
  CalibratedNetwork network_;
};

}  // namespace narrowgauge
