// SPDX-License-Identifier: Apache-2.0
#include "cli/run/pictures.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <optional>

#include "cli/common/terminal.h"
#include "cli/run/inputs.h"
#include "cli/run/preprocess.h"
#include "io/files/shared_bytes.h"
#include "io/images/resize.h"
#include "io/pictures/formats.h"
#include "io/pictures/image.h"

namespace narrowgauge::cli {

namespace {

bool is(const Dim& dim, std::int64_t size) { return dim.is_known() && dim.value() == size; }

bool may_be_channels(const Dim& dim) { return is(dim, 1) || is(dim, 3); }

// What an input wants of a picture; sizes that it leaves open are nothing.
struct Wanted {
  std::int64_t channels = 3;
  bool channels_last = false;
  std::optional<std::int64_t> height, width;
};

std::optional<std::int64_t> number_of(const Dim& dim) {
  return dim.is_known() ? std::optional(dim.value()) : std::nullopt;
}

Wanted wanted_by(const ModelPort* port) {
  Wanted wanted;
  if (!port || !port->type) return wanted;
  const Shape& shape = port->type->shape;
  require(shape.size() == 3 || shape.size() == 4, "--input: ", port->name, " is ", *port->type,
          ", which no picture can be");
  const std::size_t first = shape.size() - 3;
  const Dim &front = shape[first], &back = shape[first + 2];
  wanted.channels_last = !may_be_channels(front) && (may_be_channels(back) || front.is_known());
  const Dim& channels = wanted.channels_last ? back : front;
  require(may_be_channels(channels) || !channels.is_known(), "--input: ", port->name, " is ",
          *port->type, "; a picture has 1 or 3 channels");
  if (channels.is_known()) wanted.channels = channels.value();
  wanted.height = number_of(shape[wanted.channels_last ? first : first + 1]);
  wanted.width = number_of(shape[wanted.channels_last ? first + 1 : first + 2]);
  return wanted;
}

// Where one size is open, the picture keeps its shape.
std::int64_t in_proportion(std::int64_t size, std::int64_t other, std::int64_t wanted_other) {
  const double exact =
      static_cast<double>(size) * static_cast<double>(wanted_other) / static_cast<double>(other);
  return std::max<std::int64_t>(std::llround(exact), 1);
}

Tensor in_size(const Tensor& image, const Wanted& wanted, const std::string& path,
               const InputFlags& flags) {
  const std::int64_t rows = image.dims()[0], columns = image.dims()[1];
  if (flags.resize == "off" || (!wanted.height && !wanted.width)) return image;
  const std::int64_t height =
      wanted.height ? *wanted.height : in_proportion(rows, columns, *wanted.width);
  const std::int64_t width =
      wanted.width ? *wanted.width : in_proportion(columns, rows, *wanted.height);
  if (height == rows && width == columns) return image;
  const bool cut = flags.resize == "crop";
  if (!flags.quiet)
    say("note", concat(path, ": ", columns, " x ", rows, " pixels, ",
                       cut ? "its middle resized to " : "resized to ", width, " x ", height));
  const ImageBox whole{0, 0, static_cast<double>(rows), static_cast<double>(columns)};
  return resized_image(image, cut ? middle_box(rows, columns, height, width) : whole, height,
                       width);
}

// A picture in u8 is rounded where it was resized; other inputs get it in f32 to begin with.
Tensor in_dtype(const Tensor& image, const ModelPort* port) {
  const DType wanted = port && port->type ? port->type->dtype : DType::f32;
  require(is_floating(wanted) || wanted == DType::u8, "--input: ", port ? port->name : "", " is ",
          wanted, "; a picture is u8 or floating numbers");
  return image.cast(wanted == DType::u8 ? DType::u8 : DType::f32);
}

}  // namespace

bool wants_channels_last(const ModelPort* port, std::int64_t channels) {
  if (!port || !port->type || port->type->shape.size() < 3) return false;
  const Shape& shape = port->type->shape;
  return !is(shape[shape.size() - 3], channels) && is(shape.back(), channels);
}

bool is_picture(const std::string& path) {
  return image_format_of(map_file(path).view()) != nullptr;
}

Tensor read_picture(const std::string& path, const ModelPort* port, const InputFlags& flags,
                    const Preprocess& preprocess) {
  if (port && port->type && port->type->dtype == DType::u8 && port->type->shape.size() == 1) {
    const SharedBytes bytes = map_file(path);
    Tensor encoded(DType::u8, {static_cast<std::int64_t>(bytes.size())});
    std::memcpy(encoded.data(), bytes.view().data(), bytes.size());
    return encoded;
  }
  const Wanted wanted = wanted_by(port);
  const ImageColours colours = wanted.channels == 1 ? ImageColours::grey
                               : flags.bgr          ? ImageColours::bgr
                                                    : ImageColours::rgb;
  const Tensor sized = in_size(read_image(path, colours), wanted, path, flags);
  const Tensor image =
      preprocess.apply(in_dtype(sized, port), {.from_last = true, .to_last = wanted.channels_last});
  const bool has_batch = !port || !port->type || port->type->shape.size() == 4;
  Dims dims = image.dims();
  if (has_batch && dims.size() == 3) dims.insert(dims.begin(), 1);
  if (!has_batch && dims.size() == 4) dims.erase(dims.begin());
  return image.reshaped(dims);
}

Tensor joined(const Tensor& batch, const Tensor& next, const std::string& input) {
  Dims dims = batch.dims(), others = next.dims();
  require(dims.size() == 4, "--input: ", input, " takes one picture");
  dims[0] += others[0];
  others[0] = batch.dims()[0];
  require(others == batch.dims() && batch.dtype() == next.dtype(), "--input: ", input,
          ": pictures of one batch must be of one size; got ", batch.type(), " and ", next.type());
  Tensor result(batch.dtype(), dims);
  std::memcpy(result.data(), batch.data(), static_cast<std::size_t>(batch.bytes()));
  std::memcpy(result.data() + batch.bytes(), next.data(), static_cast<std::size_t>(next.bytes()));
  return result;
}

}  // namespace narrowgauge::cli
