// SPDX-License-Identifier: Apache-2.0
#include "cli/task/task.h"

#include <algorithm>
#include <vector>

#include "api/model/onnx_network.h"
#include "api/training/training_setup.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/flags/shape_flag.h"
#include "cli/task/image_layout.h"
#include "cli/task/image_task.h"
#include "cli/task/number_task.h"
#include "cli/task/shaped_source.h"
#include "io/sounds/spectrogram.h"
#include "narrowgauge/language_models.h"

namespace narrowgauge::cli {

std::int64_t Task::damaged() const {
  std::int64_t count = 0;
  for (const auto& source : pictures) count += source->damaged();
  return count;
}

bool gives_image(const Settings& settings) {
  return settings.onnx.file.empty() && model_facts(settings.model).output == OutputKind::image;
}

namespace {

// `facts` are found out unless it is nullptr: that reads all of the data once more.
Data load_samples(const Settings& settings, DataFacts* facts) {
  show_status(concat("loading ", settings.data));
  const DataSettings& samples = settings.samples;
  Data data = open_data(settings.data, {.test_share = samples.test_share,
                                        .label = samples.label,
                                        .skip = samples.skip,
                                        .table = samples.table,
                                        .labels = !gives_image(settings)});
  if (facts) *facts = facts_of(data);
  show_status("");
  return data;
}

// Pictures in files have any size and colours: the network's usual size, and RGB.
ImageShape picture_shape(const Settings& settings) {
  ImageShape shape{3, 224, 224};
  if (settings.onnx.file.empty()) {
    const ImageShape usual = model_facts(settings.model).image;
    shape.height = usual.height;
    shape.width = usual.width;
  }
  return shape;
}

// Sounds have the shape of their spectrograms, as far as the network can take it.
ImageShape picture_shape(const Settings& settings, const ImageFolder& folder) {
  const std::int64_t columns =
      usual_sound_columns(folder.training.empty() ? folder.test : folder.training);
  if (columns == 0) return picture_shape(settings);
  const std::int64_t least = model_facts(settings.model).least_side;
  return network_image(settings.model, {1, mel_bands, std::max(columns, least)});
}

ImageShape image_wanted(const Settings& settings, ImageShape usual) {
  return settings.samples.image.empty() ? usual : parse_image(settings.samples.image);
}

// A network for pixels needs masks, and only such a network can have them.
void require_kind(const Settings& settings, const Data& data) {
  const bool masks = std::holds_alternative<SegmentationFolder>(data);
  const bool pixels = model_facts(settings.model).output == OutputKind::pixels;
  require<DataError>(!masks || pixels, settings.data, ": has masks, and ", settings.model,
                     " learns whole images; unet-small learns what each pixel shows");
  require<DataError>(masks || !pixels, settings.data, ": has no masks, which ", settings.model,
                     " learns: expected a folder of images and one of masks");
}

BuildNetwork network_for(const std::string& model, const ImageFacts& images) {
  BuildNetwork build = find_model(model, images.image(), images.outputs());
  return images.numbers.empty() ? build : predict_numbers(std::move(build), images.numbers);
}

// All samples are of one class.
void forget_labels(DataSplit& split) {
  for (DataSet* set : {&split.train, &split.test}) {
    set->targets = {{"labels", Tensor(DType::u8, {set->size()})}};
    set->classes = 1;
    set->class_names.clear();
  }
}

// What is for arrays cannot be done to files.
void require_no_layout(const Settings& settings, const std::optional<ImageFacts>& trained) {
  require(trained || settings.samples.layout.empty(), "--layout: ", settings.data,
          " has pictures in files, and is for arrays");
}

Task built_in_task(const Settings& settings, const std::optional<ImageFacts>& trained,
                   DataFacts* facts) {
  Data data = load_samples(settings, facts);
  Task task;
  require_kind(settings, data);
  if (!std::holds_alternative<DataSplit>(data)) require_no_layout(settings, trained);
  if (const auto* const folder = std::get_if<ImageFolder>(&data)) {
    const ImageShape usual = picture_shape(settings, *folder);
    take_pictures(task, *folder, settings, image_wanted(settings, usual), trained);
  } else if (const auto* const masked = std::get_if<SegmentationFolder>(&data)) {
    const ImageShape usual = picture_shape(settings);
    take_masks(task, *masked, settings, image_wanted(settings, usual), trained);
  } else {
    auto& split = std::get<DataSplit>(data);
    task.table = split.table;
    if (gives_image(settings)) forget_labels(split);
    take_layout(split, settings, trained);
    take_as_images(split, settings.data);
    const ImageShape usual = network_image(settings.model, shape_of(split.train));
    take_images(task, split, settings, image_wanted(settings, usual), trained);
  }
  if (gives_image(settings)) {
    task.classes = 0;
    for (auto* source : {&task.training, &task.test}) *source = as_own_target(*source);
  }
  task.build = network_for(settings.model, *task.images);
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
void require_scores(const Graph& graph, std::int64_t classes, const std::string& data) {
  const Shape& scores = graph.type(graph.find_output("prediction")).shape;
  if (scores.size() != 2 || !scores[1].is_known()) return;
  require<DataError>(classes <= scores[1].value(), data, ": has ", classes,
                     " classes, the network gives ", scores[1], " scores");
}

// What is for images cannot be done to samples of another kind.
void require_no_images(const Settings& settings) {
  const DataSettings& samples = settings.samples;
  require(samples.augment.empty(), "--augment: ", settings.data, " has no images in bytes");
  require(samples.image.empty(), "--image: ", settings.data, " has no images in bytes");
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

BuildNetwork onnx_network_of(const Settings& settings) {
  const OnnxSettings& onnx = settings.onnx;
  const KnownInputs known = known_inputs({onnx.shapes, onnx.values});
  OnnxTraining training{.output = onnx.output, .open_batch = onnx.shapes.empty()};
  if (onnx.batch_norm) training.batch_norm = BatchNormForm::training;
  return onnx_network(onnx.file, known, training);
}

// Pixels of which nothing is known have a label that does not count.
Loss loss_of(const Settings& settings, const std::optional<ImageFacts>& images) {
  constexpr std::string_view prefix = "output:";
  const std::string& loss = settings.loss;
  if (loss.starts_with(prefix)) return loss_output(loss.substr(prefix.size()));
  if (!loss.empty()) return parse_loss(loss);
  if (gives_image(settings)) return mean_squared_error();
  if (images && !images->numbers.empty()) return number_loss(images->numbers);
  return images && images->masks ? softmax_cross_entropy({.ignored = -100})
                                 : softmax_cross_entropy();
}

Task onnx_task(const Settings& settings, const std::optional<ImageFacts>& trained,
               DataFacts* facts) {
  Task task;
  task.build = onnx_network_of(settings);
  task.loss = loss_of(settings, trained);
  const Graph graph = loss_graph(settings.model, task.build, task.loss, Mode::evaluate);
  const std::vector<Wanted> wanted = wanted_by(graph);
  Data data = load_samples(settings, facts);
  const Shape& shape = wanted.at(0).type.shape;
  if (!std::holds_alternative<DataSplit>(data)) require_no_layout(settings, trained);
  if (const auto* const folder = std::get_if<ImageFolder>(&data)) {
    require_scores(graph, std::ssize(folder->classes), settings.data);
    const ImageShape usual = image_of(wanted[0].type, picture_shape(settings));
    take_pictures(task, *folder, settings, image_wanted(settings, usual), trained);
  } else if (const auto* const masked = std::get_if<SegmentationFolder>(&data)) {
    const ImageShape usual = image_of(wanted[0].type, picture_shape(settings));
    take_masks(task, *masked, settings, image_wanted(settings, usual), trained);
  } else {
    auto& split = std::get<DataSplit>(data);
    task.table = split.table;
    task.classes = split.train.classes;
    require_scores(graph, split.train.classes, split.train.name);
    if (trained)
      take_layout(split, settings, trained);
    else
      take_layout(split, settings, shape);
    if (!trained && !takes_pixels(wanted, split.train)) {
      require_no_images(settings);
      task.training = std::make_shared<TensorSource>(columns_for(wanted, split.train));
      task.test = std::make_shared<TensorSource>(columns_for(wanted, split.test));
      return task;
    }
    take_as_images(split, settings.data);
    const ImageShape image =
        image_wanted(settings, image_of(wanted[0].type, shape_of(split.train)));
    if (!trained) require_fits(shape_of(split.train), image, settings.data);
    take_images(task, split, settings, image, trained);
  }
  task.training = shaped_as(task.training, shape, settings.data);
  task.test = shaped_as(task.test, shape, settings.data);
  return task;
}

Task prepare(const Settings& settings, const std::optional<ImageFacts>& trained, DataFacts* facts) {
  const std::string& image = settings.samples.image;
  require(!trained || image.empty() || image == image_text(trained->image()), "--image: ", image,
          ", and the run was trained on ", trained ? image_text(trained->image()) : "");
  const bool built_in = settings.onnx.file.empty();
  const bool text = built_in && is_language_model(settings.model);
  Task task = text       ? text_task(settings, facts)
              : built_in ? built_in_task(settings, trained, facts)
                         : onnx_task(settings, trained, facts);
  if (!text) task.loss = loss_of(settings, task.images);
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

std::int64_t count_training_samples(const Settings& settings) {
  const Data data = load_samples(settings, nullptr);
  if (const auto* const folder = std::get_if<ImageFolder>(&data))
    return std::ssize(folder->training);
  if (const auto* const masked = std::get_if<SegmentationFolder>(&data))
    return std::ssize(masked->training);
  return std::get<DataSplit>(data).train.size();
}

Task network_task(const Settings& settings, const std::optional<ImageFacts>& trained) {
  if (settings.onnx.file.empty() && is_language_model(settings.model))
    return text_network_task(settings);
  Task task;
  task.data = settings.data;
  task.images = trained;
  task.loss = loss_of(settings, trained);
  if (!settings.onnx.file.empty()) {
    task.build = onnx_network_of(settings);
    return task;
  }
  require<DataError>(trained.has_value(), "a run of ", settings.model, " without its images");
  task.classes = gives_image(settings) ? 0 : trained->classes;
  task.build = network_for(settings.model, *trained);
  return task;
}

Model model_of(const Settings& settings, const std::optional<ImageFacts>& trained) {
  return Model(settings.model, network_task(settings, trained).build,
               static_cast<std::uint64_t>(settings.seed));
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
