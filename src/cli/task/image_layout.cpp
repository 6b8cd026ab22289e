// SPDX-License-Identifier: Apache-2.0
#include "cli/task/image_layout.h"

#include "cli/common/terminal.h"

namespace narrowgauge::cli {
namespace {

bool has_four_axes(const DataSplit& split) {
  return split.train.inputs.size() == 1 && split.train.input().dims().size() == 4 &&
         split.test.inputs.size() == 1 && split.test.input().dims().size() == 4;
}

ImageLayout given_layout(const Settings& settings) {
  const std::string& given = settings.samples.layout;
  return given.empty()     ? ImageLayout::automatic
         : given == "nhwc" ? ImageLayout::nhwc
                           : ImageLayout::nchw;
}

void put_channels_first(DataSplit& split) {
  for (DataSet* set : {&split.train, &split.test})
    set->inputs[0].tensor = channels_first(set->inputs[0].tensor);
}

// The shapes that an image has with its channels first and last; the same where these are unclear.
struct TwoShapes {
  Dims first, last;
  explicit TwoShapes(const Dims& dims)
      : first{dims[1], dims[2], dims[3]}, last{dims[3], dims[1], dims[2]} {}
};

bool takes(const Shape& input, const Dims& image) {
  if (input.size() != image.size() + 1) return false;
  for (std::size_t i = 0; i < image.size(); ++i)
    if (input[i + 1].is_known() && input[i + 1].value() != image[i]) return false;
  return true;
}

std::string text_of(const Dims& image) { return image_text({image[0], image[1], image[2]}); }

// What the sides tell, which may be either.
ImageLayout found_layout(const DataSplit& split, const std::string& data) {
  const TensorType type = split.train.input().type();
  const Dims& dims = split.train.input().dims();
  const ImageLayout layout = image_layout(dims);
  const auto may_be_channels = [](std::int64_t size) {
    return size == 1 || size == 3 || size == 4;
  };
  const bool either = may_be_channels(dims[1]) && may_be_channels(dims[3]) && dims[1] > 1 &&
                      dims[2] > 1 && dims[1] >= dims[3];
  const TwoShapes shapes(dims);
  if (layout == ImageLayout::nhwc)
    say("--layout", concat(data, ": images ", type, " are taken as [N,H,W,C], of ",
                           text_of(shapes.last), "; nchw takes them as ", text_of(shapes.first)));
  else if (either)
    say("--layout", concat(data, ": images ", type, " are taken as [N,C,H,W], of ",
                           text_of(shapes.first), "; nhwc takes them as ", text_of(shapes.last)));
  return layout;
}

void require_four_axes(const DataSplit& split, const Settings& settings) {
  require<DataError>(given_layout(settings) == ImageLayout::automatic || has_four_axes(split),
                     "--layout: ", settings.data, " has no array of four axes, as images have");
}

}  // namespace

void tell_layout(const DataSplit& split, const std::string& data) {
  if (has_four_axes(split)) found_layout(split, data);
}

void take_layout(DataSplit& split, const Settings& settings,
                 const std::optional<ImageFacts>& trained) {
  if (!trained) require_four_axes(split, settings);
  if (!has_four_axes(split)) return;
  ImageLayout layout = given_layout(settings);
  const TwoShapes shapes(split.train.input().dims());
  const auto as_trained = [&](const Dims& image) {
    const ImageShape& drawn = trained->drawn;
    return image == Dims{drawn.channels, drawn.height, drawn.width};
  };
  if (trained && as_trained(shapes.first) != as_trained(shapes.last))
    layout = as_trained(shapes.first) ? ImageLayout::nchw : ImageLayout::nhwc;
  else if (layout == ImageLayout::automatic)
    layout = found_layout(split, settings.data);
  if (layout == ImageLayout::nhwc) put_channels_first(split);
}

void take_layout(DataSplit& split, const Settings& settings, const Shape& input) {
  require_four_axes(split, settings);
  const ImageLayout given = given_layout(settings);
  if (!has_four_axes(split) || given == ImageLayout::nchw) return;
  const TensorType type = split.train.input().type();
  const TwoShapes shapes(split.train.input().dims());
  if (takes(input, shapes.first)) return;
  if (takes(input, shapes.last)) {
    if (given == ImageLayout::automatic)
      say("--layout", concat(settings.data, ": images ", type, " are taken as [N,H,W,C], of ",
                             text_of(shapes.last), ", as the network's input ", input, " is"));
    return put_channels_first(split);
  }
  const ImageLayout layout =
      given == ImageLayout::automatic ? found_layout(split, settings.data) : given;
  if (layout == ImageLayout::nhwc) put_channels_first(split);
}

}  // namespace narrowgauge::cli
