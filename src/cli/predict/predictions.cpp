// SPDX-License-Identifier: Apache-2.0
#include "cli/predict/predictions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/files/atomic_file.h"
#include "cli/common/json.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/predict/number_predictions.h"
#include "narrowgauge/npz.h"

namespace narrowgauge::cli {
namespace {

Guess guess_of(const Tensor& outputs, std::int64_t row) {
  const std::int64_t width = outputs.size() / outputs.dims().front();
  const auto output = [&](std::int64_t c) { return outputs.at(row * width + c); };
  Guess guess;
  for (std::int64_t c = 1; c < width; ++c)
    if (output(c) > output(guess.predicted)) guess.predicted = c;
  double sum = 0;
  for (std::int64_t c = 0; c < width; ++c) sum += std::exp(output(c) - output(guess.predicted));
  guess.share = 1 / sum;
  return guess;
}

// 1 where all outputs of the row are finite.
double finite_share(const Tensor& outputs, std::int64_t row) {
  const std::int64_t width = outputs.size() / outputs.dims().front();
  double share = 1;
  for (std::int64_t c = 0; c < width; ++c) share += 0 * outputs.at(row * width + c);
  return share;
}

// The first rows of a tensor.
Tensor rows_of(const Tensor& tensor, std::int64_t count) {
  Dims dims = tensor.dims();
  if (count == dims.front()) return tensor;
  const std::int64_t bytes = tensor.bytes() / dims.front() * count;
  dims.front() = count;
  Tensor rows(tensor.dtype(), dims);
  std::copy_n(tensor.data(), bytes, rows.data());
  return rows;
}

// Rows of one part after the other.
Tensor joined(const std::vector<Tensor>& parts) {
  Dims dims = parts.front().dims();
  dims.front() = 0;
  for (const Tensor& part : parts) dims.front() += part.dims().front();
  Tensor all(parts.front().dtype(), dims);
  std::byte* to = all.data();
  for (const Tensor& part : parts) to = std::copy_n(part.data(), part.bytes(), to);
  return all;
}

std::string csv_of_predictions(const Predictions& predictions) {
  if (predictions.of_numbers) return csv_of_numbers(predictions);
  const bool files = !predictions.files.empty();
  std::string text = files ? "file" : "sample";
  text += ",predicted,share,label\n";
  for (const Guess& guess : predictions.guesses) {
    const auto index = static_cast<std::size_t>(guess.index);
    text += fmt::format("{},{},{:.6f},{}\n",
                        files ? csv_field(predictions.files[index]) : std::to_string(guess.sample),
                        csv_field(predictions.class_text(guess.predicted)), guess.share,
                        guess.label < 0 ? "" : csv_field(predictions.class_text(guess.label)));
  }
  return text;
}

void save_arrays(const std::string& path, const Predictions& predictions) {
  if (predictions.of_numbers) return save_number_arrays(path, predictions);
  const Dims dims{std::ssize(predictions.guesses)};
  Tensor predicted(DType::i64, dims), labels(DType::i64, dims);
  for (std::size_t i = 0; i < predictions.guesses.size(); ++i) {
    predicted.values<std::int64_t>()[i] = predictions.guesses[i].predicted;
    labels.values<std::int64_t>()[i] = predictions.guesses[i].label;
  }
  const NamedTensor tensors[] = {{"outputs", predictions.outputs},
                                 {"predicted", predicted},
                                 {"labels", labels},
                                 {"samples", predictions.samples()}};
  write_npz(path, tensors);
}

void print_prediction_lines(const Predictions& predictions) {
  const bool names = !predictions.class_names.empty();
  for (const Guess& guess : predictions.guesses) {
    JsonObject line;
    if (!predictions.files.empty())
      line.add("file", predictions.files[static_cast<std::size_t>(guess.index)]);
    line.add("sample", guess.sample).add("predicted", guess.predicted);
    if (names) line.add("predicted_name", predictions.class_text(guess.predicted));
    line.add("share", guess.share).add("label", guess.label);
    if (guess.label < 0) line.add_null("label");
    if (names && guess.label >= 0) line.add("label_name", predictions.class_text(guess.label));
    print(line.line());
  }
}

}  // namespace

// A field with a comma, a quote or a line's end stands in quotes, which are doubled.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::string Predictions::class_text(std::int64_t index) const {
  const auto place = static_cast<std::size_t>(index);
  return place < class_names.size() ? class_names[place] : grouped(index);
}

Tensor Predictions::samples() const {
  Tensor samples(DType::i64, {std::ssize(guesses)});
  std::ranges::transform(guesses, samples.values<std::int64_t>().begin(), &Guess::sample);
  return samples;
}

Predictions predict_first(const Predict& predict, const std::shared_ptr<DataSource>& source,
                          std::int64_t count, std::int64_t batch) {
  BatchLoader loader(
      source, {.batch = std::min(batch, count), .shuffle = false, .keep_last = true, .epochs = 1});
  Predictions found;
  std::vector<Tensor> parts, targets;
  while (std::ssize(found.guesses) < count) {
    const std::optional<Batch> next = loader.next();
    if (!next) break;
    const Tensor outputs = predict(next->tensors.front());
    const Tensor& labels = next->tensors.back();
    const std::int64_t rows = std::min(outputs.dims().front(), count - std::ssize(found.guesses));
    found.of_numbers = is_floating(labels.dtype());
    for (std::int64_t row = 0; row < rows; ++row) {
      Guess guess;
      if (found.of_numbers)
        guess.share = finite_share(outputs, row);
      else
        guess = guess_of(outputs, row);
      guess.index = std::ssize(found.guesses);
      guess.sample = next->samples[static_cast<std::size_t>(row)];
      if (!found.of_numbers) guess.label = static_cast<std::int64_t>(labels.at(row));
      found.guesses.push_back(guess);
    }
    if (found.of_numbers) targets.push_back(rows_of(labels, rows));
    parts.push_back(rows_of(outputs, rows));
  }
  require<DataError>(!parts.empty(), "predict: none of the samples can be read");
  found.outputs = joined(parts);
  if (found.of_numbers) found.targets = joined(targets);
  if (found.targets.size() != found.outputs.size()) found.targets = {};
  return found;
}

void print_predictions(const Predictions& predictions, bool json) {
  if (predictions.of_numbers) return print_numbers(predictions, json);
  if (json) return print_prediction_lines(predictions);
  const bool files = !predictions.files.empty();
  const bool names = !predictions.class_names.empty();
  const bool labels =
      std::ranges::any_of(predictions.guesses, [](const Guess& guess) { return guess.label >= 0; });
  constexpr std::size_t least = 16;
  std::vector<Column> columns{files ? folding("file", least) : numbers("sample"),
                              names ? words("predicted") : numbers("predicted"), numbers("share")};
  if (labels)
    columns.insert(columns.end(), {names ? words("label") : numbers("label"), words("", 1)});
  TextTable table(std::move(columns));
  for (const Guess& guess : predictions.guesses) {
    std::vector<std::string> row{
        files ? predictions.files[static_cast<std::size_t>(guess.index)] : grouped(guess.sample),
        predictions.class_text(guess.predicted), percent_text(guess.share)};
    if (labels)
      row.insert(row.end(), {guess.label < 0 ? "" : predictions.class_text(guess.label),
                             guess.label < 0 || guess.is_right() ? "" : "wrong"});
    table.add(std::move(row));
  }
  print(table.text(output_width()));
}

void save_predictions(const std::string& path, const Predictions& predictions) {
  if (path.ends_with(".csv"))
    write_file_atomically(path, csv_of_predictions(predictions));
  else
    save_arrays(path, predictions);
}

}  // namespace narrowgauge::cli
