// SPDX-License-Identifier: Apache-2.0
// Dimensions and tensor types: what is taken prints as a text that is read again alike.
#include "fuzz/fuzz.h"
#include "narrowgauge/tensor.h"

using namespace narrowgauge;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  fuzz::take([&] {
    const Dim dim = Dim::parse(text);
    fuzz::must(Dim::parse(dim.text()) == dim);
    dim.bind({{"N", 7}, {"M", 3}});
  });
  fuzz::take([&] {
    const TensorType type = TensorType::parse(text);
    fuzz::must(TensorType::parse(concat(type)) == type);
    fuzz::take([&] { element_count(type.shape).bind({{"N", 0}, {"M", -2}}); });
  });
  return 0;
}
