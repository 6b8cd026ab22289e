// SPDX-License-Identifier: Apache-2.0
#include "io/readers/glyphs.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/machine/floating_environment.h"
#include "base/random.h"
#include "base/threads/parallel.h"
#include "base/unloading.h"
#include "io/readers/reader.h"

namespace narrowgauge {
namespace {

struct Point {
  float x = 0, y = 0;
};
struct Segment {
  Point from, to;
};
using Strokes = std::vector<Segment>;

// The random numbers of one image, in the order in which they are drawn.
class Dice {
 public:
  Dice(std::uint64_t key, std::int64_t index)
      : key_(key), index_(static_cast<std::uint64_t>(index)) {}
  std::uint32_t bits() {
    if (used_ == 4) {
      block_ = philox(key_, index_, counter_++);
      used_ = 0;
    }
    return block_[used_++];
  }
  float uniform(float low, float high) {
    return low + (high - low) * (static_cast<float>(bits() >> 8) * 0x1p-24f);
  }
  int below(int count) {
    return static_cast<int>((std::uint64_t{bits()} * static_cast<std::uint64_t>(count)) >> 32);
  }

 private:
  std::uint64_t key_, index_, counter_ = 0;
  RandomBlock block_{};
  std::size_t used_ = 4;
};

// (cos a, sin a) for t = tan(a / 2): only exact operations, so that every libm gives the same
// image.
Point on_circle(float t) {
  const float norm = 1.0f / (1.0f + t * t);
  return {(1.0f - t * t) * norm, 2.0f * t * norm};
}

Strokes polyline(std::initializer_list<Point> points) {
  Strokes strokes;
  for (const Point* p = points.begin(); p + 1 != points.end(); ++p) strokes.push_back({p[0], p[1]});
  return strokes;
}

Strokes joined(Strokes a, const Strokes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// An arc of this radius that is open to the right: t = tan(angle / 2) is 1 / s for s from -last to
// last, so that the gap is where |s| would be larger.
Strokes open_circle(float radius, float last, int pieces) {
  Strokes strokes;
  Point previous;
  for (int i = 0; i <= pieces; ++i) {
    const float s = last * (2.0f * static_cast<float>(i) / static_cast<float>(pieces) - 1.0f);
    const Point unit = on_circle(s);
    const Point point{-radius * unit.x, radius * unit.y};
    if (i > 0) strokes.push_back({previous, point});
    previous = point;
  }
  return strokes;
}

Strokes circle(float radius) {
  Strokes half = open_circle(radius, 1.0f, 8);  // the left half: angles from 90 to 270 degrees
  const Strokes left = half;
  for (const Segment& s : left) half.push_back({{-s.from.x, s.from.y}, {-s.to.x, s.to.y}});
  return half;
}

// Upright strokes within [-1, 1], y downwards.
std::vector<Strokes> make_templates() {
  return {
      polyline({{0, -1}, {0, 1}}),
      joined(polyline({{-1, 0}, {1, 0}}), polyline({{0, -1}, {0, 1}})),
      circle(0.9f),
      open_circle(0.9f, 1.0f, 8),
      polyline({{-0.7f, -1}, {-0.7f, 0.9f}, {0.8f, 0.9f}}),
      joined(polyline({{-1, -0.9f}, {1, -0.9f}}), polyline({{0, -0.9f}, {0, 1}})),
      joined(polyline({{-0.6f, -1}, {-0.6f, 1}}), polyline({{0.6f, -1}, {0.6f, 1}})),
      polyline({{0, -0.95f}, {0.95f, 0.8f}, {-0.95f, 0.8f}, {0, -0.95f}}),
      polyline({{-0.8f, -0.9f}, {0.8f, -0.9f}, {-0.8f, 0.9f}, {0.8f, 0.9f}}),
      joined(polyline({{0, -1}, {0, 1}}), polyline({{-0.75f, 0.2f}, {0, 1}, {0.75f, 0.2f}})),
  };
}

// Rotates, slants and scales the strokes, and moves them to a random place within the image.
Strokes placed(const Strokes& strokes, Dice& dice) {
  constexpr float largest_turn = 0.18f;  // tan(angle / 2): 20 degrees
  constexpr float margin = 2.0f;         // pixels between the middle of a stroke and the border
  const Point turn = on_circle(dice.uniform(-largest_turn, largest_turn));
  const float slant = dice.uniform(-0.25f, 0.25f);
  const float scale = dice.uniform(6.5f, 9.5f);  // pixels: half the size
  const float scale_x = scale * dice.uniform(0.85f, 1.15f);
  const auto transform = [&](Point p) {
    const Point q{scale_x * (p.x + slant * p.y), scale * p.y};
    return Point{turn.x * q.x - turn.y * q.y, turn.y * q.x + turn.x * q.y};
  };
  Point low{99, 99}, high{-99, -99};
  Strokes result;
  for (const Segment& s : strokes) {
    result.push_back({transform(s.from), transform(s.to)});
    for (const Point p : {result.back().from, result.back().to}) {
      low = {std::min(low.x, p.x), std::min(low.y, p.y)};
      high = {std::max(high.x, p.x), std::max(high.y, p.y)};
    }
  }
  const auto shift = [&](float from, float to) {
    const float first = margin - from, last = glyph_size - 1 - margin - to;
    return first < last ? dice.uniform(first, last) : dice.uniform(last, first);
  };
  const Point move{shift(low.x, high.x), shift(low.y, high.y)};
  for (Segment& s : result)
    for (Point* p : {&s.from, &s.to}) *p = {p->x + move.x, p->y + move.y};
  return result;
}

// Grey values in [0, 1] on which strokes are drawn.
class Canvas {
 public:
  explicit Canvas(float background) { std::fill(grey_, grey_ + area, background); }

  // Blends towards `brightness` by the share of each pixel that the strokes cover.
  void draw(const Strokes& strokes, float half_width, float brightness) {
    float squared[area];  // distance of a pixel's middle to the nearest stroke
    std::fill(squared, squared + area, 1e6f);
    for (const Segment& s : strokes) nearest(s, squared);
    for (int i = 0; i < area; ++i) {
      const float ink = std::clamp(half_width + 0.5f - std::sqrt(squared[i]), 0.0f, 1.0f);
      grey_[i] += ink * (brightness - grey_[i]);
    }
  }

  // Adds noise of triangular distribution within +-amplitude, and rounds to bytes.
  void finish(float amplitude, Dice& dice, std::uint8_t* pixels) const {
    for (int i = 0; i < area; i += 2) {
      const std::uint32_t bits = dice.bits();
      for (int half = 0; half < 2; ++half) {
        const std::uint32_t pair = bits >> (16 * half);
        const float noise = static_cast<float>((pair & 255) + (pair >> 8 & 255)) / 255.0f - 1.0f;
        const float value = grey_[i + half] + amplitude * noise;
        pixels[i + half] = static_cast<std::uint8_t>(std::clamp(value, 0.0f, 1.0f) * 255.0f + 0.5f);
      }
    }
  }

 private:
  static constexpr int area = glyph_size * glyph_size;

  static void nearest(const Segment& s, float* squared) {
    const float along_x = s.to.x - s.from.x, along_y = s.to.y - s.from.y;
    const float inverse = 1.0f / (along_x * along_x + along_y * along_y + 1e-6f);
    for (int y = 0; y < glyph_size; ++y) {
      const float dy = static_cast<float>(y) - s.from.y;
      float* row = squared + y * glyph_size;
      for (int x = 0; x < glyph_size; ++x) {
        const float dx = static_cast<float>(x) - s.from.x;
        const float t = (dx * along_x + dy * along_y) * inverse;
        const float clamped = std::min(std::max(t, 0.0f), 1.0f);
        const float ex = dx - clamped * along_x, ey = dy - clamped * along_y;
        row[x] = std::min(row[x], ex * ex + ey * ey);
      }
    }
  }

  float grey_[area];
};

// Up to two short faint strokes anywhere, too small to be taken for a glyph.
void draw_distractors(Canvas& canvas, float brightness, Dice& dice) {
  for (int left = dice.below(3); left > 0; --left) {
    const Point from{dice.uniform(1, glyph_size - 2), dice.uniform(1, glyph_size - 2)};
    const Point to{from.x + dice.uniform(-3.5f, 3.5f), from.y + dice.uniform(-3.5f, 3.5f)};
    const float half_width = dice.uniform(0.4f, 0.8f);
    canvas.draw({{from, to}}, half_width, brightness * dice.uniform(0.3f, 0.7f));
  }
}

DataSet draw_set(std::string_view part, std::uint64_t seed, std::int64_t count) {
  require(count >= 0, "glyphs: expected a count of images from 0 up, got ", count);
  DataSet set;
  set.name = concat("glyphs/", part);
  set.classes = glyph_classes;
  set.class_names.assign(glyph_names.begin(), glyph_names.end());
  set.inputs = {{"images", Tensor(DType::u8, {count, 1, glyph_size, glyph_size})}};
  set.targets = {{"labels", Tensor(DType::i64, {count})}};
  const std::uint64_t key = stable_hash(set.name, stable_hash("seed") ^ seed);
  std::uint8_t* const pixels = set.inputs[0].tensor.values<std::uint8_t>().data();
  std::int64_t* const labels = set.targets[0].tensor.values<std::int64_t>().data();
  constexpr std::int64_t area = glyph_size * glyph_size;
  parallel_for(count, 64, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      draw_glyph(key, i, {pixels + i * area, area});
      labels[i] = glyph_label(i);
    }
  });
  return set;
}

}  // namespace

void draw_glyph(std::uint64_t key, std::int64_t index, std::span<std::uint8_t> pixels) {
  static const auto& templates = immortal<std::vector<Strokes>>(make_templates());
  NG_INVARIANT(pixels.size() == std::size_t{glyph_size} * glyph_size);
  Dice dice(key, index);
  const float background = dice.uniform(0.0f, 0.15f);
  const float brightness = dice.uniform(0.6f, 1.0f);
  const Strokes strokes = placed(templates[static_cast<std::size_t>(glyph_label(index))], dice);
  Canvas canvas(background);
  draw_distractors(canvas, brightness, dice);
  canvas.draw(strokes, dice.uniform(0.8f, 1.5f), brightness);
  canvas.finish(dice.uniform(0.05f, 0.16f), dice, pixels.data());
}

DataSplit draw_glyphs(std::uint64_t seed, std::int64_t train_count, std::int64_t test_count) {
  const FloatingEnvironment environment(Subnormals::keep);
  return {draw_set("train", seed, train_count), draw_set("test", seed, test_count)};
}

namespace {

bool takes_glyphs(const DataPlace& place) { return place.name == "glyphs"; }
Data read_glyphs(const std::string&, const DataOptions&) { return draw_glyphs(); }

}  // namespace
}  // namespace narrowgauge

NG_READER(glyphs, "glyphs", "glyphs (drawn here)", takes_glyphs, read_glyphs)
