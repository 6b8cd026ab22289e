// SPDX-License-Identifier: Apache-2.0
#include "cli/task/run_folder.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "api/runs/checkpoint_files.h"
#include "base/log.h"
#include "base/text/json_reading.h"
#include "cli/task/run_network.h"
#include "narrowgauge/language_models.h"

namespace narrowgauge::cli {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;  // as it is written
constexpr int format_version = 1;

// Serves both directions of a field: reads or writes it by name.
struct Reader {
  const Json& json;
  const std::string& path;
  template <class T>
  void operator()(const char* name, T& value) const {
    value = json.at(name).get<T>();
  }
  void operator()(const char* name, std::integral auto& value) const {
    value = whole_number<std::remove_reference_t<decltype(value)>>(json, name, path);
  }
  void operator()(const char* name, bool& value) const { value = json.at(name).get<bool>(); }
  // Reads a field that older files do not have; the value stays then.
  template <class T>
  void optional(const char* name, T& value) const {
    if (json.contains(name)) (*this)(name, value);
  }
  void precision(RunPrecision& precision) const {
    precision.set_amp(amp_of(json.at("amp").get<std::string>()));
    optional("policy", precision.policy);
    (*this)("overrides", precision.overrides);
    const auto math = json.at("math").get<std::string>();
    precision.in_f64 = math == "f64";
    if (!precision.in_f64) precision.f32_math = math_of(math);
    optional("master_weights", precision.master_weights);
    optional("keep_batch_norm_f32", precision.keep_batch_norm_f32);
    if (json.contains("weight_rounding"))
      precision.rounding = parse_weight_rounding(json.at("weight_rounding").get<std::string>());
  }
  void rule(const std::string& optimizer, UpdateRule& rule) const {
    rule = parse_optimizer(optimizer).rule;
    for (const Hyperparameter& each : rule.hyperparameters()) {
      const std::string name(each.name);
      if (!json.contains(name)) continue;
      if (std::holds_alternative<bool>(each.value))
        rule.set(name, json.at(name).get<bool>());
      else
        rule.set(name, json.at(name).get<double>());
    }
  }
};
struct Writer {
  OrderedJson& json;
  template <class T>
  void operator()(const char* name, const T& value) const {
    json[name] = value;
  }
  template <class T>
  void optional(const char* name, const T& value) const {
    json[name] = value;
  }
  void precision(const RunPrecision& precision) const {
    json["amp"] = name(precision.amp());
    json["policy"] = precision.policy;
    json["overrides"] = precision.overrides;
    json["math"] = precision.in_f64 ? "f64" : name(precision.f32_math);
    json["master_weights"] = precision.master_weights;
    json["keep_batch_norm_f32"] = precision.keep_batch_norm_f32;
    json["weight_rounding"] = name(precision.rounding);
  }
  void rule(const std::string&, const UpdateRule& rule) const {
    for (const Hyperparameter& each : rule.hyperparameters())
      std::visit([&](auto value) { json[std::string(each.name)] = value; }, each.value);
  }
};

void read_row(const SettingRow& row, Settings& settings, const Reader& read) {
  SettingValue value = value_of(row, settings);
  std::visit([&](auto& held) { read(row.key.c_str(), held); }, value);
  set_value(row, settings, value);
}

void read_settings(const Reader& read, Settings& settings) {
  read("model", settings.model);
  read("data", settings.data);
  read.precision(settings.precision);
  for (const SettingRow& row : setting_rows())
    if (row.from_the_first || read.json.contains(row.key)) read_row(row, settings, read);
  read.rule(settings.optimizer, settings.rule);
}

void write_settings(const Settings& settings, const Writer& write) {
  write("model", settings.model);
  write("data", settings.data);
  write.precision(settings.precision);
  for (const SettingRow& row : setting_rows())
    std::visit([&](const auto& value) { write(row.key.c_str(), value); }, value_of(row, settings));
  write.rule(settings.optimizer, settings.rule);
}

void visit_onnx(auto& onnx, const auto& visit) {
  visit.optional("file", onnx.kept);
  visit("shapes", onnx.shapes);
  visit("values", onnx.values);
  visit("output", onnx.output);
  visit("batch_norm", onnx.batch_norm);
}

void visit_text(auto& text, const auto& visit) {
  visit("tokens", text.tokens);
  visit("most", text.most);
  visit("least_count", text.least_count);
  visit("vocabulary", text.vocabulary);
  visit("merges", text.merges);
  visit("cased", text.cased);
  visit("context", text.context);
  visit("layers", text.size.layers);
  visit("width", text.size.width);
  visit("heads", text.size.heads);
  visit("dropout", text.size.dropout);
}

void visit_images(auto& images, const auto& visit) {
  visit("classes", images.classes);
  visit("channels", images.drawn.channels);
  visit("height", images.drawn.height);
  visit("width", images.drawn.width);
  visit.optional("repeated_channels", images.transform.channels);
  visit("padded_height", images.transform.height);
  visit("padded_width", images.transform.width);
  visit("mean", images.transform.mean);
  visit("deviation", images.transform.deviation);
  visit.optional("class_names", images.class_names);
  visit.optional("masks", images.masks);
  visit.optional("target_mean", images.numbers.mean);
  visit.optional("target_deviation", images.numbers.deviation);
}

void visit_part(auto& part, const auto& visit) {
  visit("samples", part.samples);
  visit("sha256", part.sha256);
}

void check_images(const ImageFacts& images, const std::string& path) {
  const ImageShape &drawn = images.drawn, seen = images.image();
  const ImageTransform& transform = images.transform;
  const bool sizes = drawn.channels > 0 && drawn.height > 0 && drawn.width > 0;
  const bool padding = transform.height >= 0 && transform.width >= 0 && transform.channels >= 0;
  require<DataError>(sizes && padding && images.classes >= 0 && images.outputs() > 0, path,
                     ": is damaged: classes or sizes of its images make no sense");
  const auto finite = [](float number) { return std::isfinite(number); };
  const auto positive = [](float number) { return std::isfinite(number) && number > 0; };
  const auto one_for_each = [&](const std::vector<float>& numbers) {
    return numbers.size() == 1 || std::ssize(numbers) == seen.channels;
  };
  require<DataError>(one_for_each(transform.mean) && one_for_each(transform.deviation) &&
                         std::ranges::all_of(transform.mean, finite) &&
                         std::ranges::all_of(transform.deviation, positive),
                     path, ": is damaged: mean or deviation of its images make no sense");
  const NumberFacts& numbers = images.numbers;
  require<DataError>(numbers.mean.size() == numbers.deviation.size() &&
                         std::ranges::all_of(numbers.mean, finite) &&
                         std::ranges::all_of(numbers.deviation, positive),
                     path, ": is damaged: mean or deviation of its targets make no sense");
  const std::int64_t names = std::ssize(images.class_names);
  require<DataError>(names == 0 || names == images.classes, path, ": is damaged: it has ", names,
                     " names for ", images.classes, " classes");
}

RunRecord parse_run(const std::string& text, const std::string& path) {
  RunRecord record;
  try {
    const auto json = parse_json<Json>(text, path);
    const auto version = whole_number<int>(json, "version", path);
    require<DataError>(version == format_version, path, ": is of version ", version,
                       ", this program reads ", format_version);
    read_settings(Reader{json.at("settings"), path}, record.settings);
    if (json.contains("onnx")) {
      record.settings.onnx.kept = network_file;
      visit_onnx(record.settings.onnx, Reader{json.at("onnx"), path});
      record.settings.onnx.file = record.settings.onnx.kept;
      require<DataError>(is_network_name(record.settings.onnx.kept), path, ": is damaged: \"",
                         record.settings.onnx.kept, "\" is no name for its network");
    }
    const bool has_text = json.contains("text");
    if (has_text) visit_text(record.settings.text, Reader{json.at("text"), path});
    require<DataError>(has_text || !is_language_model(record.settings.model), path,
                       ": is damaged: it does not say what text its network reads");
    if (json.contains("images") || !(json.contains("onnx") || has_text))
      visit_images(record.images.emplace(), Reader{json.at("images"), path});
    if (json.contains("data_set")) {
      DataFacts& facts = record.facts.emplace();
      visit_part(facts.training, Reader{json.at("data_set").at("training"), path});
      visit_part(facts.test, Reader{json.at("data_set").at("test"), path});
    }
    check_settings(record.settings);
    check_text(record.settings.text);
  } catch (const Json::exception& error) {
    throw DataError(concat(path, ": is damaged: ", error.what()));
  } catch (const UsageError& error) {
    throw DataError(concat(path, ": is damaged: ", error.what()));
  }
  if (record.images) check_images(*record.images, path);
  return record;
}

}  // namespace

bool RunRecord::is_text() const {
  return settings.onnx.file.empty() && is_language_model(settings.model);
}

std::string Run::file(const char* name) const { return path_in(checkpoint.path, name); }

std::optional<std::string> Run::text(const char* name) const {
  const auto found = checkpoint.files.find(name);
  if (found == checkpoint.files.end()) return std::nullopt;
  return found->second;
}

Run read_run(const std::string& folder) {
  Run run;
  run.checkpoint = read_checkpoint(folder);
  const auto text = run.text(run_file);
  require<DataError>(text.has_value(), run.file(run_file),
                     ": there is no such file, so this is not a run of the program");
  run.record = parse_run(*text, run.file(run_file));
  if (run.record.is_text()) {
    const auto tokenizer = run.text(tokenizer_file);
    require<DataError>(tokenizer.has_value(), run.file(tokenizer_file), ": there is no such file");
    run.record.settings.text.tokenizer = *tokenizer;
  }
  std::string& network = run.record.settings.onnx.file;
  if (!network.empty()) network = path_in(run_folder_of(folder), network);
  return run;
}

std::string run_text(const RunRecord& record) {
  OrderedJson json{{"version", format_version}};
  write_settings(record.settings, Writer{json["settings"]});
  if (!record.settings.onnx.file.empty()) visit_onnx(record.settings.onnx, Writer{json["onnx"]});
  if (record.is_text()) visit_text(record.settings.text, Writer{json["text"]});
  if (record.images) visit_images(*record.images, Writer{json["images"]});
  if (record.facts) {
    visit_part(record.facts->training, Writer{json["data_set"]["training"]});
    visit_part(record.facts->test, Writer{json["data_set"]["test"]});
  }
  try {
    return json.dump(2) + '\n';
  } catch (const Json::exception&) {
    throw DataError(concat("the settings of this run cannot be kept: \"", record.settings.data,
                           "\" is not UTF-8"));
  }
}

std::shared_ptr<CheckpointFolder> open_run_folder(const std::string& folder,
                                                  const Settings& settings) {
  run_text({settings, {}, {}});
  return std::make_shared<CheckpointFolder>(folder);
}

namespace {

std::int64_t step_of(const Checkpoint& checkpoint) {
  const auto steps = checkpoint.state.metadata.find("steps");
  std::int64_t step = -1;
  if (steps != checkpoint.state.metadata.end())
    std::from_chars(steps->second.data(), steps->second.data() + steps->second.size(), step);
  return step;
}

// The best checkpoint of the run, unless it is later than `resumed` or of another training.
std::optional<Checkpoint> best_before(const Checkpoint& resumed, const std::string& run) try {
  const std::string best = best_path(run);
  if (best.empty()) return std::nullopt;
  Checkpoint checkpoint = read_checkpoint(best);
  const auto& before = resumed.state.metadata;
  const bool same = before.contains("run") && before.at("run") == checkpoint.state.metadata["run"];
  if (!same || step_of(checkpoint) > step_of(resumed)) return std::nullopt;
  return checkpoint;
} catch (const DataError& error) {
  log(LogLevel::warning, concat(error.what(), "; the best checkpoint begins anew"));
  return std::nullopt;
}

}  // namespace

TakenCheckpoint taken_of(const Run& run) {
  const std::string& path = run.checkpoint.path;
  const std::string best = best_path(run_folder_of(path));
  std::error_code ignored;
  TakenCheckpoint taken{.path = path, .step = step_of(run.checkpoint)};
  taken.has_best = !best.empty();
  taken.best = taken.has_best && std::filesystem::equivalent(best, path, ignored);
  if (taken.best) taken.path = best;
  return taken;
}

void take_best(const Run& resumed, const std::string& from, const CheckpointOptions& to) {
  std::error_code ignored;
  if (!to.best || std::filesystem::equivalent(from, to.locked->path(), ignored)) return;
  std::optional<Checkpoint> best = best_before(resumed.checkpoint, from);
  if (!best) return;
  for (const auto& [name, text] : to.files) best->files[name] = text;
  best->state.metadata[best_key] = "1";
  to.locked->mark_best(to.locked->add(*best, to.keep));
}

}  // namespace narrowgauge::cli
