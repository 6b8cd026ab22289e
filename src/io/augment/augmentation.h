// SPDX-License-Identifier: Apache-2.0
// Random changes of pictures in training. Each is a stem in this folder that the build finds by its
// mark.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/stem_table.h"
#include "io/images/resize.h"
#include "narrowgauge/tensor.h"

namespace narrowgauge {

// Random numbers of one sample in one epoch, drawn one after another.
class Draws {
 public:
  Draws(std::uint64_t seed, std::int64_t epoch, std::int64_t sample)
      : stream_(seed, "augment", static_cast<std::uint64_t>(epoch)),
        next_(static_cast<std::uint64_t>(sample) * most) {}

  double uniform(double low, double high);  // [low, high)
  std::int64_t whole(std::int64_t count);   // 0 to count - 1
  bool chance(double probability) { return uniform(0, 1) < probability; }
  double normal();  // mean 0, deviation 1
  // A number from the gamma distribution with this shape and scale 1 (Marsaglia, Tsang 2000).
  double gamma(double shape);

 private:
  static constexpr std::uint64_t most = 4096;  // draws of a sample, before they meet the next one's
  RandomStream stream_;
  std::uint64_t next_;
};

// A sample under way.
struct AugmentedImage {
  Tensor pixels;           // f32 [H, W, C], 0 to 255
  std::int64_t label = 0;  // its class
  // Classes u8 [H, W] of the pixels, 255 where nothing is known; empty where there are none.
  Tensor mask = Tensor(DType::u8, {0, 0});

  bool has_mask() const { return mask.size() > 0; }
};

// What a change may use.
struct AugmentContext {
  Draws& draws;
  std::span<const float> mean;  // of each channel, 0 to 255: what stands where nothing is seen
  std::int64_t samples = 1;     // of the set
  // Another sample of the set in the same size, without the change that asks for it and those
  // behind it.
  std::function<AugmentedImage(std::int64_t index)> other;
};

struct ImageSize {
  std::int64_t height = 0, width = 0;
};

class Augmentation {
 public:
  virtual ~Augmentation() = default;
  // The part of a picture that becomes the input; nothing unless this change chooses it.
  virtual std::optional<ImageBox> cut(ImageSize, Draws&) const { return {}; }
  // Changes pixels, and the mask with them, that have the size of the input already.
  virtual void change(AugmentedImage&, AugmentContext&) const {}
  virtual bool takes_masks() const { return true; }
};

// The numbers in parentheses behind the name of a change: "(4)", "(least=0.3, most=0.8)".
class AugmentArguments {
 public:
  AugmentArguments(std::string_view name, std::string_view text);  // throws UsageError
  // The next number in order or that of this name, from `low` to `high`; `usual` where it is not
  // given. Throws UsageError.
  double number(std::string_view name, double usual, double low, double high);
  void require_all_taken() const;  // throws UsageError

 private:
  struct Given {
    std::string name;  // "": by its place
    double value = 0;
    bool taken = false;
  };
  std::string who_;
  std::vector<Given> given_;
  std::size_t asked_ = 0;
};

struct AugmentationRule {
  std::string_view name, arguments, help;  // arguments: as in "crop(padding=4)"
  std::unique_ptr<Augmentation> (*make)(AugmentArguments& arguments);
};

std::vector<const AugmentationRule*> augmentations();

// "flip, crop(4)". Throws UsageError naming the changes there are.
std::vector<std::unique_ptr<Augmentation>> parse_augmentations(std::string_view text);

}  // namespace narrowgauge

// NG_AUGMENT(stem, name, arguments, help, make) enters a change.
#define NG_AUGMENT(stem, ...) NG_STEM(augment_table, AugmentationRule, stem, __VA_ARGS__)
