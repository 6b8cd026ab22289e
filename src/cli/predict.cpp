// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <memory>

#include "base/parallel.h"
#include "cli/command.h"
#include "cli/common/exit_code.h"
#include "cli/common/text.h"
#include "cli/image_task.h"
#include "cli/predictions.h"
#include "cli/shaped_source.h"
#include "cli/trained.h"

namespace narrowgauge::cli {
namespace {

constexpr const char* examples = R"(examples:
  narrowgauge predict runs/lenet --count 5
      the classes of the first five test images
  narrowgauge predict runs/cats holiday/ cat.jpg --save holiday.csv
      the classes of pictures in files and folders, also as a table
  narrowgauge predict runs/lenet --data digits.npz --save predictions.npz --quiet
      every output as an array, for other programs)";

struct Flags {
  TrainedFlags trained;
  std::vector<std::string> inputs;
  std::optional<std::int64_t> count;
  std::optional<std::string> save;
  bool json = false, quiet = false, strict = false;
};

// Pictures as a source whose labels are their places in the list.
std::shared_ptr<DataSource> source_of(const std::vector<ImageFile>& files, const ImageFacts& facts,
                                      bool strict) {
  std::vector<ImageFile> numbered = files;
  for (std::size_t i = 0; i < numbered.size(); ++i)
    numbered[i].label = static_cast<std::int64_t>(i);
  ImageInput input = input_of(facts);
  input.strict = strict;
  return std::make_shared<ImageSource>(std::move(numbered), input);
}

// Puts the files and their own labels in the place of the numbers that the source had.
void name_files(Predictions& predictions, const std::vector<ImageFile>& files) {
  for (Guess& guess : predictions.guesses) {
    const ImageFile& file = files[static_cast<std::size_t>(guess.label)];
    predictions.files.push_back(file.path);
    guess.label = file.label;
  }
}

Predictions predict_files(const Predict& predict, const ModelPort& port,
                          const std::vector<ImageFile>& files, const ImageFacts& facts,
                          const Flags& flags, std::int64_t batch) {
  std::shared_ptr<DataSource> source = source_of(files, facts, flags.strict);
  if (port.type) source = shaped_as(source, port.type->shape, "pictures");
  const std::int64_t all = std::ssize(files);
  Predictions found =
      predict_first(predict, source, std::min(flags.count.value_or(all), all), batch);
  name_files(found, files);
  found.class_names = facts.class_names;
  return found;
}

// Pictures that nobody has labelled, without the data of the training.
Predictions predict_inputs(const Flags& flags) {
  require(!flags.trained.data, "--data: names samples with labels, ", flags.inputs.front(),
          " is a picture or a folder of pictures");
  Opened opened = open_network(flags.trained);
  const std::optional<ImageFacts>& facts = opened.run.record.images;
  require(facts.has_value(), "predict: ", *flags.trained.run,
          " was not trained on images; `narrowgauge run` takes arrays for its network");
  std::vector<ImageFile> files;
  for (const std::string& path : flags.inputs)
    for (const std::string& file : find_images(path)) files.push_back({file, -1});
  return predict_files([&](const Tensor& inputs) { return opened.model->predict(inputs); },
                       opened.model->inputs().at(0), files, *facts, flags,
                       flags.trained.batch.value_or(usual_batch));
}

Predictions predict_samples(const Flags& flags) {
  const Trained trained = open_trained(flags.trained);
  const Task& task = trained.task;
  Model& model = trained.session->model();
  const Predict predict = [&](const Tensor& inputs) { return model.predict(inputs); };
  const ThreadScope threads(trained.settings.threads > 0 ? trained.settings.threads
                                                         : thread_count());
  if (!task.test_files.empty())
    return predict_files(predict, model.inputs().at(0), task.test_files, *task.images, flags,
                         trained.batch);
  const std::int64_t count = std::min(flags.count.value_or(task.test_size), task.test_size);
  Predictions found = predict_first(predict, task.test, count, trained.batch);
  if (task.images) found.class_names = task.images->class_names;
  return found;
}

int run_predict(const Flags& flags) {
  const Predictions found = flags.inputs.empty() ? predict_samples(flags) : predict_inputs(flags);
  if (flags.save) save_predictions(*flags.save, found);
  if (!flags.quiet) print_predictions(found, flags.json);
  const bool finite = std::ranges::all_of(
      found.guesses, [](const Guess& guess) { return std::isfinite(guess.share); });
  require<DivergedError>(finite, "predict: some outputs are not finite");
  return ExitCode::ok;
}

}  // namespace

NG_COMMAND(predict, 25) {
  CLI::App& app =
      add_command(program, "predict", "what a trained network takes each sample for", examples);
  const auto flags = std::make_shared<Flags>();
  add_trained(app, flags->trained);
  add_arguments(app, {"INPUT", "", "pictures, or folders of them, in place of the test samples"},
                flags->inputs);
  add_whole(app, {"--count,-n", "N", "the first N samples (all)"}, flags->count, 1);
  add_text(app,
           {"--save", "FILE", "a table (.csv), or outputs, classes and labels as arrays (.npz)"},
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
