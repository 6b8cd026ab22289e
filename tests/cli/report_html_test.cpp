// SPDX-License-Identifier: Apache-2.0
// `report` writes one page about a run: whole, true to what the run and `evaluate` say, and safe
// whatever files are called.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>

#include "cli/training_fixture.h"
#include "cli/xml.h"
#include "io/files/csv_table.h"
#include "io/images/encode_png.h"
#include "io/onnx/write.h"
#include "io/onnx_small_model.h"
#include "io/pictures/image.h"
#include "narrowgauge/npz.h"
#include "narrowgauge/safetensors.h"

namespace narrowgauge::testing_cli::report_html_test {
namespace {

namespace fs = std::filesystem;
using testing_files::read_file;
using testing_files::write_file;

class Report : public Training {
 protected:
  static std::string file(const std::string& name) { return *folder_ / name; }
  // A run in f16, trained once for all tests.
  static std::string trained() {
    const std::string run_folder = file("run");
    if (!fs::exists(run_folder))
      done(quiet_json({"--amp", "f16", "--output", run_folder, "--log-every", "3", "--metrics",
                       "f1,auc", "--deterministic"}));
    return run_folder;
  }
  // A copy of that run to do things to.
  static std::string copy(const std::string& name) {
    fs::copy(trained(), file(name), fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    return file(name);
  }
  struct Page {
    Json result;
    std::string html;
    Xml xml;
    const Xml& part(const std::string& id) const { return xml.find("section", "id", id); }
    std::vector<std::string> left_out() const {
      std::vector<std::string> parts;
      for (const Json& each : result.at("left_out")) parts.push_back(each.at("part"));
      return parts;
    }
  };
  static Page page(const std::string& run_folder, const Words& more = {}) {
    Words words{"report", run_folder, "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Json result = done(words);
    const std::string html = read_file(result.at("report").get<std::string>());
    EXPECT_EQ(result.at("bytes"), html.size());
    return {result, html, Xml::parse(html)};
  }
  // The cells of the row of a table that begins so.
  static Words row(const Xml& part, const std::string& first) {
    for (const Xml* each : part.all("tr"))
      if (const auto cells = each->texts("td"); !cells.empty() && cells[0] == first) return cells;
    return {};
  }
  static std::string fact(const Page& page, const std::string& name) {
    const Xml& list = page.part("summary").find("dl");
    for (std::size_t i = 0; i + 1 < list.children().size(); ++i)
      if (list.children()[i].text() == name) return list.children()[i + 1].text();
    return "";
  }
  static std::string command_of(const Page& page) {
    std::string command;
    for (const Xml* word : page.xml.find("code").all("span"))
      command += (command.empty() ? "" : " ") + word->text();
    return command;
  }
  static void expect_refused(const Words& words, int code, const std::string& message) {
    const Result result = run(words);
    EXPECT_EQ(result.code, code) << result.out;
    EXPECT_TRUE(contains(result.err, message)) << result.err;
    EXPECT_EQ(line_count(result.err), 1) << result.err;
  }
};

TEST_F(Report, has_all_parts_in_their_order) {
  const Page found = page(trained());
  EXPECT_EQ(found.result.at("report"), trained() + "/report.html");
  std::vector<std::string> ids;
  for (const Xml* section : found.xml.all("section")) ids.push_back(section->attribute("id"));
  EXPECT_EQ(ids, (Words{"summary", "curves", "results", "samples", "precision", "ranges", "time"}));
  EXPECT_TRUE(found.left_out().empty());
  EXPECT_LT(found.html.size(), 2'000'000U);
}

TEST_F(Report, refers_to_nothing_outside_of_itself) {
  const Page found = page(trained());
  for (const char* outside :
       {"http:", "https:", "//fonts", "<script", "<link", "@import", "url(", "<iframe", "src="})
    EXPECT_FALSE(contains(found.html, outside)) << outside;
  std::vector<const Xml*> links = found.xml.all("a"), images = found.xml.all("image");
  EXPECT_EQ(links.size(), 7U);
  for (const Xml* link : links) {
    const std::string to = link->attribute("href");
    EXPECT_TRUE(to.starts_with('#')) << to;
    EXPECT_EQ(found.xml.count("section", "id", to.substr(1)), 1) << to;
  }
  for (const Xml* image : images)
    EXPECT_TRUE(image->attribute("href").starts_with("data:image/png;base64,iVBOR"));
  EXPECT_GE(images.size(), 12U);
}

TEST_F(Report, shows_the_numbers_of_the_table) {
  const Page found = page(trained());
  const auto columns = columns_of(read_csv_table(trained() + "/metrics.csv"));
  for (const CsvColumn& column : columns) {
    if (!column.name.starts_with("test_")) continue;
    const double last = column.values.back().value();
    const std::string name = column.name.substr(5);
    char text[32];
    std::snprintf(text, sizeof text, name == "loss" ? "%.6g" : "%.2f %%",
                  name == "loss" ? last : 100 * last);
    const Words cells = row(found.part("summary"), name);
    ASSERT_EQ(cells.size(), 5U) << name;
    EXPECT_EQ(cells[1], text) << name;
    EXPECT_EQ(cells[2], "16");
  }
  std::string hover;
  for (const std::string& title : found.part("curves").texts("title")) hover += title + '\n';
  const auto loss = std::ranges::find(columns, "loss", &CsvColumn::name);
  for (const auto& value : loss->values) {
    char text[32];
    std::snprintf(text, sizeof text, "training %.6g", value.value());
    EXPECT_TRUE(contains(hover, text)) << text;
  }
  EXPECT_EQ(found.part("curves").texts("h3"), (Words{"Loss", "Learning rate", "Loss scale", "Test",
                                                     "Gradient norm", "Samples per second"}));
}

TEST_F(Report, measures_what_evaluate_measures) {
  const Page found = page(trained());
  const Json measured = done({"evaluate", trained(), "--metrics", "f1,confusion", "--json"});
  const auto percent = [&](const char* key) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2f %%", 100 * measured.at(key).get<double>());
    return std::string(text);
  };
  EXPECT_EQ(row(found.part("results"), "accuracy"), (Words{"accuracy", percent("test_accuracy")}));
  EXPECT_EQ(row(found.part("results"), "f1"), (Words{"f1", percent("test_f1")}));
  const auto counts = measured.at("test_confusion_matrix").at("counts");
  const std::vector<std::string> cells = found.part("results").texts("title");
  ASSERT_EQ(cells.size(), counts.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string text = "label " + std::to_string(i / 4) + ", predicted " +
                             std::to_string(i % 4) + ": " + std::to_string(counts[i].get<int>()) +
                             " of 16 ";
    EXPECT_TRUE(cells[i].starts_with(text)) << cells[i] << " and not " << text;
  }
}

TEST_F(Report, gives_ranges_of_the_weights_in_the_file) {
  const Page found = page(trained());
  const TensorFile weights = read_safetensors(trained() + "/model.safetensors");
  int layers = 0;
  for (const NamedTensor& each : weights.tensors) {
    if (!each.name.ends_with(".weight")) continue;
    const std::string layer = each.name.substr(0, each.name.size() - 7);
    double largest = 0;
    for (const char* part : {".weight", ".bias"}) {
      const Tensor& tensor = *weights.find(layer + part);
      for (std::int64_t i = 0; i < tensor.size(); ++i)
        largest = std::max(largest, std::abs(tensor.at(i)));
    }
    char text[32];
    std::snprintf(text, sizeof text, "%.3g", largest);
    const Words cells = row(found.part("ranges"), layer);
    ASSERT_EQ(cells.size(), 8U) << layer;
    EXPECT_EQ(cells[1], "Weights");
    EXPECT_EQ(cells[3], text) << layer;
    ++layers;
  }
  EXPECT_GE(layers, 2);
}

TEST_F(Report, explains_each_node_with_the_words_of_explain) {
  const Page found = page(trained(), {"--no-measure"});
  const Json explained = done({"explain", "--model", "mlp", "--image", "1x8x8", "--classes", "4",
                               "--amp", "f16", "--json"});
  std::string hover;
  for (const std::string& title : found.part("precision").texts("title")) hover += title + '\n';
  int cells = 0;
  for (const Json& node : explained.at("nodes")) {
    if (node.at("dtype").is_null()) continue;
    const std::string reason =
        node.at("rule").get<std::string>() + ": " + node.at("reason").get<std::string>();
    EXPECT_TRUE(contains(hover, node.at("name").get<std::string>() + ": ")) << node.at("name");
    EXPECT_TRUE(contains(hover, reason)) << reason;
    ++cells;
  }
  EXPECT_GT(cells, 5);
}

TEST_F(Report, tells_the_command_that_trains_the_same_weights) {
  const Page found = page(trained(), {"--no-measure"});
  const std::string command = command_of(found);
  EXPECT_TRUE(command.starts_with("narrowgauge train --model mlp --data ")) << command;
  const std::string again = trained() + "-again";
  EXPECT_TRUE(command.ends_with(" --output " + again)) << command;
  EXPECT_TRUE(contains(command, " --metrics f1,auc ")) << command;
  const std::string typed =
      program_path() + command.substr(std::string("narrowgauge").size()) + " --quiet > /dev/null";
  ASSERT_EQ(std::system(typed.c_str()), 0) << typed;
  EXPECT_EQ(read_file(again + "/model.safetensors"), read_file(trained() + "/model.safetensors"));
}

TEST_F(Report, tells_a_command_with_all_that_was_asked_for) {
  const std::string run_folder = file("asked it's");
  done(quiet_json({"--amp",
                   "bf16",
                   "--master-weights",
                   "off",
                   "--keep-best",
                   "--patience",
                   "5",
                   "--accumulate",
                   "2",
                   "--ema-decay",
                   "0.9",
                   "--clip",
                   "1",
                   "--optimizer",
                   "adamw",
                   "--lr",
                   "0.002",
                   "--weight-decay",
                   "0.1",
                   "--group",
                   "*.bias: rate=2",
                   "--freeze",
                   "hidden1*",
                   "--override",
                   "logits=f32",
                   "--threads",
                   "1",
                   "--deterministic",
                   "--output",
                   run_folder}));
  const std::string command = command_of(page(run_folder + "/best", {"--no-measure"}));
  const std::string typed =
      program_path() + command.substr(std::string("narrowgauge").size()) + " --quiet > /dev/null";
  ASSERT_EQ(std::system(typed.c_str()), 0) << typed;
  for (const char* name : {"/run.json", "/model.safetensors", "/best/model.safetensors"})
    EXPECT_EQ(read_file(run_folder + "-again" + name), read_file(run_folder + name)) << command;
}

TEST_F(Report, of_an_edited_plan_repeats_that_plan) {
  const std::string plan = file("edited.txt"), run_folder = file("edited");
  ASSERT_EQ(run({"explain", "--model", "mlp", "--image", "1x8x8", "--classes", "4", "--amp", "f16",
                 "--save-plan", plan})
                .code,
            0);
  std::string text = read_file(plan);
  const std::size_t line = text.find("math=f16");
  ASSERT_NE(line, std::string::npos);
  const std::size_t format = text.rfind("f16", line - 1);
  text.replace(line, 8, "math=f32").replace(format, 3, "f32");
  write_file(plan, text);
  done(quiet_json({"--plan", plan, "--output", run_folder}));
  const Page found = page(run_folder, {"--no-measure"});
  EXPECT_TRUE(contains(command_of(found), "--plan ")) << command_of(found);
  EXPECT_FALSE(contains(command_of(found), "--amp")) << command_of(found);
  EXPECT_TRUE(contains(found.html, "edited")) << fact(found, "Format");
}

TEST_F(Report, leaves_out_what_cannot_be_had_and_says_why) {
  const std::string old = copy("old");
  fs::remove(old + "/metrics.csv");
  const Page without = page(old, {"--no-measure"});
  EXPECT_EQ(without.left_out(), (Words{"curves", "results", "samples", "ranges", "time"}));
  EXPECT_TRUE(contains(without.part("curves").texts("p").at(0), "no metrics.csv"));
  EXPECT_TRUE(contains(without.part("time").texts("p").at(0), "--no-measure"));
  EXPECT_GT(without.part("precision").count("rect"), 5);

  const std::string moved = file("moved_data"), gone = file("gone");
  fs::copy(data(), moved);
  Words words = quiet_json({"--output", gone});
  *(std::ranges::find(words, "--data") + 1) = moved;
  done(words);
  fs::remove_all(moved);
  const Page left = page(gone);
  EXPECT_EQ(left.left_out(), (Words{"results", "samples", "time"}));
  EXPECT_TRUE(contains(left.part("results").texts("p").at(0), moved));
  EXPECT_EQ(left.part("ranges").count("svg"), 1) << "weights need no data";
  const Result as_text = run({"report", gone});
  EXPECT_TRUE(contains(as_text.out, "left out        results, samples and time: ")) << as_text.out;
  EXPECT_EQ(page(gone, {"--data", data()}).left_out(), Words{});
}

TEST_F(Report, of_an_interrupted_run_says_how_far_it_came) {
  const std::string run_folder = file("stopped");
  const Result stopped = run(train({"--epochs", "100000", "--output", run_folder, "--log-every",
                                    "1", "--checkpoint-every", "9h"}),
                             {.interrupt_at = "epoch 3/"});
  ASSERT_EQ(stopped.code, 130) << stopped.err;
  const Page found = page(run_folder);
  EXPECT_TRUE(contains(fact(found, "Epochs"), " of 100,000")) << fact(found, "Epochs");
  EXPECT_TRUE(found.left_out().empty());
  EXPECT_LT(found.html.size(), 2'000'000U);
}

TEST_F(Report, cannot_be_broken_by_names) {
  const std::string hostile = "<script>alert('x')</script>&\"";
  const std::string parent = file("<b>&"), run_folder = parent + "/run\"'><script>";
  fs::create_directories(parent);
  const std::string there = file("data<script>&");
  fs::copy(data(), there);
  Words words = quiet_json({"--output", run_folder, "--amp", "bf16"});
  *(std::ranges::find(words, "--data") + 1) = there;
  done(words);
  std::string table = read_file(run_folder + "/metrics.csv");
  table.insert(table.find('\n'), ",\"<script>\"\"\"");
  table.insert(table.size() - 1, ",1");
  write_file(run_folder + "/metrics.csv", table);
  const std::string names = file("names.txt");
  write_file(names, hostile + "\n" + hostile + "\n\x1b[31m\n</svg>\n");
  const Page found = page(run_folder, {"--class-names", names});
  EXPECT_FALSE(contains(found.html, "<script")) << "text of files is text";
  EXPECT_FALSE(contains(found.html, "\x1b"));
  EXPECT_TRUE(contains(found.part("results").texts("title").at(0), hostile));
  EXPECT_EQ(found.part("curves").texts("h3").back(), "<script>\"");
  EXPECT_TRUE(contains(fact(found, "Run"), "<script>"));
}

TEST_F(Report, cannot_be_broken_by_names_within_a_network) {
  testing_support::SmallModel small(17);
  const std::string hostile = "</title><script>1</script>";
  Tensor weights(DType::f32, {64, 4});
  for (std::int64_t i = 0; i < weights.size(); ++i)
    weights.set(i, 0.01 * static_cast<double>(i % 7));
  small.input("images", "f32[N,64]").initializer(hostile + ".w", weights);
  small.node("MatMul", {"images", hostile + ".w"}, {hostile}).output(hostile);
  onnx::Model complete = small.model;
  complete.ir_version = 8;
  const std::string path = file("hostile.onnx"), run_folder = file("hostile");
  onnx::write_model(path, complete);
  done({"train", path, "--data", data(), "--epochs", "1", "--batch", "32", "--json", "--quiet",
        "--output", run_folder});
  const Page found = page(run_folder);
  EXPECT_FALSE(contains(found.html, "<script"));
  EXPECT_TRUE(contains(found.part("ranges").texts("td").at(0), "<script>"));
  EXPECT_TRUE(contains(command_of(found), "network")) << command_of(found);
}

TEST_F(Report, of_many_classes_lists_the_most_confused) {
  constexpr std::int64_t classes = 40, count = 400;
  Tensor x(DType::u8, {count, 8, 8}), y(DType::i64, {count});
  for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, static_cast<double>(i * 7919 % 251));
  for (std::int64_t i = 0; i < count; ++i) y.set(i, static_cast<double>(i % classes));
  const std::string set = file("many.npz"), run_folder = file("many");
  write_npz(set,
            std::vector<NamedTensor>{{"x_train", x}, {"y_train", y}, {"x_test", x}, {"y_test", y}});
  Words words = quiet_json({"--output", run_folder});
  *(std::ranges::find(words, "--data") + 1) = set;
  done(words);
  const Page found = page(run_folder);
  EXPECT_EQ(found.part("results").count("svg"), 0);
  EXPECT_TRUE(std::ranges::count(found.part("results").texts("h3"), "Most confused classes"));
  EXPECT_FALSE(row(found.part("results"), "top5").empty());
}

TEST_F(Report, of_numbers_instead_of_classes_leaves_out_the_samples) {
  Tensor x(DType::f32, {64, 1, 8, 8}), y(DType::f32, {64, 4});
  for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, static_cast<double>(i % 13) / 13);
  for (std::int64_t i = 0; i < y.size(); ++i) y.set(i, static_cast<double>(i % 5) / 5);
  const std::string numbers = file("numbers.npz"), network = file("mlp.onnx"),
                    run_folder = file("numbers");
  write_npz(numbers,
            std::vector<NamedTensor>{{"x_train", x}, {"y_train", y}, {"x_test", x}, {"y_test", y}});
  ASSERT_EQ(
      run({"export", "--model", "mlp", "--image", "1x8x8", "--classes", "4", "--onnx", network})
          .code,
      0);
  done({"train", network, "--data", numbers, "--loss", "mean_squared_error", "--epochs", "2",
        "--batch", "32", "--json", "--quiet", "--output", run_folder});
  const Page found = page(run_folder);
  EXPECT_EQ(found.left_out(), Words{"samples"});
  EXPECT_FALSE(row(found.part("results"), "mse").empty());
  EXPECT_TRUE(row(found.part("results"), "accuracy").empty());
}

TEST_F(Report, replaces_the_page_as_a_whole_or_leaves_it) {
  const std::string run_folder = copy("again_report"), target = file("page.html");
  const std::string before = "the page before";
  fs::remove(run_folder + "/report.html");
  write_file(target, before);
  EXPECT_EQ(page(run_folder, {"-o", target, "--no-measure"}).result.at("report"), target);
  EXPECT_TRUE(read_file(target).starts_with("<!DOCTYPE html>"));
  EXPECT_FALSE(fs::exists(run_folder + "/report.html"));
  write_file(target, before);
  expect_refused({"report", run_folder, "-o", target, "--class-names", file("none.txt")}, 4,
                 "none.txt");
  EXPECT_EQ(read_file(target), before);
}

TEST_F(Report, is_written_at_the_end_of_a_training_that_asks_for_it) {
  const std::string run_folder = file("trained_report");
  const Result result = run(quiet_json({"--output", run_folder, "--report"}));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(Json::parse(last_line(result.out)).at("report"), run_folder + "/report.html");
  EXPECT_EQ(Xml::parse(read_file(run_folder + "/report.html")).count("section"), 7);
  expect_refused(train({"--report"}), 2, "--report: needs --output or --resume");
  expect_refused(train({"--report", "--compare", "off,bf16"}), 2, "--report: ");
}

TEST_F(Report, refuses_bad_input_in_one_line) {
  expect_refused({"report", file("")}, 4, "holds no checkpoint");
  expect_refused({"report", file("nowhere")}, 4, "nowhere");
  expect_refused({"report", trained(), "-o", file("none/there.html")}, 4, "none/there.html");
  expect_refused({"report", trained(), "--data", file("nowhere")}, 4, "nowhere");
  expect_refused({"report", trained(), "--no-measure", "--data", data()}, 2, "--no-measure: ");
  expect_refused({"report", trained(), "--device", "cuda"}, 6, "cuda");
  write_file(file("empty.txt"), "");
  expect_refused({"report", trained(), "--class-names", file("empty.txt")}, 4,
                 "expected a name in each line");
}

std::string from_base64(const std::string& text) {
  const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<std::uint32_t>(letters.find(c));
    if ((count += 6) < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count);
  }
  return bytes;
}

// Pictures of one colour each: the class is the colour, and that of a class all differ.
std::string write_colours(const std::string& folder) {
  for (int label = 0; label < 2; ++label)
    for (const char* part : {"train", "test"}) {
      const std::string place = folder + '/' + part + '/' + (label == 0 ? "green" : "red");
      fs::create_directories(place);
      for (int i = 0; i < 20; ++i) {
        Tensor picture(DType::u8, {16, 16, 3});
        for (std::int64_t pixel = 0; pixel < 256; ++pixel) {
          picture.set(3 * pixel + (label == 0 ? 1 : 0), 200);
          picture.set(3 * pixel + 2, 5 * i);  // tells which it is
        }
        write_file(place + "/" + std::to_string(100 + i) + ".png", encode_png(picture));
      }
    }
  return folder;
}

TEST_F(Report, shows_each_sample_with_its_own_picture_where_some_cannot_be_read) {
  const std::string data = write_colours(file("colours")), run_folder = file("of_colours");
  for (const char* damaged : {"green/100", "green/107", "red/103"}) {
    const std::string path = data + "/test/" + damaged + ".png";
    write_file(path, read_file(path).substr(0, 60));
  }
  done({"train", "--model", "lenet", "--data", data, "--image", "3x16x16", "--epochs", "6",
        "--batch", "8", "--output", run_folder, "--json", "--quiet"});
  const Page found = page(run_folder);
  const Xml& part = found.part("samples");
  int seen = 0;
  for (const Xml* drawing : part.all("svg")) {
    const std::string what = drawing->attribute("aria-label");
    // "Test sample 21: red, 99.9 %": classes come one after the other.
    const auto sample = std::stoll(what.substr(std::string("Test sample ").size()));
    EXPECT_EQ(contains(what, ": green"), sample < 20) << what;
    const std::string code = drawing->find("image").attribute("href");
    const Tensor picture =
        decode_image(from_base64(code.substr(std::string("data:image/png;base64,").size())), what,
                     ImageColours::rgb);
    EXPECT_NEAR(picture.at(0), sample < 20 ? 0 : 200, 1) << what;
    EXPECT_NEAR(picture.at(2), static_cast<double>(5 * (sample % 20)), 1) << what;
    ++seen;
  }
  EXPECT_GE(seen, 12);
}

}  // namespace
}  // namespace narrowgauge::testing_cli::report_html_test
