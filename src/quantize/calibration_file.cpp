// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/files/atomic_file.h"
#include "base/files/open_file.h"
#include "base/text/json_reading.h"
#include "base/text/json_writing.h"
#include "quantize/calibration.h"

namespace narrowgauge {

namespace {

using Json = nlohmann::json;
constexpr std::string_view format_name = "narrowgauge calibration";
constexpr int format_version = 1;

// Bins as runs: the place of the first one, then the counts of those that follow each other.
std::string runs_of(std::span<const Histogram::Entry> entries) {
  std::string text = "[";
  std::int64_t next = 0;
  for (const auto& [place, count] : entries) {
    const bool first = text.size() == 1;
    if (first || place != next) text += concat(first ? "[" : "],[", place);
    text += concat(',', count);
    next = place + 1;
  }
  return text + (entries.empty() ? "]" : "]]");
}

std::string channels_text(const ChannelSums& channels) {
  return json_list(channels.sums(), [](const ExactSum& sum) {
    return concat('[', sum.count(), ',', json_text<Json>(sum.text()), ']');
  });
}

std::string line_of(const std::string& name, const ValueStatistics& value) {
  const Histogram& histogram = value.histogram;
  return json_object({{"name", json_text<Json>(name)},
                      {"least", json_number<Json>(histogram.least())},
                      {"most", json_number<Json>(histogram.most())},
                      {"nans", concat(histogram.nans())},
                      {"infinities", concat(histogram.infinities())},
                      {"bins", runs_of(histogram.entries())},
                      {"axis", concat(value.channels.axis())},
                      {"channels_differ", concat(value.channels.differ())},
                      {"channels", channels_text(value.channels)}});
}

std::string sizes_text(const std::map<std::string, double>& sizes) {
  std::string text = "{";
  for (const auto& [name, size] : sizes)
    text += concat(text.size() > 1 ? "," : "", json_text<Json>(name), ':', json_number<Json>(size));
  return text + '}';
}

// What a file holds, if it is whole.
class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)) {}

  Calibration read() const {
    const auto json = parse_json<Json>(read_text_file(path_), path_);
    const bool is_ours =
        json.is_object() && json.contains("format") && json["format"] == std::string(format_name);
    require<DataError>(is_ours, path_, ": is no calibration: expected \"format\": \"", format_name,
                       '"');
    const auto version = whole_number<std::int64_t>(json, "version", path_);
    require<DataError>(version == format_version, path_, ": is of version ", version,
                       " of calibrations, expected ", format_version);
    std::vector<std::string> names;
    std::vector<ValueStatistics> values;
    for (const Json& value : json.at("values")) {
      names.push_back(value.at("name").get<std::string>());
      values.push_back(statistics(value));
    }
    Calibration made(std::move(names), std::move(values),
                     whole_number<std::int64_t>(json, "samples", path_));
    made.set_network(network(json));
    return made;
  }

 private:
  std::int64_t whole(const Json& list, std::size_t i) const {
    const Json& value = list.at(i);
    require<DataError>(value.is_number_integer() && value <= most_whole, path_,
                       ": is damaged: expected whole numbers in lists, found ", value.dump());
    return value.get<std::int64_t>();
  }

  float number(const Json& value, const char* key) const {
    const auto wide = value.at(key).get<double>();
    const auto narrow = static_cast<float>(wide);
    require<DataError>(std::isfinite(narrow) && double{narrow} == wide, path_,
                       ": is damaged: expected an f32 as ", key, ", found ", value.at(key).dump());
    return narrow;
  }

  Histogram histogram(const Json& value) const {
    std::vector<Histogram::Entry> entries;
    for (const Json& run : value.at("bins")) {
      const std::int64_t first = whole(run, 0);
      require<DataError>(std::abs(first) <= Histogram::last_place, path_,
                         ": is damaged: there is no bin ", first);
      for (std::size_t i = 1; i < run.size(); ++i)
        entries.push_back(
            {static_cast<std::int32_t>(first) + static_cast<std::int32_t>(i) - 1, whole(run, i)});
    }
    return Histogram::of(std::move(entries), number(value, "least"), number(value, "most"),
                         whole_number<std::int64_t>(value, "nans", path_),
                         whole_number<std::int64_t>(value, "infinities", path_));
  }

  ChannelSums channels(const Json& value, std::int64_t count) const {
    std::vector<ExactSum> sums;
    const bool differ = value.at("channels_differ").get<bool>();
    for (const Json& channel : value.at("channels")) {
      const std::int64_t counted = whole(channel, 0);
      const auto sum = ExactSum::parse(channel.at(1).get<std::string>(), counted);
      require<DataError>(sum && counted <= count, path_, ": is damaged: ", channel.dump(),
                         " is no sum of a channel");
      sums.push_back(*sum);
      count -= counted;
    }
    require<DataError>(differ || count == 0, path_,
                       ": is damaged: bins and channels count different numbers of values");
    return ChannelSums::of(std::move(sums), whole_number<int>(value, "axis", path_), differ);
  }

  CalibratedNetwork network(const Json& json) const {
    CalibratedNetwork made{.equalized = json.at("equalized").get<bool>()};
    for (const auto& [name, value] : json.at("weights").items()) {
      const auto size = value.get<double>();
      require<DataError>(std::isfinite(size) && size >= 0, path_,
                         ": is damaged: expected the size of the weights of '", name, "', found ",
                         value.dump());
      made.weights[name] = size;
    }
    return made;
  }

  ValueStatistics statistics(const Json& value) const {
    ValueStatistics made{.histogram = histogram(value), .channels = {}};
    made.channels = channels(value, made.histogram.count());
    return made;
  }

  static constexpr auto most_whole = std::numeric_limits<std::int64_t>::max();
  std::string path_;
};

}  // namespace

void Calibration::save(const std::string& path) const {
  try {
    std::string text = concat(
        "{\n\"format\": \"", format_name, "\",\n\"version\": ", format_version,
        ",\n\"equalized\": ", network_.equalized, ",\n\"weights\": ", sizes_text(network_.weights),
        ",\n\"samples\": ", samples_, ",\n\"values\": [");
    for (std::size_t i = 0; i < names_.size(); ++i)
      text += concat(i > 0 ? ",\n" : "\n", line_of(names_[i], values_[i]));
    write_file_atomically(path, text + "\n]\n}\n");
  } catch (const Json::exception& error) {
    throw UsageError(concat("calibration: a value's name cannot be written: ", error.what()));
  }
}

Calibration Calibration::load(const std::string& path) {
  try {
    return Reader(path).read();
  } catch (const Json::exception& error) {
    throw DataError(concat(path, ": is damaged: ", error.what()));
  } catch (const DataError&) {
    throw;
  } catch (const UsageError& error) {
    throw DataError(concat(path, ": is damaged: ", error.what()));
  }
}

}  // namespace narrowgauge
