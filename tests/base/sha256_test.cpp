// SPDX-License-Identifier: Apache-2.0
#include "base/hash/sha256.h"

#include <gtest/gtest.h>

#include <vector>

namespace narrowgauge::sha256_test {
namespace {

// NIST's examples for FIPS 180-4.
TEST(sha256, matches_the_published_vectors) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

std::string pattern(std::size_t length) {
  std::string text(length, '\0');
  for (std::size_t i = 0; i < length; ++i) text[i] = static_cast<char>(i % 251);
  return text;
}

// Every way to fill the last block; the digest of the digests is from Python's hashlib.
TEST(sha256, pads_every_length_right) {
  std::string digests;
  for (std::size_t length = 0; length <= 200; ++length) digests += sha256_hex(pattern(length));
  EXPECT_EQ(sha256_hex(digests),
            "b367ea311264aae50e6260b96a10761169ce3eec5d5f8f2258351f82c7252776");
}

TEST(sha256, does_not_depend_on_how_the_bytes_arrive) {
  const std::string text = pattern(1000);
  for (std::size_t step : {1, 3, 63, 64, 65, 127, 500}) {
    Sha256 hash;
    for (std::size_t i = 0; i < text.size(); i += step) hash.update(text.substr(i, step));
    EXPECT_EQ(hash.hex(), sha256_hex(text)) << step;
  }
}

TEST(sha256, goes_on_after_a_digest) {
  Sha256 hash;
  hash.update("ab");
  EXPECT_EQ(hash.hex(), sha256_hex("ab"));
  hash.update("c");
  EXPECT_EQ(hash.hex(), sha256_hex("abc"));
}

}  // namespace
}  // namespace narrowgauge::sha256_test
