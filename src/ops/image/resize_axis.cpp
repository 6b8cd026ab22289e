// SPDX-License-Identifier: Apache-2.0
#include "ops/image/resize_axis.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/axes/axes.h"

namespace narrowgauge {

namespace {

void check_word(std::string_view attribute, const std::string& value,
                std::initializer_list<std::string_view> words) {
  std::string listed;
  for (const std::string_view word : words) listed += concat(listed.empty() ? "" : ", ", word);
  require(std::find(words.begin(), words.end(), value) != words.end(), "Resize: ", attribute,
          " must be one of ", listed, ", got '", value, "'");
}

void check_attributes(const Resize& op) {
  check_word("mode", op.mode, {"nearest", "linear", "cubic"});
  check_word("coordinate_transformation_mode", op.coordinate_transformation_mode,
             {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
              "asymmetric", "tf_crop_and_resize"});
  check_word("nearest_mode", op.nearest_mode,
             {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  check_word("keep_aspect_ratio_policy", op.keep_aspect_ratio_policy,
             {"stretch", "not_larger", "not_smaller"});
  require(std::isfinite(op.cubic_coeff_a), "Resize: cubic_coeff_a must be finite, got ",
          op.cubic_coeff_a);
}

bool crops(const Resize& op) { return op.coordinate_transformation_mode == "tf_crop_and_resize"; }

double round_half_up(double x) { return std::floor(x + 0.5); }

std::int64_t checked_size(double size) {
  require(size >= 1 && size <= INT32_MAX, "Resize: a size must be at least 1 and below 2^31, got ",
          size);
  return static_cast<std::int64_t>(size);
}

// Settles scale and out of each axis.
void settle_sizes(const Resize& op, std::vector<ResizeAxis>& axes, const ResizeInputs& inputs) {
  double least = HUGE_VAL, most = 0;
  for (ResizeAxis& axis : axes) {
    axis.scale = inputs.scales ? inputs.scales->at(axis.listed)
                               : inputs.sizes->at(axis.listed) / static_cast<double>(axis.in);
    require(axis.scale > 0 && std::isfinite(axis.scale), "Resize: a scale must be positive, got ",
            axis.scale);
    least = std::min(least, axis.scale);
    most = std::max(most, axis.scale);
  }
  const bool stretches = inputs.scales || op.keep_aspect_ratio_policy == "stretch";
  for (ResizeAxis& axis : axes) {
    if (!stretches) axis.scale = op.keep_aspect_ratio_policy == "not_smaller" ? most : least;
    // A product of f32, as others compute it: ten elements times 0.7 are seven.
    const float product = static_cast<float>(axis.scale) * static_cast<float>(axis.in);
    const double size = axis.scale * static_cast<double>(axis.in);
    axis.out = checked_size(inputs.scales ? std::floor(product) : round_half_up(size));
  }
}

void check_count(std::string_view port, const Tensor* tensor, std::size_t count) {
  require(
      !tensor || (tensor->dims().size() == 1 && tensor->size() == static_cast<std::int64_t>(count)),
      "Resize: expected ", count, " values in ", port, ", got ",
      tensor ? tensor->type() : TensorType{});
}

void check_inputs(const Resize& op, const ResizeInputs& inputs, std::size_t axes) {
  require(!inputs.scales != !inputs.sizes, "Resize: expected either scales or sizes, got ",
          inputs.scales ? "both" : "none");
  check_count("scales", inputs.scales, axes);
  check_count("sizes", inputs.sizes, axes);
  if (!crops(op)) return;
  require(inputs.roi != nullptr, "Resize: tf_crop_and_resize needs roi");
  check_count("roi", inputs.roi, 2 * axes);
  for (std::int64_t i = 0; i < inputs.roi->size(); ++i)
    require(std::isfinite(inputs.roi->at(i)), "Resize: roi must be finite, got ",
            inputs.roi->at(i));
}

}  // namespace

std::vector<ResizeAxis> resized_axes(const Resize& op, const Shape& x, const ResizeInputs& inputs) {
  check_attributes(op);
  std::vector<std::size_t> numbers = normalize_axes("Resize", op.axes, x.size());
  if (numbers.empty()) {
    numbers.resize(x.size());
    std::iota(numbers.begin(), numbers.end(), 0);
  }
  check_inputs(op, inputs, numbers.size());
  const auto count = static_cast<std::int64_t>(numbers.size());
  std::vector<ResizeAxis> axes;
  for (std::int64_t i = 0; i < count; ++i) {
    ResizeAxis axis{.axis = numbers[static_cast<std::size_t>(i)], .listed = i};
    if (crops(op)) {
      axis.roi_start = inputs.roi->at(i);
      axis.roi_end = inputs.roi->at(i + count);
    }
    const bool whole = axis.roi_start == 0 && axis.roi_end == 1;
    if (inputs.scales && inputs.scales->at(i) == 1 && whole) continue;  // may be a symbol
    axis.in = known_dims({x[axis.axis]})[0];
    require(axis.in > 0, "Resize: axis ", axis.axis, " of x ", x, " is empty");
    axes.push_back(axis);
  }
  settle_sizes(op, axes, inputs);
  // Where no size changes, ONNX Runtime and PyTorch leave x as it is, also for a scale of 1.1.
  const bool stays =
      std::ranges::all_of(axes, [](const ResizeAxis& axis) { return axis.out == axis.in; });
  return stays && !crops(op) ? std::vector<ResizeAxis>{} : axes;
}

namespace {

// The place in the input of each output element, where it lies between two, in elements; in f32 as
// ONNX Runtime computes it.
template <class T>
std::vector<T> resize_coordinates(const Resize& op, const ResizeAxis& a) {
  const std::string& how = op.coordinate_transformation_mode;
  const auto in = static_cast<T>(a.in), out = static_cast<T>(a.out);
  const auto scale = static_cast<T>(a.scale), half = T(0.5);
  const auto roi_start = static_cast<T>(a.roi_start), roi_end = static_cast<T>(a.roi_end);
  const T width = scale * in;  // before it was rounded to `out`
  const T offset = how == "half_pixel_symmetric" ? in / 2 * (1 - out / width) : 0;
  std::vector<T> places;
  for (std::int64_t i = 0; i < a.out; ++i) {
    const auto x = static_cast<T>(i);
    if (how == "asymmetric")
      places.push_back(x / scale);
    else if (how == "align_corners")
      places.push_back(width == 1 ? 0 : x * (in - 1) / (width - 1));
    else if (how == "pytorch_half_pixel" && a.out == 1)
      places.push_back(0);
    else if (crops(op))
      places.push_back(roi_start * (in - 1) +
                       (roi_end - roi_start) * (in - 1) * (width == 1 ? half : x / (width - 1)));
    else
      places.push_back(offset + (x + half) / scale - half);
  }
  return places;
}

std::int64_t clamped(double element, std::int64_t size) {
  return static_cast<std::int64_t>(std::clamp(element, 0.0, static_cast<double>(size - 1)));
}

double linear_filter(double x) { return std::max(0.0, 1 - std::abs(x)); }

// Keys, "Cubic convolution interpolation for digital image processing", 1981.
double cubic_filter(double x, double a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

}  // namespace

Dims nearest_elements(const Resize& op, const ResizeAxis& a) {
  Dims elements;
  for (const double x : resize_coordinates<float>(op, a)) {
    const double nearest = op.nearest_mode == "floor"               ? std::floor(x)
                           : op.nearest_mode == "ceil"              ? std::ceil(x)
                           : op.nearest_mode == "round_prefer_ceil" ? std::floor(x + 0.5)
                                                                    : std::ceil(x - 0.5);
    elements.push_back(clamped(nearest, a.in));
  }
  return elements;
}

Tensor resize_weights(const Resize& op, const ResizeAxis& a) {
  const bool cubic = op.mode == "cubic";
  // Antialiasing stretches the filter when the axis shrinks.
  const double stretch = op.antialias != 0 ? std::min(a.scale, 1.0) : 1;
  const auto first = static_cast<std::int64_t>(std::floor((cubic ? -2 : -1) / stretch)) + 1;
  const std::vector<double> places = resize_coordinates<double>(op, a);
  Tensor weights(DType::f64, {a.out, a.in});
  for (std::int64_t i = 0; i < a.out; ++i) {
    const double x = places[static_cast<std::size_t>(i)], left = std::ceil(x) - 1;
    std::vector<double> row(static_cast<std::size_t>(a.in));
    double sum = 0;
    for (std::int64_t tap = first; tap < 2 - first; ++tap) {
      const double element = left + static_cast<double>(tap), distance = stretch * (element - x);
      const double weight =
          cubic ? cubic_filter(distance, op.cubic_coeff_a) : linear_filter(distance);
      const bool outside = element < 0 || element > static_cast<double>(a.in - 1);
      if (op.exclude_outside != 0 && outside) continue;
      row[static_cast<std::size_t>(clamped(element, a.in))] += weight;
      sum += weight;
    }
    for (std::int64_t k = 0; k < a.in; ++k)
      weights.set(i * a.in + k, row[static_cast<std::size_t>(k)] / sum);
  }
  return weights;
}

std::optional<Tensor> inside_mask(const Resize& op, const ResizeAxis& a) {
  if (!crops(op)) return std::nullopt;
  const std::vector<double> places = resize_coordinates<double>(op, a);
  Tensor mask(DType::boolean, {a.out});
  for (std::int64_t i = 0; i < a.out; ++i) {
    const double x = places[static_cast<std::size_t>(i)];
    mask.set(i, x >= 0 && x <= static_cast<double>(a.in - 1));
  }
  return mask;
}

}  // namespace narrowgauge
