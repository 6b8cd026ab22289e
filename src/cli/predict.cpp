// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/parallel.h"
#include "cli/command.h"
#include "cli/common/exit_code.h"
#include "cli/common/json.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/trained.h"
#include "narrowgauge/npz.h"

namespace narrowgauge::cli {
namespace {

constexpr const char* examples = R"(examples:
  narrowgauge predict runs/lenet --count 5
      the classes of the first five test images
  narrowgauge predict runs/lenet --data digits.npz --save predictions.npz --quiet
      every output as an array, for other programs)";

struct Flags {
  TrainedFlags trained;
  std::optional<std::int64_t> count;
  std::optional<std::string> save;
  bool json = false, quiet = false;
};

struct Predictions {
  Tensor outputs;                    // [N, ...] of the network
  std::vector<std::int64_t> labels;  // [N], as the data have them
};

Predictions predict_first(const Trained& trained, std::int64_t count) {
  const ThreadScope threads(trained.settings.threads > 0 ? trained.settings.threads
                                                         : thread_count());
  BatchLoader loader(
      trained.task.test,
      {.batch = std::min(trained.batch, count), .shuffle = false, .keep_last = true, .epochs = 1});
  Predictions found;
  for (std::int64_t begin = 0; begin < count;) {
    const Batch batch = loader.next().value();
    const Tensor outputs = trained.session->model().predict(batch.tensors.front());
    if (begin == 0) {
      Dims dims = outputs.dims();
      dims.front() = count;
      found.outputs = Tensor(outputs.dtype(), dims);
    }
    const std::int64_t rows = outputs.dims().front(), row_bytes = outputs.bytes() / rows;
    const std::int64_t wanted = std::min(rows, count - begin);
    std::copy_n(outputs.data(), wanted * row_bytes, found.outputs.data() + begin * row_bytes);
    for (std::int64_t i = 0; i < wanted; ++i)
      found.labels.push_back(static_cast<std::int64_t>(batch.tensors.back().at(i)));
    begin += wanted;
  }
  return found;
}

// What the network takes a sample for, and how sure it is: the softmax of its outputs.
struct Guess {
  std::int64_t index = 0, predicted = 0, label = 0;
  double share = 0;
};

std::vector<Guess> guesses_of(const Predictions& predictions) {
  const Tensor& outputs = predictions.outputs;
  std::vector<Guess> guesses;
  for (std::size_t i = 0; i < predictions.labels.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    const std::int64_t width = outputs.size() / outputs.dims().front();
    const auto output = [&](std::int64_t c) { return outputs.at(index * width + c); };
    Guess guess{index, 0, predictions.labels[i]};
    for (std::int64_t c = 1; c < width; ++c)
      if (output(c) > output(guess.predicted)) guess.predicted = c;
    double sum = 0;
    for (std::int64_t c = 0; c < width; ++c) sum += std::exp(output(c) - output(guess.predicted));
    guess.share = 1 / sum;
    guesses.push_back(guess);
  }
  return guesses;
}

void print_guesses(const std::vector<Guess>& guesses, bool json) {
  TextTable table(
      {numbers("sample"), numbers("predicted"), numbers("share"), numbers("label"), words("", 1)});
  for (const Guess& guess : guesses) {
    const bool right = guess.predicted == guess.label;
    if (json) {
      JsonObject line;
      line.add("sample", guess.index).add("predicted", guess.predicted);
      print(line.add("share", guess.share).add("label", guess.label).line());
    }
    table.add({grouped(guess.index), grouped(guess.predicted), percent_text(guess.share),
               grouped(guess.label), right ? "" : "wrong"});
  }
  if (!json) print(table.text(output_width()));
}

// The outputs, the classes that they stand for and the labels, one row for each sample.
void save(const std::string& path, const Predictions& predictions,
          const std::vector<Guess>& guesses) {
  const Dims dims{static_cast<std::int64_t>(guesses.size())};
  Tensor predicted(DType::i64, dims), labels(DType::i64, dims);
  for (const Guess& guess : guesses) {
    predicted.values<std::int64_t>()[static_cast<std::size_t>(guess.index)] = guess.predicted;
    labels.values<std::int64_t>()[static_cast<std::size_t>(guess.index)] = guess.label;
  }
  const NamedTensor tensors[] = {
      {"outputs", predictions.outputs}, {"predicted", predicted}, {"labels", labels}};
  write_npz(path, tensors);
}

int run_predict(const Flags& flags) {
  const Trained trained = open_trained(flags.trained);
  require<ModelError>(!trained.task.text, "predict: ", *flags.trained.run, " is a run of ",
                      trained.settings.model,
                      ", a language model: `narrowgauge generate` continues a text with it");
  const std::int64_t all = trained.task.test_size;
  const std::int64_t count = std::min(flags.count.value_or(all), all);
  const Predictions predictions = predict_first(trained, count);
  const std::vector<Guess> guesses = guesses_of(predictions);
  if (flags.save) save(*flags.save, predictions, guesses);
  if (!flags.quiet) print_guesses(guesses, flags.json);
  const bool finite = std::all_of(guesses.begin(), guesses.end(),
                                  [](const Guess& guess) { return std::isfinite(guess.share); });
  require<DivergedError>(finite, "predict: some outputs are not finite");
  return ExitCode::ok;
}

}  // namespace

NG_COMMAND(predict, 25) {
  CLI::App& app =
      add_command(program, "predict", "what a trained network takes each sample for", examples);
  const auto flags = std::make_shared<Flags>();
  add_trained(app, flags->trained);
  add_whole(app, {"--count,-n", "N", "the first N test samples (all)"}, flags->count, 1);
  add_text(app, {"--save", "FILE", "outputs, predicted classes and labels as arrays (.npz)"},
           flags->save);
  add_switch(app, {"--quiet,-q", "", "no table"}, flags->quiet);
  add_switch(app, {"--json", "", "one JSON object per sample"}, flags->json);
  add_dump_config(app);
  when_chosen(app, [flags, &action] {
    action = {[flags] { return run_predict(*flags); },
              [flags] { return settled_flags(flags->trained); }};
  });
}

}  // namespace narrowgauge::cli
