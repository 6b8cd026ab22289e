// SPDX-License-Identifier: Apache-2.0
// Texts as data: what is read of a file, and which windows of its tokens are samples.
#include "narrowgauge/text_data.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <set>

#include "io/files.h"

namespace narrowgauge::text_data_test {
namespace {

using testing_files::gzip;
using testing_files::TemporaryFolder;
using testing_files::write_file;

TextSplit read(const std::string& content, const TextReading& reading = {}) {
  const TemporaryFolder folder;
  write_file(folder / "a.txt", content);
  return read_text(folder / "a.txt", reading);
}

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "none";
}

TEST(read_text, the_last_tenth_is_for_the_test) {
  const TextSplit split = read("0123456789abcdefghij");
  EXPECT_EQ(split.train, "0123456789abcdefgh");
  EXPECT_EQ(split.test, "ij");
  EXPECT_EQ(split.replaced, 0);
}

TEST(read_text, no_character_is_cut) {
  const TextSplit split = read(std::string(16, 'a') + "\xe4\xb8\xad" + "b");
  EXPECT_EQ(split.train, std::string(16, 'a') + "\xe4\xb8\xad");
  EXPECT_EQ(split.test, "b");
}

TEST(read_text, takes_gzip_and_leaves_out_a_byte_order_mark) {
  const std::string text =
      "\xef\xbb\xbf"
      "abcdefghijklmnopqrst";
  EXPECT_EQ(read(text).train, "abcdefghijklmnopqr");
  EXPECT_EQ(read(gzip(text)).train, "abcdefghijklmnopqr");
}

TEST(read_text, takes_a_folder_in_two_parts) {
  const TemporaryFolder folder;
  write_file(folder / "train.txt", "one two");
  EXPECT_THROW(read_text(folder.path()), DataError);
  write_file(folder / "test.txt", "three");
  const TextSplit split = read_text(folder.path());
  EXPECT_EQ(split.train, "one two");
  EXPECT_EQ(split.test, "three");
}

TEST(read_text, tells_where_the_first_part_of_a_folder_is_no_utf8_before_the_second) {
  const TemporaryFolder folder;
  write_file(folder / "train.txt", "one\xff two");
  write_file(folder / "test.txt", "th\xffree");
  EXPECT_EQ(read_text(folder.path()).first_replaced, 3);
  EXPECT_EQ(read_text(folder.path()).replaced, 2);
  write_file(folder / "train.txt", "one two");
  EXPECT_EQ(read_text(folder.path()).first_replaced, 2);
}

TEST(read_text, replaces_and_counts_what_is_no_utf8) {
  const TextSplit split = read(
      "ab\xff"
      "cd\xc3"
      "efghijklmnopqrst");
  EXPECT_EQ(split.replaced, 2);
  EXPECT_EQ(split.first_replaced, 2);
  EXPECT_TRUE(
      split.train.starts_with("ab\xef\xbf\xbd"
                              "cd\xef\xbf\xbd"
                              "ef"))
      << split.train;
  const TextSplit bytes = read(
      "ab\xff"
      "cdefghijklmnopqrst",
      {.utf8 = false});
  EXPECT_EQ(bytes.replaced, 0);
  EXPECT_TRUE(bytes.train.starts_with("ab\xff")) << bytes.train;
}

TEST(read_text, refuses_what_is_no_text) {
  const auto said = [](const std::string& content) { return refusal([&] { read(content); }); };
  EXPECT_NE(said("").find("expected a text, found an empty file"), std::string::npos);
  EXPECT_NE(said("abc").find("at least 10 characters"), std::string::npos);
  EXPECT_NE(said(std::string("abcdefgh\0ijklmnopqrst", 21)).find("byte 8 is 0"), std::string::npos);
  EXPECT_NE(said(std::string("\xff\xfe"
                             "a\0b\0",
                             6))
                .find("UTF-16"),
            std::string::npos);
  EXPECT_NE(refusal([] { read_text("/no/such/file"); }).find("/no/such/file"), std::string::npos);
}

TEST(tokens, of_a_long_text_are_those_of_the_whole) {
  std::string text;
  while (text.size() < 3'000'000)
    text += concat("word", text.size() % 977, text.size() % 5 == 0 ? "  \n\n" : " don't, ");
  for (const char* kind : {"word", "character"}) {
    const auto tokenizer = make_tokenizer({.kind = kind}, text);
    const std::vector<std::int32_t> whole = tokenizer->encode(text);
    const auto pieces = tokens_of(*tokenizer, text);
    ASSERT_EQ(pieces->size(), std::ssize(whole)) << kind;
    for (std::int64_t i = 0; i < pieces->size(); ++i)
      ASSERT_EQ((*pieces)[i], whole[static_cast<std::size_t>(i)]) << kind << ' ' << i;
  }
}

TEST(tokens, take_two_bytes_or_four) {
  for (const std::int64_t vocabulary : {256, 65536, 65537, 100'000}) {
    TokenList list(vocabulary);
    const auto last = static_cast<std::int32_t>(vocabulary - 1);
    list.append(std::vector<std::int32_t>{0, last});
    EXPECT_EQ(list.size(), 2);
    EXPECT_EQ(list[1], last);
    EXPECT_THROW(list.append(std::vector<std::int32_t>{last + 1}), UsageError);
  }
}

// Tokens 0, 1, 2, ...
std::shared_ptr<const TokenList> counting(std::int64_t count) {
  auto list = std::make_shared<TokenList>(count);
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(count));
  std::iota(tokens.begin(), tokens.end(), 0);
  list->append(tokens);
  return list;
}

struct Samples {
  Tensor tokens, targets;  // [windows, context]
};

Samples samples_of(TextSource& source, std::int64_t context, std::int64_t epoch = 0) {
  std::vector<std::int64_t> indices(static_cast<std::size_t>(source.size()));
  std::iota(indices.begin(), indices.end(), 0);
  std::vector<Tensor> batch{Tensor(DType::i64, {source.size(), context}),
                            Tensor(DType::i64, {source.size(), context})};
  EXPECT_TRUE(source.read_epoch(indices, epoch, batch).empty());
  return {batch[0], batch[1]};
}

TEST(text_source, tiles_a_test_so_that_each_token_but_the_first_is_a_target_once) {
  for (const std::int64_t count : {2, 8, 9, 10, 16, 17, 100}) {
    TextSource source(counting(count), 8, Windows::tiling);
    const Samples all = samples_of(source, 8);
    std::multiset<std::int64_t> seen;
    for (std::int64_t i = 0; i < all.targets.size(); ++i) {
      const std::int64_t target = all.targets.values<std::int64_t>()[static_cast<std::size_t>(i)];
      if (target == no_target) continue;
      EXPECT_EQ(all.tokens.at(i), static_cast<double>(target - 1));
      seen.insert(target);
    }
    ASSERT_EQ(std::ssize(seen), count - 1) << count;
    EXPECT_EQ(std::set<std::int64_t>(seen.begin(), seen.end()).size(), seen.size()) << count;
  }
}

TEST(text_source, moves_its_windows_from_epoch_to_epoch) {
  constexpr std::int64_t count = 1000, context = 16;
  TextSource source(counting(count), context, Windows::moving, 3);
  TextSource same(counting(count), context, Windows::moving, 3);
  TextSource other(counting(count), context, Windows::moving, 4);
  EXPECT_EQ(source.size(), (count - 1) / context);
  std::set<std::int64_t> places;
  for (std::int64_t epoch = 0; epoch < 5; ++epoch) {
    const Samples all = samples_of(source, context, epoch);
    EXPECT_TRUE(all.tokens.same_bits(samples_of(same, context, epoch).tokens));
    EXPECT_FALSE(all.tokens.same_bits(samples_of(other, context, epoch).tokens));
    places.insert(static_cast<std::int64_t>(all.tokens.at(0)));
    std::set<std::int64_t> begins;
    for (std::int64_t window = 0; window < source.size(); ++window) {
      const auto begin = static_cast<std::int64_t>(all.tokens.at(window * context));
      begins.insert(begin);
      for (std::int64_t i = 0; i < context; ++i) {
        ASSERT_EQ(all.tokens.at(window * context + i), static_cast<double>(begin + i));
        ASSERT_EQ(all.targets.at(window * context + i), static_cast<double>(begin + i + 1));
      }
    }
    EXPECT_EQ(std::ssize(begins), source.size());
  }
  EXPECT_EQ(places.size(), 5u);
}

TEST(text_source, gives_a_loader_other_windows_in_each_epoch) {
  const auto source = std::make_shared<TextSource>(counting(100), 16, Windows::moving);
  BatchLoader loader(source, {.batch = source->size(), .shuffle = false, .epochs = 3});
  std::set<double> places;
  while (const std::optional<Batch> batch = loader.next()) places.insert(batch->tensors[0].at(0));
  EXPECT_EQ(places.size(), 3u);
}

TEST(text_source, refuses_too_few_tokens) {
  EXPECT_THROW(TextSource(counting(8), 8, Windows::moving), UsageError);
  EXPECT_NO_THROW(TextSource(counting(9), 8, Windows::moving));
  EXPECT_THROW(TextSource(counting(1), 8, Windows::tiling), UsageError);
  EXPECT_THROW(TextSource(counting(9), 0, Windows::tiling), UsageError);
  EXPECT_THROW(TextSource(nullptr, 8, Windows::tiling), UsageError);
}

}  // namespace
}  // namespace narrowgauge::text_data_test
