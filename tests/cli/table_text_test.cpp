// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cli/common/text.h"

namespace narrowgauge::cli::table_text_test {
namespace {

TextTable small_table() {
  TextTable table({words("name"), numbers("count"), folding("why", 10, 1), numbers("rate", 2)});
  table.add({"conv1", "3", "measured once, and kept", "12.5"});
  table.add_line();
  table.add({"all", "3", "", ""});
  return table;
}

TEST(text_table, has_all_columns_where_there_is_room) {
  EXPECT_EQ(small_table().text(80),
            "name   count  why                      rate\n"
            "conv1      3  measured once, and kept  12.5\n"
            "-------------------------------------------\n"
            "all        3\n");
}

TEST(text_table, folds_before_it_leaves_out) {
  EXPECT_EQ(small_table().text(32),
            "name   count  why           rate\n"
            "conv1      3  measured      12.5\n"
            "                once, and\n"
            "                kept\n"
            "--------------------------------\n"
            "all        3\n");
}

TEST(text_table, leaves_out_the_least_important_column_and_says_so) {
  const std::string text = small_table().text(26);
  EXPECT_EQ(text.find("rate\n"), std::string::npos) << text;
  EXPECT_NE(text.find("why"), std::string::npos) << text;
  EXPECT_NE(text.find("(left out: rate;"), std::string::npos) << text;
  EXPECT_EQ(small_table().text(13).find("why\n"), std::string::npos);
}

TEST(text_table, counts_characters_and_not_bytes) {
  TextTable table({words("a"), words("b")});
  table.add({"\u00b5\u00b5\u00b5", "x"});
  EXPECT_EQ(table.text(80), "a    b\n\u00b5\u00b5\u00b5  x\n");
}

TEST(folded, breaks_at_blanks_and_in_paths_and_else_anywhere) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(folded("one two three", 7), (Lines{"one two", "three"}));
  EXPECT_EQ(folded("conv2.gradient/convdatagradient", 18, 2),
            (Lines{"conv2.gradient/", "  convdatagradient"}));
  EXPECT_EQ(folded("abcdefghij", 4), (Lines{"abcd", "efgh", "ij"}));
  EXPECT_EQ(folded("\u00b5\u00b5\u00b5\u00b5", 2), (Lines{"\u00b5\u00b5", "\u00b5\u00b5"}));
  EXPECT_EQ(folded("", 4), Lines{""});
}

TEST(folded, keeps_text_in_the_column_behind_its_label) {
  EXPECT_EQ(folded_lines("unit    eight products at once\nshort\n", 20),
            "unit    eight\n        products at\n        once\nshort\n");
}

}  // namespace
}  // namespace narrowgauge::cli::table_text_test
