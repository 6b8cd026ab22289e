// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <memory>

#include "base/threads/parallel.h"
#include "cli/common/exit_code.h"
#include "cli/common/text.h"
#include "cli/config/command.h"
#include "cli/flags/output_file.h"
#include "cli/predict/picture_answers.h"
#include "cli/predict/predict_images.h"
#include "cli/predict/predict_masks.h"
#include "cli/predict/predictions.h"
#include "cli/task/image_task.h"
#include "cli/task/shaped_source.h"
#include "cli/training/trained.h"

namespace narrowgauge::cli {
namespace {

constexpr const char* predict_examples = R"(examples:
  narrowgauge predict runs/lenet --count 5
      the classes of the first five test images
  narrowgauge predict runs/cats holiday/ cat.jpg --save holiday.csv
      the classes of pictures in files and folders, also as a table
  narrowgauge predict runs/cells new/ --save masks
      of a network for pixels: a mask for each picture
  narrowgauge predict runs/parts new/ --save errors.csv
      of an autoencoder: how unlike the training each picture is
  narrowgauge predict runs/lenet --data digits.npz --save predictions.npz --quiet
      every output as an array, for other programs)";

struct PredictFlags {
  TrainedFlags trained;
  std::vector<std::string> inputs;
  std::optional<std::int64_t> count;
  std::optional<std::string> save;
  bool json = false, quiet = false, strict = false;

  PictureOptions pictures() const { return {save, strict, json, quiet}; }
};

std::shared_ptr<DataSource> source_of(const std::vector<ImageFile>& files, const ImageFacts& facts,
                                      bool strict) {
  ImageInput input = input_of(facts);
  input.strict = strict;
  return std::make_shared<ImageSource>(files, input);
}

// The network that is asked, and how.
struct Question {
  Predict predict;
  ModelPort port;    // its input
  ImageFacts facts;  // how samples become that
  bool gives_image;  // whether it gives its input again
  std::int64_t batch = usual_batch;
  const PredictFlags& flags;

  std::int64_t count_of(std::int64_t all) const { return std::min(flags.count.value_or(all), all); }
};

Predictions predict_files(const Question& question, const std::vector<ImageFile>& files) {
  std::shared_ptr<DataSource> source = source_of(files, question.facts, question.flags.strict);
  if (question.port.type) source = shaped_as(source, question.port.type->shape, "pictures");
  const std::int64_t count = question.count_of(std::ssize(files));
  Predictions found = predict_first(question.predict, source, count, question.batch);
  tell_left_out(count, std::ssize(found.guesses));
  for (const Guess& guess : found.guesses)
    found.files.push_back(files[static_cast<std::size_t>(guess.sample)].path);
  found.class_names = question.facts.class_names;
  return found;
}

// Shows and saves what was found.
int report_predictions(const Predictions& found, const PredictFlags& flags) {
  if (flags.save) save_predictions(*flags.save, found);
  if (!flags.quiet) print_predictions(found, flags.json);
  const bool finite = std::ranges::all_of(
      found.guesses, [](const Guess& guess) { return std::isfinite(guess.share); });
  require<DivergedError>(finite, "predict: some outputs are not finite");
  return ExitCode::ok;
}

int report_files(const Question& question, std::vector<ImageFile> files) {
  const PredictFlags& flags = question.flags;
  const PictureOptions options = flags.pictures();
  files.resize(static_cast<std::size_t>(question.count_of(std::ssize(files))));
  if (question.gives_image)
    predict_images(question.predict, source_of(files, question.facts, flags.strict), files,
                   std::ssize(files), question.batch, question.facts, options);
  else if (question.facts.masks)
    predict_masks(question.predict, files, question.facts, options);
  else
    return report_predictions(predict_files(question, files), flags);
  return ExitCode::ok;
}

// Rows of a table that become the same features as those of the training.
Predictions predict_rows(const Question& question, const std::string& path,
                         const std::string& schema) {
  DataSet rows = read_rows(path, schema);
  const Dims dims = rows.input().dims();
  rows.inputs = {{"images", rows.input().reshaped({dims[0], dims[1], 1, 1})}};
  const bool labelled = !rows.targets.empty();
  const bool of_numbers = !question.facts.numbers.empty();
  const std::int64_t numbers = question.facts.numbers.count();
  if (!labelled)
    rows.targets = {
        {"y", of_numbers ? Tensor(DType::f32, {dims[0], numbers}) : Tensor(DType::i64, {dims[0]})}};
  const auto source = std::make_shared<TensorSource>(rows, question.facts.transform);
  Predictions found =
      predict_first(question.predict, source, question.count_of(dims[0]), question.batch);
  if (!labelled) {
    for (Guess& guess : found.guesses) guess.label = -1;
    found.targets = {};
  }
  found.class_names = question.facts.class_names;
  return found;
}

void require_no_text(bool text, const PredictFlags& flags, const Settings& settings) {
  require<ModelError>(!text, "predict: ", *flags.trained.run, " is a run of ", settings.model,
                      ", a language model: `narrowgauge generate` continues a text with it");
}

// Pictures go to a folder, other predictions to a file. Neither may be what is read, nor the data
// that the settings name.
void check_output(const PredictFlags& flags, const Settings& settings,
                  const std::optional<ImageFacts>& images) {
  std::vector<std::string> inputs = flags.inputs;
  inputs.push_back(settings.data);
  require_apart("--save", flags.save, inputs);
  const bool pictures = gives_image(settings) || (images.has_value() && images->masks);
  if (flags.save && pictures && !flags.pictures().is_table())
    require_folder_apart("--save", *flags.save, inputs);
}

// What nobody has labelled, without the data of the training.
int predict_inputs(const PredictFlags& flags) {
  require(!flags.trained.data, "--data: names samples with labels, ", flags.inputs.front(),
          " is an input without");
  Opened opened = open_network(flags.trained);
  const RunRecord& record = opened.run.record;
  const std::optional<ImageFacts>& facts = record.images;
  require_no_text(!record.settings.text.tokenizer.empty(), flags, record.settings);
  check_output(flags, record.settings, facts);
  require(facts.has_value(), "predict: ", *flags.trained.run,
          " was not trained on images; `narrowgauge run` takes arrays for its network");
  const Question question{
      .predict = [&](const Tensor& inputs) { return opened.model->predict(inputs); },
      .port = opened.model->inputs().at(0),
      .facts = *facts,
      .gives_image = gives_image(record.settings),
      .batch = flags.trained.batch.value_or(usual_batch),
      .flags = flags};
  const std::string& table = record.settings.samples.table;
  if (!table.empty()) {
    require(flags.inputs.size() == 1, "predict: expected one table, got ", flags.inputs.size());
    return report_predictions(predict_rows(question, flags.inputs.front(), table), flags);
  }
  std::vector<ImageFile> files;
  for (const std::string& path : flags.inputs)
    for (const std::string& file : find_images(path)) files.push_back({file, -1});
  return report_files(question, std::move(files));
}

int predict_samples(const PredictFlags& flags) {
  const Trained trained = open_trained(flags.trained);
  const Task& task = trained.task;
  require_no_text(task.text.has_value(), flags, trained.settings);
  check_output(flags, trained.settings, task.images);
  Model& model = trained.session->model();
  const Predict predict = [&](const Tensor& inputs) { return model.predict(inputs); };
  const ThreadScope threads(trained.settings.threads > 0 ? trained.settings.threads
                                                         : thread_count());
  const bool image = gives_image(trained.settings);
  if (!task.test_files.empty())
    return report_files({predict, model.inputs().at(0), *task.images, image, trained.batch, flags},
                        task.test_files);
  const std::int64_t count = std::min(flags.count.value_or(task.test_size), task.test_size);
  if (image) {
    predict_images(predict, task.test, {}, count, trained.batch, *task.images, flags.pictures());
    return ExitCode::ok;
  }
  Predictions found = predict_first(predict, task.test, count, trained.batch);
  if (task.images) found.class_names = task.images->class_names;
  return report_predictions(found, flags);
}

int run_predict(const PredictFlags& flags) {
  return flags.inputs.empty() ? predict_samples(flags) : predict_inputs(flags);
}

}  // namespace

NG_COMMAND(predict, 25) {
  CLI::App& app = add_command(program, "predict", "what a trained network takes each sample for",
                              predict_examples);
  const auto flags = std::make_shared<PredictFlags>();
  add_trained(app, flags->trained);
  add_arguments(
      app, {"INPUT", "", "pictures, folders of them, or a table, in place of the test samples"},
      flags->inputs);
  add_whole(app, {"--count,-n", "N", "the first N samples (all)"}, flags->count, 1);
  add_text(
      app,
      {"--save,--output,-o", "FILE",
       "a table (.csv); outputs, classes, labels as arrays (.npz); of masks and images a folder"},
      flags->save);
  add_switch(app, {"--strict-data", "", "a damaged picture is an error, with exit code 4"},
             flags->strict);
  add_switch(app, {"--quiet,-q", "", "no table"}, flags->quiet);
  add_switch(app, {"--json", "", "one JSON object per sample"}, flags->json);
  add_dump_config(app);
  when_chosen(app, [flags, &action] {
    action = {[flags] { return run_predict(*flags); },
              [flags] { return settled_flags(flags->trained); }};
  });
}

}  // namespace narrowgauge::cli
