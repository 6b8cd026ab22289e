// SPDX-License-Identifier: Apache-2.0
// The text form of graphs: what is taken prints as a text that is read again alike.
#include "fuzz/fuzz.h"
#include "ops/table.h"

using namespace narrowgauge;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::take([&] {
    const Graph graph = parse(fuzz::text_of(data, size), op_table());
    const std::string text = print(graph);
    fuzz::must(print(parse(text, op_table())) == text);
    verify(graph, Stage::laid_out);
  });
  return 0;
}
