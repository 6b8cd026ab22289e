// SPDX-License-Identifier: Apache-2.0
// Pictures of any format: what is read has the size and channels that were asked for.
#include "fuzz/fuzz.h"
#include "io/images/codecs.h"
#include "io/images/exif.h"
#include "io/pictures/image.h"

using namespace narrowgauge;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::int64_t most_pixels = 1 << 18;  // larger ones take long and tell nothing more
  const std::string_view bytes = fuzz::text_of(data, size);
  for (const ImageColours colours : {ImageColours::bgr, ImageColours::grey})
    fuzz::take([&] {
      const Tensor image = decode_image(bytes, "fuzz", colours, most_pixels);
      const Dims& dims = image.dims();
      fuzz::must(dims.size() == 3 && dims[0] * dims[1] <= most_pixels);
      fuzz::must(dims[2] == (colours == ImageColours::grey ? 1 : 3));
      const int orientation = exif_orientation(bytes);
      fuzz::must(orientation >= 1 && orientation <= 8);
      fuzz::must(upright(image, orientation).size() == image.size());
    });
  fuzz::take([&] {
    const Tensor numbers = decode_png_numbers(bytes, most_pixels);
    fuzz::must(numbers.dims()[0] * numbers.dims()[1] <= most_pixels);
  });
  return 0;
}
