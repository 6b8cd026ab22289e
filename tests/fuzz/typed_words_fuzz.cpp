// SPDX-License-Identifier: Apache-2.0
// Words of the command line: matrices of simulate, numbers of formats, sizes, overrides.
#include "cli/formats/formats.h"
#include "cli/simulate/operands.h"
#include "fuzz/fuzz.h"
#include "narrowgauge/images.h"
#include "precision/plans/overrides.h"

using namespace narrowgauge;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fuzz::text_of(data, size));
  if (text.starts_with('['))
    fuzz::take([&] { cli::corner_text(cli::read_matrix(text, UnitFormat::f16).values); });
  fuzz::take([&] {
    cli::FormatsFlags flags;
    flags.numbers = {text};
    cli::number_tables(flags);
    cli::number_tables_json(flags);
  });
  fuzz::take([&] {
    cli::RandomMatrices wish;
    cli::parse_sizes(text, wish);
  });
  fuzz::take([&] { parse_override(text); });
  fuzz::take([&] { fuzz::must(concat(Storage::parse(text)).size() > 0); });
  fuzz::take([&] { parse_math(text); });
  fuzz::take([&] { check_augmentations(text); });
  return 0;
}
