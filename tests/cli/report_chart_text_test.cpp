// SPDX-License-Identifier: Apache-2.0
// The parts of the page of `narrowgauge report`: axes, thinning, lines, and text that is hostile.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/text/printable.h"
#include "cli/report/chart.h"
#include "cli/report/curves.h"
#include "cli/report/drawing.h"
#include "cli/report/page.h"
#include "cli/report/repeat_command.h"
#include "cli/report/results.h"
#include "cli/xml.h"

namespace narrowgauge::cli::report_chart_text_test {
namespace {

using testing_cli::Xml;

std::vector<double> heights(const std::vector<Point>& points) {
  std::vector<double> heights;
  for (const Point& point : points) heights.push_back(point.y);
  return heights;
}

TEST(thinned, keeps_the_ends_every_extreme_and_gaps) {
  std::vector<Point> points;
  for (int i = 0; i < 50'000; ++i) points.push_back({i * 10.0, std::sin(i * 0.01)});
  points[12'345].y = 7;
  points[12'346].y = -7;
  points[33'333].y = NAN;
  const std::vector<Point> kept = thinned(points, 180);
  EXPECT_LE(kept.size(), 5U * 180);
  const std::vector<double> all = heights(kept);
  EXPECT_EQ(std::ranges::count(all, 7.0), 1);
  EXPECT_EQ(std::ranges::count(all, -7.0), 1);
  EXPECT_TRUE(std::ranges::any_of(all, [](double y) { return std::isnan(y); }));
  EXPECT_EQ(kept.front().x, 0);
  EXPECT_EQ(kept.back().x, points.back().x);
  EXPECT_TRUE(std::ranges::is_sorted(kept, {}, &Point::x));
}

TEST(thinned, leaves_few_points_alone) {
  const std::vector<Point> points{{1, 2}, {2, NAN}, {3, 4}};
  EXPECT_EQ(thinned(points, 180).size(), 3U);
  EXPECT_TRUE(thinned({}, 180).empty());
}

TEST(axis, has_round_numbers_around_the_values) {
  const Axis linear = Axis::around(0.13, 0.87);
  EXPECT_EQ(linear.low(), 0);
  EXPECT_EQ(linear.high(), 1);
  EXPECT_NEAR(linear.place(0.5), 0.5, 1e-12);
  const Axis decades = Axis::around(3e-5, 2.3);
  EXPECT_EQ(decades.scale(), Scale::decades);
  EXPECT_NEAR(decades.low(), 1e-5, 1e-15);
  EXPECT_EQ(decades.high(), 10);
  EXPECT_NEAR(decades.place(0.01), 0.5, 1e-12);
  const Axis doublings = Axis::around(1024, 65536, Scale::doublings);
  EXPECT_EQ(doublings.low(), 1024);
  EXPECT_EQ(doublings.high(), 65536);
  EXPECT_NEAR(doublings.place(8192), 0.5, 1e-12);
}

TEST(axis, takes_values_that_are_all_alike_zero_or_negative) {
  for (const double value : {0.0, 5.0, -3.0, 1e-30, 1e30}) {
    for (const Scale scale : {Scale::automatic, Scale::linear, Scale::decades, Scale::doublings}) {
      const Axis axis = Axis::around(value, value, scale);
      EXPECT_LT(axis.low(), axis.high()) << value;
      EXPECT_GE(axis.place(value), 0) << value;
      EXPECT_LE(axis.place(value), 1) << value;
      EXPECT_FALSE(axis.ticks().empty()) << value;
      EXPECT_LE(axis.ticks().size(), 12U) << value;
    }
  }
  EXPECT_EQ(Axis::around(-1, 100).scale(), Scale::linear);
}

TEST(axis, texts_are_short) {
  EXPECT_EQ(tick_text(0), "0");
  EXPECT_EQ(tick_text(0.05), "0.05");
  EXPECT_EQ(tick_text(65536), "65,536");
  EXPECT_EQ(tick_text(1e-6), "1e-6");
  EXPECT_EQ(tick_text(2e9), "2e9");
}

TEST(line_chart, shows_its_values_to_the_pointer_and_breaks_at_gaps) {
  LineChart chart{.what = "Loss"};
  chart.series.push_back({"training", {{1, 2}, {2, NAN}, {3, 1.5}, {4, 1.25}}, 1});
  chart.series.push_back({"test", {{4, 1.75}}, 3, true});
  const Xml svg = Xml::parse(line_chart(chart));
  EXPECT_EQ(svg.attribute("aria-label"), "Loss");
  const std::vector<std::string> titles = svg.texts("title");
  EXPECT_EQ(titles.size(), 4U);
  EXPECT_EQ(titles[0], "step 1: training 2");
  EXPECT_EQ(titles[3], "step 4: training 1.25, test 1.75");
  const std::string line = svg.find("path", "class", "curve stroke1").attribute("d");
  EXPECT_EQ(std::ranges::count(line, 'M'), 2) << line;
  EXPECT_EQ(std::ranges::count(line, 'L'), 1) << line;
}

TEST(line_chart, of_nothing_finite_is_none) {
  EXPECT_EQ(line_chart({.series = {{"loss", {{1, NAN}, {2, INFINITY}}}}}), "");
  EXPECT_EQ(line_chart({}), "");
}

TEST(line_chart, of_many_steps_is_small_and_shows_extremes_as_ranges) {
  LineChart chart;
  chart.series.push_back({"loss", {}, 1});
  for (int i = 1; i <= 100'000; ++i)
    chart.series[0].points.push_back({static_cast<double>(i), i == 777 ? 99.0 : 1 + i % 7 * 0.01});
  const std::string svg = line_chart(chart);
  EXPECT_LT(svg.size(), 40'000U);
  EXPECT_NE(svg.find("to 99<"), std::string::npos);
}

TEST(curves, show_every_column_and_mark_skipped_steps) {
  CsvTable table;
  table.columns = {"step", "epoch", "loss", "loss_scale", "skipped_steps", "test_accuracy", "odd"};
  table.rows = {"10,1,2,65536,0,,1", "20,1,1,32768,1,,2", "30,2,0.5,32768,1,0.75,3"};
  const Curves curves(table);
  const Xml page = Xml::parse("<div>" + curves_html(curves) + "</div>");
  EXPECT_EQ(page.texts("h3"),
            (std::vector<std::string>{"Loss", "Loss scale", "Test accuracy", "Odd"}));
  EXPECT_EQ(page.count("path", "class", "curve stroke5"), 1);
  EXPECT_EQ(curves.last("loss")->y, 0.5);
  EXPECT_EQ(curves.best("test_accuracy")->y, 0.75);
  EXPECT_FALSE(curves.best("loss"));
}

TEST(curves, count_skipped_steps_over_trainings_that_go_on) {
  CsvTable table;
  table.columns = {"step", "loss_scale", "skipped_steps"};
  table.rows = {"10,65536,2", "20,65536,3", "30,65536,0", "40,32768,1", "50,32768,1"};
  const Xml page = Xml::parse("<div>" + curves_html(Curves(table)) + "</div>");
  EXPECT_EQ(page.count("path", "class", "curve stroke5"), 3);
  EXPECT_EQ(page.texts("figcaption"), std::vector<std::string>{"4 steps were skipped in all."});
}

TEST(line_chart, of_one_share_has_an_axis_from_nothing_to_all) {
  const LineChart chart{.series = {{"accuracy", {{10, 0.9}}, 1, true}}, .percent = true};
  const std::vector<std::string> texts = Xml::parse(line_chart(chart)).texts("text");
  EXPECT_TRUE(std::ranges::count(texts, "0 %") && std::ranges::count(texts, "100 %"));
  EXPECT_FALSE(std::ranges::count(texts, "120 %"));
}

TEST(curves, are_sorted_by_their_steps) {
  CsvTable table;
  table.columns = {"step", "loss"};
  table.rows = {"30,3", "10,1", "20,2"};
  EXPECT_EQ(heights(Curves(table).of("loss")), (std::vector<double>{1, 2, 3}));
}

ConfusionMatrix matrix_of(std::int64_t classes) {
  ConfusionMatrix matrix{.classes = classes};
  matrix.counts.resize(static_cast<std::size_t>(classes * classes));
  matrix.not_finite.resize(static_cast<std::size_t>(classes));
  for (std::int64_t c = 0; c < classes; ++c) {
    matrix.counts[static_cast<std::size_t>(c * classes + c)] = 90;
    matrix.counts[static_cast<std::size_t>(c * classes + (c + 1) % classes)] = 10;
  }
  return matrix;
}

TEST(confusion, has_a_cell_for_each_pair_up_to_thirty_classes) {
  const ClassNames names({}, std::nullopt);
  const Xml few = Xml::parse(confusion_html(matrix_of(30), names));
  EXPECT_EQ(few.count("title"), 900);
  const std::vector<std::string> titles = few.texts("title");
  EXPECT_TRUE(std::ranges::count(titles, "label 3, predicted 4: 10 of 100 (10.00 %)"));
  const Xml many = Xml::parse("<div>" + confusion_html(matrix_of(31), names) + "</div>");
  EXPECT_EQ(many.count("svg"), 0);
  EXPECT_EQ(many.count("tr"), 21);
}

TEST(text, of_files_cannot_become_part_of_the_page) {
  const std::string hostile = "</title><script>alert(\"1\")</script>&\x1b[2J\xff";
  for (const std::string& html :
       {html_paragraph(hostile), html_section("id", hostile, ""), html_code(hostile),
        html_figure(hostile, "", hostile), html_details(hostile, ""),
        Drawing(10, 10, hostile).finish(), html_page(hostile, "")}) {
    EXPECT_EQ(html.find("<script"), std::string::npos) << html;
    EXPECT_EQ(html.find('\x1b'), std::string::npos) << html;
    Xml::parse(html);
  }
  HtmlTable table({"<" + hostile, hostile});
  table.add({hostile, hostile});
  EXPECT_EQ(Xml::parse(table.text()).texts("td")[1], printable(hostile));
}

TEST(text, is_shortened_in_its_middle_without_cutting_characters) {
  EXPECT_EQ(shortened("stage1.conv", 11), "stage1.conv");
  EXPECT_EQ(shortened("abcdefghij", 5), "ab\xE2\x80\xA6ij");
  EXPECT_EQ(shortened("\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4", 4),
            "\xC3\xA4\xC3\xA4\xE2\x80\xA6\xC3\xA4");
}

TEST(shell_word, is_read_by_a_shell_as_it_was) {
  EXPECT_EQ(shell_word("runs/a.b"), "runs/a.b");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's $HOME"), "'it'\\''s $HOME'");
  EXPECT_EQ(shell_word(""), "''");
}

}  // namespace
}  // namespace narrowgauge::cli::report_chart_text_test
