// SPDX-License-Identifier: Apache-2.0
// Text of files and command lines on its way to a terminal: nothing that it would obey is left.
#include "base/text/printable.h"
#include "cli/common/text.h"
#include "fuzz/fuzz.h"

using namespace narrowgauge;

namespace {

void must_be_plain(std::string_view text, bool lines) {
  for (const char c : text)
    fuzz::must((static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) || (lines && c == '\n'));
  fuzz::must(text.find("\xc2\x9b") == std::string_view::npos);      // CSI in one character
  fuzz::must(text.find("\xe2\x80\xae") == std::string_view::npos);  // turns the direction
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  must_be_plain(printable(text), false);
  must_be_plain(printable(text, 20), false);
  const std::string lines = printable_lines(text);
  must_be_plain(lines, true);
  fuzz::must(printable_lines(lines) == lines);
  must_be_plain(cli::folded_lines(lines, 40), true);
  return 0;
}
