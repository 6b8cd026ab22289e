// SPDX-License-Identifier: Apache-2.0
#include "cli/task.h"

#include <algorithm>
#include <vector>

#include "api/onnx_network.h"
#include "api/training_setup.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/shape_flag.h"
#include "cli/shaped_source.h"
#include "narrowgauge/language_models.h"

namespace narrowgauge::cli {

ImageShape ImageFacts::image() const {
  return {transform.channels > 0 ? transform.channels : drawn.channels,
          transform.height > 0 ? transform.height : drawn.height,
          transform.width > 0 ? transform.width : drawn.width};
}

namespace {

// `facts` are found out unless it is nullptr: that reads all of the data once more.
DataSplit load(const std::string& data, DataFacts* facts) {
  show_status(concat("loading ", data));
  DataSplit split = load_data(data);
  if (facts) *facts = facts_of(split);
  show_status("");
  return split;
}

// Makes the only input images [N,C,H,W]: images [N,H,W] have one channel, and each of F numbers
// [N,F] is a channel of one pixel, so that it is normalised by itself.
void take_as_images(DataSet& set, const std::string& data) {
  const TensorType type = set.input().type();
  Dims dims = set.input().dims();
  if (dims.size() == 3) dims.insert(dims.begin() + 1, 1);
  if (dims.size() == 2) dims.insert(dims.end(), {1, 1});
  const bool pixels = type.dtype == DType::u8 || type.dtype == DType::f32;
  require<DataError>(dims.size() == 4 && pixels, data,
                     ": expected images or rows of numbers as u8 ",
                     "or f32 [N,C,H,W], [N,H,W] or [N,F], found ", type);
  require<DataError>(set.classes > 0, data, ": expected labels of classes, found ",
                     set.target().type());
  set.inputs = {{"images", set.input().reshaped(dims)}};
}

void take_as_images(DataSplit& split, const std::string& data) {
  for (DataSet* set : {&split.train, &split.test}) take_as_images(*set, data);
}

ImageShape shape_of(const DataSet& set) {
  const Dims& dims = set.input().dims();
  return {dims.at(1), dims.at(2), dims.at(3)};
}

// Pads and repeats to the shape that the network wants; normalizes by the training set.
ImageFacts facts_for(const DataSet& set, ImageShape wanted) {
  ImageFacts facts{.drawn = shape_of(set), .classes = set.classes, .transform = {}};
  if (wanted.height != facts.drawn.height || wanted.width != facts.drawn.width) {
    facts.transform.height = wanted.height;
    facts.transform.width = wanted.width;
  }
  if (wanted.channels != facts.drawn.channels) facts.transform.channels = wanted.channels;
  ChannelStatistics statistics = channel_statistics(set.input());
  for (float& deviation : statistics.deviation)
    if (deviation <= 0) deviation = 1;  // images of one grey
  facts.transform.mean = std::move(statistics.mean);
  facts.transform.deviation = std::move(statistics.deviation);
  return facts;
}

ImageFacts normalized_as(ImageFacts facts, const Settings& settings) {
  if (!settings.mean.empty()) facts.transform.mean = settings.mean;
  if (!settings.deviation.empty()) facts.transform.deviation = settings.deviation;
  return facts;
}

void take_images(Task& task, const DataSplit& split, const ImageFacts& facts) {
  task.classes = facts.classes;
  task.training = std::make_shared<TensorSource>(split.train, facts.transform);
  task.test = std::make_shared<TensorSource>(split.test, facts.transform);
  task.images = facts;
}

void require_as_trained(const DataSplit& split, const ImageFacts& trained,
                        const std::string& data) {
  const std::string found = image_text(shape_of(split.train));
  require<DataError>(found == image_text(trained.drawn), data, ": expected images of ",
                     image_text(trained.drawn), " as the run was trained on, found ", found);
  require<DataError>(split.test.classes <= trained.classes, data, ": has ", split.test.classes,
                     " classes, the run was trained on ", trained.classes);
}

Task built_in_task(const Settings& settings, const std::optional<ImageFacts>& trained,
                   DataFacts* facts) {
  DataSplit split = load(settings.data, facts);
  take_as_images(split, settings.data);
  if (trained) require_as_trained(split, *trained, settings.data);
  Task task;
  const ImageShape wanted = network_image(settings.model, shape_of(split.train));
  const ImageFacts images = trained ? *trained : facts_for(split.train, wanted);
  take_images(task, split, normalized_as(images, settings));
  task.build = find_model(settings.model, task.images->image(), task.classes);
  return task;
}

// An input of the network or its loss.
struct Wanted {
  std::string name;
  TensorType type;
};

std::vector<Wanted> wanted_by(const Graph& graph) {
  std::vector<Wanted> wanted;
  for (const Value input : graph.inputs())
    wanted.push_back({graph.value_name(input), graph.type(input)});
  return wanted;
}

// Labels are indices of the scores of a prediction [N, scores].
void require_scores(const Graph& graph, const DataSet& set) {
  const Shape& scores = graph.type(graph.find_output("prediction")).shape;
  if (scores.size() != 2 || !scores[1].is_known()) return;
  require<DataError>(set.classes <= scores[1].value(), set.name, ": has ", set.classes,
                     " classes, the network gives ", scores[1], " scores");
}

void require_fits(const ImageShape& drawn, const ImageShape& wanted, const std::string& data) {
  const bool channels = drawn.channels == wanted.channels || drawn.channels == 1;
  require<DataError>(channels && drawn.height <= wanted.height && drawn.width <= wanted.width, data,
                     ": its images of ", image_text(drawn), " do not fit the network's input of ",
                     image_text(wanted));
}

// Whether rows of such a tensor can be given to an input.
bool fits(const TensorType& found, const TensorType& wanted) {
  if (found.shape.size() != wanted.shape.size()) return false;
  for (std::size_t i = 1; i < wanted.shape.size(); ++i)
    if (wanted.shape[i].is_known() && wanted.shape[i] != found.shape[i]) return false;
  return true;
}

// The set's columns in the order of the inputs: each that of the input's name, or else the one in
// its place.
std::vector<Tensor> columns_for(const std::vector<Wanted>& wanted, const DataSet& set) {
  std::vector<NamedTensor> all = set.inputs;
  all.insert(all.end(), set.targets.begin(), set.targets.end());
  const auto named = [&](const std::string& name) {
    return std::ranges::find(all, name, &NamedTensor::name);
  };
  const bool by_name = std::ranges::all_of(
      wanted, [&](const Wanted& each) { return named(each.name) != all.end(); });
  require<DataError>(by_name || all.size() == wanted.size(), set.name, ": has ", all.size(),
                     " arrays, the network and its loss take ", wanted.size());
  std::vector<Tensor> columns;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const NamedTensor& found = by_name ? *named(wanted[i].name) : all[i];
    require<DataError>(fits(found.tensor.type(), wanted[i].type), set.name, ": '", found.name,
                       "' is ", found.tensor.type(), ", input '", wanted[i].name, "' takes ",
                       wanted[i].type);
    columns.push_back(found.tensor.cast(wanted[i].type.dtype));
  }
  return columns;
}

// Whether the set's pixels are normalized and brought into the shape of the network's only input.
bool takes_pixels(const std::vector<Wanted>& wanted, const DataSet& set) {
  return wanted.size() == 2 && wanted[0].type.dtype == DType::f32 && set.inputs.size() == 1 &&
         set.input().dtype() == DType::u8 && set.classes > 0;
}

// The images that the input takes, where it states channels, height and width.
ImageShape image_of(const TensorType& input, ImageShape drawn) {
  if (input.shape.size() != 4) return drawn;
  const auto size = [&](std::size_t axis, std::int64_t other) {
    return input.shape[axis].is_known() ? input.shape[axis].value() : other;
  };
  return {size(1, drawn.channels), size(2, drawn.height), size(3, drawn.width)};
}

BuildNetwork network_of(const Settings& settings) {
  const OnnxSettings& onnx = settings.onnx;
  const KnownInputs known = known_inputs({onnx.shapes, onnx.values});
  OnnxTraining training{.output = onnx.output, .open_batch = onnx.shapes.empty()};
  if (onnx.batch_norm) training.batch_norm = BatchNormForm::training;
  return onnx_network(onnx.file, known, training);
}

Loss loss_of(const Settings& settings) {
  constexpr std::string_view prefix = "output:";
  const std::string& loss = settings.loss;
  if (loss.starts_with(prefix)) return loss_output(loss.substr(prefix.size()));
  return loss.empty() ? softmax_cross_entropy() : parse_loss(loss);
}

Task onnx_task(const Settings& settings, const std::optional<ImageFacts>& trained,
               DataFacts* facts) {
  Task task;
  task.build = network_of(settings);
  task.loss = loss_of(settings);
  const Graph graph = loss_graph(settings.model, task.build, task.loss, Mode::evaluate);
  const std::vector<Wanted> wanted = wanted_by(graph);
  DataSplit split = load(settings.data, facts);
  task.classes = split.train.classes;
  require_scores(graph, split.train);
  if (!trained && !takes_pixels(wanted, split.train)) {
    task.training = std::make_shared<TensorSource>(columns_for(wanted, split.train));
    task.test = std::make_shared<TensorSource>(columns_for(wanted, split.test));
    return task;
  }
  take_as_images(split, settings.data);
  if (trained) require_as_trained(split, *trained, settings.data);
  const ImageShape image = image_of(wanted[0].type, shape_of(split.train));
  require_fits(shape_of(split.train), image, settings.data);
  const ImageFacts images = trained ? *trained : facts_for(split.train, image);
  take_images(task, split, normalized_as(images, settings));
  const Shape& shape = wanted[0].type.shape;
  task.training = shaped_as(task.training, shape, settings.data);
  task.test = shaped_as(task.test, shape, settings.data);
  return task;
}

Task prepare(const Settings& settings, const std::optional<ImageFacts>& trained, DataFacts* facts) {
  const bool built_in = settings.onnx.file.empty();
  const bool text = built_in && is_language_model(settings.model);
  Task task = text       ? text_task(settings, facts)
              : built_in ? built_in_task(settings, trained, facts)
                         : onnx_task(settings, trained, facts);
  if (built_in && !text) task.loss = loss_of(settings);
  task.data = settings.data;
  task.training_size = task.training->size();
  task.test_size = task.test->size();
  return task;
}

}  // namespace

Task prepare_task(const Settings& settings, const std::optional<ImageFacts>& trained) {
  return prepare(settings, trained, nullptr);
}

Task prepare_task(const Settings& settings) { return prepare_task(settings, std::nullopt); }

Task prepare_training(const Settings& settings, const std::optional<ImageFacts>& trained) {
  DataFacts facts;
  Task task = prepare(settings, trained, &facts);
  task.facts = std::move(facts);
  return task;
}

Model model_of(const Settings& settings, const std::optional<ImageFacts>& trained) {
  const auto seed = static_cast<std::uint64_t>(settings.seed);
  if (!settings.onnx.file.empty()) return Model(settings.model, network_of(settings), seed);
  if (is_language_model(settings.model)) return text_model_of(settings);
  require<DataError>(trained.has_value(), "a run of ", settings.model, " without its images");
  return Model(settings.model, find_model(settings.model, trained->image(), trained->classes),
               seed);
}

ImageShape network_image(const std::string& model, ImageShape drawn) {
  const ModelFacts& facts = model_facts(model);
  const auto fitting = [&](std::int64_t side) {
    const std::int64_t step = facts.side_step;
    return (std::max(side, facts.padded_side) + step - 1) / step * step;
  };
  return {drawn.channels, fitting(drawn.height), fitting(drawn.width)};
}

ImageShape parse_image(const std::string& text) {
  const Dims sizes = dims_of(text).value_or(Dims{});
  require(sizes.size() == 3 && *std::min_element(sizes.begin(), sizes.end()) > 0,
          "--image: expected channels, height and width such as 3x32x32, got \"", text, '"');
  return {sizes[0], sizes[1], sizes[2]};
}

std::string image_text(const ImageShape& image) {
  return concat(image.channels, 'x', image.height, 'x', image.width);
}

}  // namespace narrowgauge::cli
