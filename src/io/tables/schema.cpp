// SPDX-License-Identifier: Apache-2.0
#include "io/tables/schema.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text/json_reading.h"
#include "base/text/json_writing.h"
#include "narrowgauge/error.h"

namespace narrowgauge {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 3> kinds{"numbers", "names", "real"};
constexpr std::array<std::string_view, 3> orders{"year_first", "day_first", "month_first"};

TableLabel parse_kind(const std::string& name) {
  const auto found = std::ranges::find(kinds, name);
  require<DataError>(found != kinds.end(), "a table's label of kind '", name, '\'');
  return static_cast<TableLabel>(found - kinds.begin());
}

DateOrder parse_order(const std::string& name) {
  const auto found = std::ranges::find(orders, name);
  require<DataError>(found != orders.end(), "a table's dates in order '", name, '\'');
  return static_cast<DateOrder>(found - orders.begin());
}

std::string json_texts(const std::vector<std::string>& texts) {
  return json_list(texts, [](const std::string& text) { return json_text<Json>(text); });
}

std::string json_of(const TableColumn& column) {
  const bool number = !column.is_text, date = column.date.has_value();
  return json_object(
      {{"date", date ? json_text<Json>(orders[static_cast<std::size_t>(*column.date)]) : ""},
       {"has_missing", number ? concat(column.has_missing) : ""},
       {"has_time", date ? concat(column.has_time) : ""},
       {"mean", number ? json_number<Json>(column.mean) : ""},
       {"name", json_text<Json>(column.name)},
       {"words", number ? "" : json_texts(column.words)}});
}

TableColumn column_from_json(const Json& json) {
  TableColumn column{.name = json.at("name").get<std::string>()};
  column.is_text = json.contains("words");
  if (column.is_text) {
    column.words = json.at("words").get<std::vector<std::string>>();
  } else {
    column.mean = json.at("mean").get<double>();
    column.has_missing = json.at("has_missing").get<bool>();
    if (json.contains("date")) {
      column.date = parse_order(json.at("date").get<std::string>());
      column.has_time = json.at("has_time").get<bool>();
    }
  }
  return column;
}

// Places are looked up, and words searched by halves.
void check(const TableSchema& schema) {
  constexpr std::int64_t most_columns = 1 << 24;
  std::vector<std::int64_t> taken = schema.places;
  taken.push_back(schema.label_place);
  std::ranges::sort(taken);
  const bool places = schema.places.size() == schema.columns.size() && !schema.columns.empty() &&
                      taken.front() >= 0 && taken.back() < most_columns &&
                      std::ranges::adjacent_find(taken) == taken.end();
  const bool sorted = std::ranges::is_sorted(schema.names) &&
                      std::ranges::all_of(schema.columns, [](const TableColumn& column) {
                        return std::ranges::is_sorted(column.words) && std::isfinite(column.mean);
                      });
  const bool classes = schema.kind == TableLabel::real
                           ? schema.classes == 0
                           : schema.classes > 0 && schema.classes < 1 << 16;
  const bool names = schema.kind != TableLabel::names || std::ssize(schema.names) == schema.classes;
  require<DataError>(places && classes && names && sorted && schema.width() > 0,
                     "what is kept of a table makes no sense");
}

}  // namespace

std::int64_t TableSchema::width() const {
  std::size_t sum = 0;
  for (const TableColumn& column : columns) sum += column.width();
  return static_cast<std::int64_t>(sum);
}

std::vector<std::string> TableSchema::feature_names() const {
  std::vector<std::string> all;
  for (const TableColumn& column : columns) {
    if (column.date) {
      for (const char* part : {" (days)", " (sin of year)", " (cos of year)"})
        all.push_back(column.name + part);
      if (column.has_time)
        for (const char* part : {" (sin of day)", " (cos of day)"})
          all.push_back(column.name + part);
    } else if (!column.is_text) {
      all.push_back(column.name);
    }
    if (column.has_missing) all.push_back(column.name + " is missing");
    for (const std::string& word : column.words) all.push_back(concat(column.name, '=', word));
  }
  return all;
}

std::string print(const TableSchema& schema) {
  const auto place = [](std::int64_t each) { return concat(each); };
  try {
    return json_object({{"classes", concat(schema.classes)},
                        {"columns", json_list(schema.columns, json_of)},
                        {"has_header", concat(schema.has_header)},
                        {"kind", json_text<Json>(kinds[static_cast<std::size_t>(schema.kind)])},
                        {"label", json_text<Json>(schema.label)},
                        {"label_place", concat(schema.label_place)},
                        {"names", json_texts(schema.names)},
                        {"places", json_list(schema.places, place)}});
  } catch (const Json::exception&) {
    throw DataError("a table's words cannot be kept: they are not UTF-8");
  }
}

TableSchema parse_schema(const std::string& text) try {
  const auto json = parse_json<Json>(text, "what is kept of a table");
  TableSchema schema;
  schema.has_header = json.at("has_header").get<bool>();
  schema.label = json.at("label").get<std::string>();
  schema.label_place = json.at("label_place").get<std::int64_t>();
  schema.kind = parse_kind(json.at("kind").get<std::string>());
  schema.classes = json.at("classes").get<std::int64_t>();
  schema.names = json.at("names").get<std::vector<std::string>>();
  schema.places = json.at("places").get<std::vector<std::int64_t>>();
  for (const Json& column : json.at("columns")) schema.columns.push_back(column_from_json(column));
  check(schema);
  return schema;
} catch (const Json::exception& error) {
  throw DataError(concat("what is kept of a table is damaged: ", error.what()));
}

bool is_missing(const std::string& field) {
  constexpr std::array<std::string_view, 10> known{"",    "?",   "NA",   "N/A",  "na",
                                                   "nan", "NaN", "NULL", "null", "None"};
  return std::ranges::find(known, field) != known.end();
}

}  // namespace narrowgauge
