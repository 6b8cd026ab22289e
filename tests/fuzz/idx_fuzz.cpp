// SPDX-License-Identifier: Apache-2.0
// IDX files, plain and gzipped: one alone, and as each file of a folder whose others are right.
#include <array>

#include "fuzz/fuzz.h"
#include "io/readers/idx.h"
#include "narrowgauge/data.h"

using namespace narrowgauge;

namespace {

// Three images of 1x2 and their labels.
constexpr std::string_view images("\0\0\x08\3\0\0\0\3\0\0\0\1\0\0\0\2\1\2\3\4\5\6", 22);
constexpr std::string_view labels("\0\0\x08\1\0\0\0\3\0\1\2", 11);

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::array names{"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                             "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};
  const std::string_view text = fuzz::text_of(data, size);
  for (std::size_t wrong = 0; wrong < names.size(); ++wrong) {
    for (std::size_t i = 0; i < names.size(); ++i)
      fuzz::write(names[i], i == wrong ? text : i % 2 ? labels : images);
    fuzz::take([] { read_idx_folder(fuzz::folder()); });
  }
  const std::string path = fuzz::write("alone", text);
  for (const int rank : {1, 3}) fuzz::take([&] { read_idx(path, rank); });
  return 0;
}
