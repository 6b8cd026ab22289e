// SPDX-License-Identifier: Apache-2.0
#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/threads/parallel.h"
#include "kernels/cpu/contraction/contraction.h"
#include "kernels/cpu/contraction/contraction_parts.h"
#include "kernels/cpu/onednn/quantized.h"
#include "kernels/cpu/onednn/sharded_primitive.h"

namespace narrowgauge::cpu {
namespace {

using onednn::Format;
using onednn::PrimitiveDescription;

constexpr std::int64_t most_partial_bytes = std::int64_t{32} << 20;  // of weight gradients
constexpr std::int64_t enough_images = 8;     // to be cut along no other axis
constexpr std::int64_t channel_granule = 32;  // a multiple of what oneDNN computes at once

void require_rank(const char* what, const View& view, std::size_t rank) {
  require(view.dims.size() == rank, "convolution: expected ", what, " of rank ", rank, ", got ",
          view.dims);
}

void check_shapes(const ConvolutionViews& views, const ConvolutionWindow& window) {
  const Dims &x = views.x.dims, &w = views.w.dims, &y = views.y.dims;
  require(x.size() >= 3 && x.size() <= 5, "convolution: expected 1 to 3 spatial axes, got x ", x);
  require_rank("w", views.w, x.size());
  require_rank("y", views.y, x.size());
  const std::size_t spatial = x.size() - 2;
  require(window.strides.size() == spatial && window.dilations.size() == spatial &&
              window.pads_begin.size() == spatial && window.pads_end.size() == spatial,
          "convolution: expected strides, dilations and pads for ", spatial, " axes");
  const std::int64_t groups = window.groups;
  require(
      groups >= 1 && w[1] * groups == x[1] && w[0] % groups == 0 && w[0] == y[1] && x[0] == y[0],
      "convolution: x ", x, ", w ", w, " and y ", y, " do not fit with ", groups, " groups");
  for (std::size_t i = 0; i < spatial; ++i) {
    require(window.strides[i] >= 1 && window.dilations[i] >= 1 && window.pads_begin[i] >= 0 &&
                window.pads_end[i] >= 0,
            "convolution: strides and dilations must be at least 1 and pads at least 0");
    const std::int64_t taps = (w[i + 2] - 1) * window.dilations[i] + 1;
    const std::int64_t room = x[i + 2] + window.pads_begin[i] + window.pads_end[i] - taps;
    require(w[i + 2] >= 1 && room >= 0 && room / window.strides[i] + 1 == y[i + 2],
            "convolution: w ", w, " over x ", x, " does not give y ", y);
  }
  if (views.bias)
    require(views.bias->dims == Dims{w[0]}, "convolution: expected a bias of ", w[0],
            " values, got ", views.bias->dims);
}

// Views [M, C / g, ...] as [g, M / g, C / g, ...].
View with_groups(const View& w, std::int64_t groups) {
  if (groups == 1) return w;
  View view = w;
  view.dims[0] /= groups;
  view.dims.insert(view.dims.begin(), groups);
  view.strides.insert(view.strides.begin(), view.dims[1] * w.strides[0]);
  return view;
}

Port activation(int number, int index, const View& view, DType dtype) {
  return {number, index, false, 0, view, channels_last_view(dtype, view.dims), false};
}

// The caller's weights if oneDNN's reorder reads their dtype, else a widened copy.
Port weights(int number, int index, const View& view, DType dtype) {
  const View wanted = view.dtype == dtype ? view : dense_view(dtype, view.dims);
  return {number, index, false, whole, view, wanted, true};
}

class Convolution {
 public:
  Convolution(ConvolutionPass pass, const ConvolutionViews& views, const ConvolutionWindow& window,
              const ContractionOptions& options)
      : pass_(pass), views_(views), window_(window), options_(options) {
    for (std::int64_t& dilation : window_.dilations) --dilation;  // oneDNN counts from 0
    views_.w = with_groups(views.w, window.groups);
  }

  Prepared prepare_sums() { return prepared({DType::u8, ""}); }

  Prepared prepare() {
    if (may_be_native({&input(0), &input(1)}, output(), options_) && native_is_amx())
      return prepared({DType::bf16, ""});
    return prepared(*computing_for("convolution", {&views_.x, &views_.w, &views_.y}));
  }

 private:
  const View& input(int index) const {
    const bool first_is_x = pass_ != ConvolutionPass::data_gradient;
    if (index == 0) return first_is_x ? views_.x : views_.w;
    return pass_ == ConvolutionPass::forward ? views_.w : views_.y;
  }
  const View& output() const {
    return pass_ == ConvolutionPass::forward         ? views_.y
           : pass_ == ConvolutionPass::data_gradient ? views_.x
                                                     : views_.w;
  }

  // The axis along which the contraction is cut. If there are too few images for all threads, each
  // image is cut into rows, or into channels of the result if the weights are larger than the
  // images: every shard of rows would read the weights again.
  enum class Axis { images, rows, channels };

  Axis axis() const {
    const std::int64_t images = views_.x.dims[0];
    if (images >= std::min(shards_worth(request()), enough_images)) return Axis::images;
    const bool rows_have_pixels = window_.pads_begin[0] < taps() && window_.pads_end[0] < taps();
    const bool by_channels = !is_bytes() && window_.groups == 1 &&
                             (pass_ != ConvolutionPass::forward || !rows_have_pixels ||
                              element_count(views_.w.dims) > activations());
    if (by_channels) return Axis::channels;
    return pass_ == ConvolutionPass::forward && rows_have_pixels ? Axis::rows : Axis::images;
  }

  // Sums of bytes, whose pixels are finished with all their channels.
  bool is_bytes() const { return views_.x.dtype == DType::u8; }

  // The number of rows of x under the window of one row of y.
  std::int64_t taps() const {
    const std::size_t kernel_axis = window_.groups == 1 ? 2 : 3;
    return (views_.w.dims[kernel_axis] - 1) * (window_.dilations[0] + 1) + 1;
  }

  std::int64_t activations() const {
    return element_count(views_.x.dims) + element_count(views_.y.dims);
  }

  ShardRequest request() const {
    const Dims& w = views_.w.dims;
    double operations = 2.0 * static_cast<double>(element_count(views_.y.dims));
    for (std::size_t axis = window_.groups == 1 ? 1 : 2; axis < w.size(); ++axis)
      operations *= static_cast<double>(w[axis]);
    return {.operations = operations, .elements = static_cast<double>(activations())};
  }

  Shards shards() const {
    const std::int64_t images = views_.x.dims[0];
    ShardRequest request = this->request();
    if (axis() == Axis::images) {
      request.extent = images;
      if (pass_ == ConvolutionPass::weight_gradient)
        request.most = std::clamp<std::int64_t>(
            most_partial_bytes / (4 * element_count(views_.w.dims)), 2, 16);
      return cut(request);
    }
    if (axis() == Axis::channels) {
      request.extent =
          pass_ == ConvolutionPass::data_gradient ? views_.x.dims[1] : views_.y.dims[1];
      request.granule = channel_granule;
      return cut(request);
    }
    request.extent = views_.y.dims[2];
    request.most = (request.most + images - 1) / images;
    request.operations /= static_cast<double>(images);
    request.elements /= static_cast<double>(images);
    Shards shards = cut(request);
    shards.images = images;
    return shards;
  }

  std::vector<Port> ports(DType dtype) const {
    const DType result = is_bytes()                      ? DType::i32
                         : output().dtype == DType::bf16 ? dtype
                                                         : DType::f32;
    std::vector<Port> ports = ports_by_images(dtype, result);
    if (axis() == Axis::channels) cut_channels(ports);
    if (axis() == Axis::rows) cut_rows(ports);
    return ports;
  }

  std::vector<Port> ports_by_images(DType dtype, DType result) const {
    std::vector<Port> ports;
    if (pass_ == ConvolutionPass::forward) {
      ports = {activation(DNNL_ARG_SRC, 0, views_.x, dtype),
               weights(DNNL_ARG_WEIGHTS, 1, views_.w, is_bytes() ? DType::i8 : dtype),
               activation(DNNL_ARG_DST, 0, views_.y, result)};
      ports[2].output = true;
      if (views_.bias)
        ports.push_back({DNNL_ARG_BIAS, 2, false, whole, *views_.bias,
                         dense_view(DType::f32, views_.bias->dims), false});
    } else if (pass_ == ConvolutionPass::data_gradient) {
      ports = {activation(DNNL_ARG_DIFF_SRC, 0, views_.x, result),
               weights(DNNL_ARG_WEIGHTS, 0, views_.w, dtype),
               activation(DNNL_ARG_DIFF_DST, 1, views_.y, dtype)};
      ports[0].output = true;
    } else {
      ports = {activation(DNNL_ARG_SRC, 0, views_.x, dtype),
               weights(DNNL_ARG_DIFF_WEIGHTS, 0, views_.w, DType::f32),
               activation(DNNL_ARG_DIFF_DST, 1, views_.y, dtype)};
      ports[1].output = true;
      ports[1].wanted = dense_view(DType::f32, views_.w.dims);
    }
    return ports;
  }

  // Cuts the ports x, w, y and perhaps the bias along channels.
  void cut_channels(std::vector<Port>& ports) const {
    const bool of_x = pass_ == ConvolutionPass::data_gradient;
    ports[0].axis = of_x ? 1 : whole;
    ports[1].axis = of_x ? 1 : 0;
    ports[2].axis = of_x ? whole : 1;
    if (ports.size() > 3) ports[3].axis = 0;
  }

  // Cuts the ports of one image into rows.
  void cut_rows(std::vector<Port>& ports) const {
    for (Port* const port : {&ports[0], &ports[2]}) {
      port->axis = 2;
      port->image_stride = port->view.strides[0];
      port->view.dims[0] = port->wanted.dims[0] = 1;
    }
    ports[0].reach = {window_.strides[0], taps(), window_.pads_begin[0], views_.x.dims[2]};
  }

  PrimitiveDescription describe(const std::vector<Port>& ports, const Range& range) const {
    const Format x = shard_format(ports[0], range), w = shard_format(ports[1], range),
                 y = shard_format(ports[2], range);
    const Format bias = ports.size() > 3 ? shard_format(ports[3], range) : nullptr;
    const auto &s = window_.strides, &d = window_.dilations;
    Dims begin = window_.pads_begin, end = window_.pads_end;
    if (ports[0].axis == 2) {
      begin[0] = ports[0].reach.pad_before(range);
      end[0] = ports[0].reach.pad_behind(range);
    }
    dnnl_primitive_desc_t created = nullptr;
    if (pass_ == ConvolutionPass::forward)
      onednn::check(dnnl_convolution_forward_primitive_desc_create(
                        &created, onednn::engine(), dnnl_forward_training, dnnl_convolution_direct,
                        x.get(), w.get(), bias.get(), y.get(), s.data(), d.data(), begin.data(),
                        end.data(), onednn::user_scratchpad()),
                    "dnnl_convolution_forward_primitive_desc_create");
    else if (pass_ == ConvolutionPass::data_gradient)
      onednn::check(
          dnnl_convolution_backward_data_primitive_desc_create(
              &created, onednn::engine(), dnnl_convolution_direct, x.get(), w.get(), y.get(),
              s.data(), d.data(), begin.data(), end.data(), nullptr, onednn::user_scratchpad()),
          "dnnl_convolution_backward_data_primitive_desc_create");
    else
      onednn::check(dnnl_convolution_backward_weights_primitive_desc_create(
                        &created, onednn::engine(), dnnl_convolution_direct, x.get(), w.get(),
                        nullptr, y.get(), s.data(), d.data(), begin.data(), end.data(), nullptr,
                        onednn::user_scratchpad()),
                    "dnnl_convolution_backward_weights_primitive_desc_create");
    return PrimitiveDescription(created);
  }

  bool native_is_amx() const {
    const std::vector<Port> ports = this->ports(DType::bf16);
    return is_amx(ports, shards(), [&](const Range& range) { return describe(ports, range); });
  }

  Prepared prepared(const Computing& computing) const {
    const std::vector<Port> ports = this->ports(computing.inputs);
    return prepare_sharded(
        ports, shards(), options_, [&](const Range& range) { return describe(ports, range); },
        computing.widening);
  }

  ConvolutionPass pass_;
  ConvolutionViews views_;
  ConvolutionWindow window_;
  ContractionOptions options_;
};

bool is_empty(const View& view) { return element_count(view.dims) == 0; }

// The bias as a view of y's dims.
std::optional<View> broadcast_channel_bias(const ConvolutionViews& views) {
  if (!views.bias) return std::nullopt;
  View view{views.bias->dtype, views.y.dims, Dims(views.y.dims.size(), 0)};
  view.strides[1] = views.bias->strides[0];
  return view;
}

}  // namespace

Prepared prepare_onednn_sums(const ConvolutionViews& views, const ConvolutionWindow& window,
                             const ContractionOptions& options) {
  check_shapes(views, window);
  return Convolution(ConvolutionPass::forward, views, window, options).prepare_sums();
}

Prepared prepare_convolution(ConvolutionPass pass, const ConvolutionViews& views,
                             const ConvolutionWindow& window, const ContractionOptions& options) {
  check_shapes(views, window);
  const View& bias = views.bias ? *views.bias : views.w;
  const bool f64 = !computing_for("convolution", {&views.x, &views.w, &views.y, &bias});
  if (is_empty(views.x) || is_empty(views.w) || is_empty(views.y)) {
    if (pass == ConvolutionPass::forward)
      return prepare_fill(views.y, broadcast_channel_bias(views), 2);
    return prepare_fill(pass == ConvolutionPass::data_gradient ? views.x : views.w, {}, 0);
  }
  if (f64) return prepare_convolution_f64(pass, views, window);
  ContractionOptions settled = options;
  if (settled.threads == 0) settled.threads = thread_count();
  return Convolution(pass, views, window, settled).prepare();
}

}  // namespace narrowgauge::cpu
