// SPDX-License-Identifier: Apache-2.0
#include "cli/run_folder.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"

namespace narrowgauge::cli {
namespace {

using Json = nlohmann::ordered_json;
constexpr int format_version = 1;

std::string path_in(const std::string& folder, const char* name) {
  return (std::filesystem::path(folder) / name).string();
}

// Both directions of a field at once: get or set by name.
struct Reader {
  const Json& json;
  template <class T>
  void operator()(const char* name, T& value) const {
    value = json.at(name).get<T>();
  }
};
struct Writer {
  Json& json;
  template <class T>
  void operator()(const char* name, const T& value) const {
    json[name] = value;
  }
};

void visit_settings(auto& settings, const auto& visit) {
  visit("model", settings.model);
  visit("data", settings.data);
  visit("amp", settings.amp);
  visit("overrides", settings.overrides);
  visit("math", settings.math);
  visit("epochs", settings.epochs);
  visit("batch", settings.batch);
  visit("optimizer", settings.optimizer);
  visit("learning_rate", settings.learning_rate);
  visit("momentum", settings.momentum);
  visit("nesterov", settings.nesterov);
  visit("weight_decay", settings.weight_decay);
  visit("clip", settings.clip);
  visit("schedule", settings.schedule);
  visit("warmup", settings.warmup);
  visit("loss_scale", settings.loss_scale);
  visit("seed", settings.seed);
  visit("threads", settings.threads);
  visit("deterministic", settings.deterministic);
}

void visit_data(auto& data, const auto& visit) {
  visit("classes", data.classes);
  visit("channels", data.drawn.channels);
  visit("height", data.drawn.height);
  visit("width", data.drawn.width);
  visit("padded_height", data.transform.height);
  visit("padded_width", data.transform.width);
  visit("mean", data.transform.mean);
  visit("deviation", data.transform.deviation);
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  require<DataError>(file.good(), path, ": there is no such file, so this is not a run folder");
  return {std::istreambuf_iterator<char>(file), {}};
}

void check_data(const ImageData& data, const std::string& path) {
  const ImageShape& drawn = data.drawn;
  const bool sizes = drawn.channels > 0 && drawn.height > 0 && drawn.width > 0;
  const bool padding = data.transform.height >= 0 && data.transform.width >= 0;
  require<DataError>(sizes && padding && data.classes > 0, path,
                     ": classes or sizes of its images make no sense");
}

}  // namespace

std::string model_path(const std::string& folder) { return path_in(folder, "model.safetensors"); }
std::string plan_path(const std::string& folder) { return path_in(folder, "plan.txt"); }

RunRecord read_run(const std::string& folder) {
  std::error_code ignored;
  require<DataError>(std::filesystem::is_directory(folder, ignored), folder,
                     ": there is no such folder");
  const std::string path = path_in(folder, "run.json");
  RunRecord record;
  try {
    const Json json = Json::parse(read_text(path));
    const int version = json.at("version").get<int>();
    require<DataError>(version == format_version, path, ": is of version ", version,
                       ", this program reads ", format_version);
    visit_settings(record.settings, Reader{json.at("settings")});
    visit_data(record.data, Reader{json.at("images")});
  } catch (const Json::exception& error) {
    throw DataError(concat(path, ": is damaged: ", error.what()));
  }
  try {
    check_settings(record.settings);
  } catch (const UsageError& error) {
    throw DataError(concat(path, ": is damaged: ", error.what()));
  }
  ImageData& data = record.data;
  check_data(data, path);
  data.name = record.settings.data;
  data.image = data.drawn;
  if (data.transform.height > 0) data.image.height = data.transform.height;
  if (data.transform.width > 0) data.image.width = data.transform.width;
  return record;
}

namespace {

std::string text_of(const RunRecord& record) {
  Json settings, images;
  visit_settings(record.settings, Writer{settings});
  visit_data(record.data, Writer{images});
  const Json json{{"version", format_version},
                  {"settings", std::move(settings)},
                  {"images", std::move(images)}};
  try {
    return json.dump(2) + '\n';
  } catch (const Json::exception&) {
    throw DataError(concat("the settings of this run cannot be kept: \"", record.settings.data,
                           "\" is not UTF-8"));
  }
}

}  // namespace

void write_run(const std::string& folder, const RunRecord& record, const PrecisionPlan& plan) {
  save_plan(plan, plan_path(folder));
  write_file_atomically(path_in(folder, "run.json"), text_of(record));
}

void require_writable(const std::string& folder, const Settings& settings) {
  text_of({settings, {}});
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  require<DataError>(!error, folder, ": cannot be made: ", error.message());
  const AtomicFile probe(path_in(folder, "run.json"));
}

}  // namespace narrowgauge::cli
