// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/convert/convert.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/text/nearest.h"
#include "cli/common/exit_code.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/formats/formats.h"
#include "narrowgauge/error.h"
#include "study/raw_conversion.h"

namespace narrowgauge::cli {
namespace {

constexpr std::int64_t chunk = 1 << 18;  // elements: whole bytes in any format

RawFormat raw_format(const std::string& name) {
  if (name == "tf32") return {DType::f32, true};
  std::vector<std::string> names{"i4"};
  for (const NumberFormat& format : number_formats()) names.emplace_back(format.name);
  const auto dtype = parse_dtype(name);
  require(dtype && std::ranges::find(names, name) != names.end(), "--convert: expected one of ",
          choices(names), " on both sides of the colon, got \"", name, '"',
          suggestion(name, names));
  return {*dtype};
}

}  // namespace

int run_convert(const std::string& formats) {
  const std::size_t colon = formats.find(':');
  require(colon != std::string::npos, "--convert: expected two formats such as f32:f16, got \"",
          formats, '"');
  const RawFormat from = raw_format(formats.substr(0, colon)),
                  to = raw_format(formats.substr(colon + 1));
  require(isatty(STDIN_FILENO) == 0, "--convert: reads numbers from stdin, which is a terminal");
  const int from_bits = bits(from.dtype);
  std::vector<std::byte> in(static_cast<std::size_t>(bytes_for(chunk, from.dtype)));
  std::vector<std::byte> out(static_cast<std::size_t>(bytes_for(chunk, to.dtype)));
  while (const std::size_t got = std::fread(in.data(), 1, in.size(), stdin)) {
    const std::int64_t got_bits = static_cast<std::int64_t>(got) * 8;
    require<DataError>(got_bits % from_bits == 0, "--convert: expected whole numbers of ",
                       from_bits / 8, " bytes, the last one on stdin is cut off");
    const std::int64_t count = got_bits / from_bits;
    convert_raw(from, in.data(), to, out.data(), count);
    print_bytes({reinterpret_cast<const char*>(out.data()),
                 static_cast<std::size_t>(bytes_for(count, to.dtype))});
  }
  require<DataError>(std::ferror(stdin) == 0, "--convert: stdin cannot be read");
  return ExitCode::ok;
}

}  // namespace narrowgauge::cli
