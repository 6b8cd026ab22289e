// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/common/exit_code.h"
#include "cli/common/json.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/config/command.h"
#include "cli/data/sheet.h"
#include "cli/data/survey.h"
#include "cli/data/text.h"
#include "cli/flags/output_file.h"
#include "cli/task/image_layout.h"
#include "io/readers/reader.h"

namespace narrowgauge::cli {
namespace {

constexpr const char* examples = R"(examples:
  narrowgauge data photos
      what is understood of a folder of pictures: classes, sizes, what cannot be read
  narrowgauge data photos --sheet sheet.html
      with some pictures of each class on a page
  narrowgauge data digits.npz --json)";

struct Flags {
  std::optional<std::string> data, sheet;
  std::optional<std::string> label;
  std::vector<std::string> skip;
  std::optional<double> test_share;
  bool json = false;
};

constexpr std::size_t most_listed = 5;

std::string size_text(const DataSurvey::Size& size) { return concat(size[1], 'x', size[0]); }

// "640x480", or "300x200 to 4000x3000 (12 sizes), most often 640x480"; width before height.
std::string sizes_text(const DataSurvey& found) {
  const auto area = [](const auto& a, const auto& b) {
    return a.first[0] * a.first[1] < b.first[0] * b.first[1];
  };
  const auto [least, most] = std::minmax_element(found.sizes.begin(), found.sizes.end(), area);
  if (found.sizes.size() == 1) return size_text(least->first);
  const auto often =
      std::max_element(found.sizes.begin(), found.sizes.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return fmt::format("{} to {} ({} sizes), most often {}", size_text(least->first),
                     size_text(most->first), grouped(std::ssize(found.sizes)),
                     size_text(often->first));
}

void print_list(const char* what, const std::vector<std::string>& all) {
  if (all.empty()) return;
  print(fmt::format("{}\n", what));
  for (std::size_t i = 0; i < std::min(all.size(), most_listed); ++i)
    print(fmt::format("  {}\n", all[i]));
  if (all.size() > most_listed)
    print(fmt::format("  and {} more\n",
                      grouped(std::ssize(all) - static_cast<std::int64_t>(most_listed))));
}

void print_pictures(const DataSurvey& found) {
  if (found.sizes.empty()) return;
  print(fmt::format("sizes           {}\n", sizes_text(found)));
  std::string formats;
  for (const auto& [name, count] : found.formats)
    formats += fmt::format("{}{} ({})", formats.empty() ? "" : "; ", name, grouped(count));
  print(fmt::format("formats         {}\n", formats));
}

void print_arrays(const DataSurvey& found) {
  if (found.arrays.empty()) return;
  TextTable table({words("array"), words("type"), numbers("least"), numbers("mean"),
                   numbers("most"), numbers("not finite", 1)});
  for (const ArrayFacts& array : found.arrays)
    table.add({array.name, concat(array.type), number_text(array.least), number_text(array.mean),
               number_text(array.most), grouped(array.not_finite)});
  print('\n' + table.text(output_width()));
}

void print_classes(const DataSurvey& found) {
  if (found.classes.empty()) return;
  TextTable table(
      {folding("class", 12), numbers("training"), numbers("test"), numbers("share", 1)});
  double all = 0;
  for (const ClassCount& each : found.classes)
    all += static_cast<double>(each.training + each.test);
  for (const ClassCount& each : found.classes)
    table.add({each.name, grouped(each.training), grouped(each.test),
               percent_text(static_cast<double>(each.training + each.test) / all)});
  print('\n' + table.text(output_width()));
}

void print_oddities(const DataSurvey& found) {
  if (!found.damaged.empty())
    print_list(fmt::format("\n{} cannot be read:", grouped(std::ssize(found.damaged))).c_str(),
               found.damaged);
  if (!found.copies.empty()) {
    std::string what =
        fmt::format("\n{} have the bytes of another", grouped(std::ssize(found.copies)));
    if (found.copies_across > 0)
      what += fmt::format(", {} of them across training and test", grouped(found.copies_across));
    if (found.copies_of_other_class > 0)
      what += fmt::format(", {} in two classes", grouped(found.copies_of_other_class));
    print_list((what + ':').c_str(), found.copies);
  }
  if (!found.other_files.empty())
    print_list(
        fmt::format("\n{} are no pictures by their names:", grouped(std::ssize(found.other_files)))
            .c_str(),
        found.other_files);
}

void print_survey(const DataSurvey& found, const std::string& name) {
  const std::int64_t all = found.training + found.test;
  print(fmt::format("{}: {}\n", name, found.kind));
  print(fmt::format("samples         {}: {} for training, {} for the test ({})\n", grouped(all),
                    grouped(found.training), grouped(found.test),
                    percent_text(static_cast<double>(found.test) / static_cast<double>(all))));
  print_pictures(found);
  print_arrays(found);
  if (!found.features.empty())
    print_text(fmt::format("\nfeatures        {}\n", fmt::join(found.features, ", ")));
  print_classes(found);
  print_oddities(found);
}

JsonObject survey_json(const DataSurvey& found, const std::string& name) {
  JsonObject json;
  json.add("data", name).add("kind", found.kind);
  json.add("training", found.training).add("test", found.test);
  std::vector<JsonObject> classes, arrays, sizes;
  for (const ClassCount& each : found.classes)
    classes.emplace_back()
        .add("name", each.name)
        .add("training", each.training)
        .add("test", each.test);
  json.add("classes", classes);
  for (const ArrayFacts& each : found.arrays)
    arrays.emplace_back()
        .add("name", each.name)
        .add("type", concat(each.type))
        .add("least", each.least)
        .add("mean", each.mean)
        .add("most", each.most)
        .add("not_finite", each.not_finite);
  if (!found.features.empty()) json.add("features", found.features);
  if (!arrays.empty()) return std::move(json.add("arrays", arrays));
  for (const auto& [size, count] : found.sizes)
    sizes.emplace_back().add("height", size[0]).add("width", size[1]).add("count", count);
  json.add("sizes", sizes);
  JsonObject formats;
  for (const auto& [format, count] : found.formats) formats.add(format, count);
  json.add("formats", formats).add("damaged", found.damaged).add("copies", found.copies);
  json.add("copies_across", found.copies_across);
  json.add("copies_of_other_class", found.copies_of_other_class);
  return std::move(json.add("other_files", found.other_files));
}

int run_data(const Flags& flags) {
  const std::string& name = *flags.data;
  if (flags.sheet) check_sheet_name(*flags.sheet);
  require_apart("--sheet", flags.sheet, {name});
  if (is_text(name)) {
    require(!flags.sheet, "--sheet: ", name, " is a text, and has no pictures");
    print_text_survey(name, flags.json);
    return ExitCode::ok;
  }
  const Data data = open_data(name, {.test_share = flags.test_share.value_or(0.2),
                                     .label = flags.label.value_or(""),
                                     .skip = flags.skip});
  if (const auto* const arrays = std::get_if<DataSplit>(&data)) tell_layout(*arrays, name);
  const DataSurvey found = survey(data);
  if (flags.json)
    print(survey_json(found, name).line());
  else
    print_survey(found, name);
  if (flags.sheet) write_sheet(*flags.sheet, data, name);
  return ExitCode::ok;
}

}  // namespace

NG_COMMAND(data, 27) {
  CLI::App& app =
      add_command(program, "data", "what a data set holds, and what is odd about it", examples);
  const auto flags = std::make_shared<Flags>();
  add_required(app, {"DATA", "", data_help() + ", or a text"}, flags->data);
  add_real(app, {"--test-share", "X", "of data that come in one part (0.2)"}, flags->test_share);
  add_text(app, {"--label", "COLUMN", "of a table, by name or number (label, class, target, y)"},
           flags->label);
  add_list(app, {"--skip-columns", "A,B,..", "columns of a table that are passed over"},
           flags->skip);
  add_text(app, {"--sheet", "FILE", "pictures of each class: a picture (.png) or a page (.html)"},
           flags->sheet);
  add_switch(app, {"--json", "", "one JSON object"}, flags->json);
  when_chosen(app, [flags, &action] { action = [flags] { return run_data(*flags); }; });
}

}  // namespace narrowgauge::cli
