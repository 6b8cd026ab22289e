// SPDX-License-Identifier: Apache-2.0
#include "cli/report/ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/common/text.h"
#include "cli/report/axis.h"
#include "cli/report/drawing.h"
#include "cli/report/page.h"

namespace narrowgauge::cli {
namespace {

struct Kind {
  std::string title;
  ValueRange LayerRanges::*range;
  std::size_t colour;
};

double share(std::int64_t part, const ValueRange& range) {
  return static_cast<double>(part) /
         static_cast<double>(std::max<std::int64_t>(range.census.values(), 1));
}

// "0 %", "0.013 %", "<0.001 %"
std::string share_text(double share) {
  if (share == 0) return "0 %";
  if (share < 1e-5) return "<0.001 %";
  return share < 0.01 ? fmt::format("{:.3f} %", 100 * share) : percent_text(share);
}

// "1.2e-05"
std::string size_text(double size) { return fmt::format("{:.3g}", size); }

// What a pointer over a layer brings up.
std::string range_hover(const LayerRanges& layer, const ValueRange& range) {
  std::string text = fmt::format("{} ({}): {} to {}, {} zeros", layer.name, layer.op,
                                 size_text(range.smallest), size_text(range.largest),
                                 share_text(share(range.census.histogram().zeros, range)));
  for (const FormatFates* each : {&range.f16(), &range.bf16()}) {
    const std::int64_t flushed = each->of(Fate::flushed), large = each->too_large();
    if (flushed + large > 0)
      text += fmt::format("; {}: {} become zero, {} are too large", each->format,
                          share_text(share(flushed, range)), share_text(share(large, range)));
  }
  return text;
}

// The exponents between which all but a thousandth of the values lie at either end.
std::pair<double, double> bulk_of(const ExponentHistogram& histogram) {
  std::int64_t all = 0, seen = 0;
  for (const std::int64_t count : histogram.counts) all += count;
  std::pair<double, double> bulk{ExponentHistogram::least, ExponentHistogram::most};
  for (int e = ExponentHistogram::least; e <= ExponentHistogram::most; ++e) {
    if (seen * 1000 <= all) bulk.first = e;
    seen += histogram.at(e);
    if ((all - seen) * 1000 <= all) {
      bulk.second = e + 1;
      break;
    }
  }
  return bulk;
}

// Lengths in pixels.
constexpr double range_row_height = 17, bar_height = 11, range_top = 36, range_bottom = 28;
constexpr std::size_t most_layer_letters = 30;  // of a name

class RangePicture {
 public:
  RangePicture(const std::vector<LayerRanges>& layers, const Kind& kind)
      : layers_(layers), kind_(kind) {
    std::size_t longest = 8;
    for (const LayerRanges& layer : layers) longest = std::max(longest, width_of(layer.name));
    names_width_ = name_room(longest, most_layer_letters);
    for (const LayerRanges& layer : layers)
      if (const ValueRange& range = layer.*kind.range; !range.is_empty()) {
        low_ = std::min(low_, std::log2(range.smallest));
        high_ = std::max(high_, std::log2(range.largest));
      }
    low_ = std::max(std::floor(low_) - 1, -150.0);
    high_ = std::min(std::ceil(high_) + 1, 130.0);
  }

  std::string text() const {
    const double height = range_top + range_row_height * static_cast<double>(layers_.size());
    Drawing drawing(drawing_width, height + range_bottom,
                    kind_.title + " of each layer against the ranges of f16 and bf16");
    draw_formats(drawing, height);
    double y = range_top + 3;
    for (const LayerRanges& layer : layers_) {
      draw(drawing, layer, y);
      y += range_row_height;
    }
    draw_axis(drawing, height);
    return std::move(drawing).finish();
  }

 private:
  double x_of(double exponent) const {
    const double place = (std::clamp(exponent, low_, high_) - low_) / (high_ - low_);
    return names_width_ + place * (drawing_width - names_width_ - 8);
  }

  // All bits within the darker band of f16, fewer in the paler one; bf16 reaches to the edges of
  // what is drawn here, or is marked.
  void draw_formats(Drawing& drawing, double height) const {
    const auto band = [&](double from, double to, const char* classes, const std::string& what) {
      if (x_of(to) > x_of(from))
        drawing.box({x_of(from), range_top - 4, x_of(to) - x_of(from), height - range_top + 4},
                    classes, what);
    };
    band(-14, 16, "band", "f16 has all its bits here: 2^-14 to 65,504");
    band(-25, -14, "band2", "f16 has fewer bits here: subnormal numbers, from 2^-24 on");
    if (x_of(16) > x_of(-14) + 24) drawing.text((x_of(-14) + x_of(16)) / 2, 13, "f16");
    if (x_of(-14) - x_of(-25) > 50) drawing.text((x_of(-25) + x_of(-14)) / 2, 13, "fewer bits");
    const bool beyond = low_ < -126 || high_ > 128;
    if (beyond) {
      drawing.path(fmt::format("M{:.1f} {:.1f}H{:.1f}", x_of(-126), range_top - 8, x_of(128)),
                   "line");
      drawing.text(x_of(-60), range_top - 11, "bf16");
    } else {
      drawing.path(fmt::format("M{:.1f} {:.1f}H{:.1f}", x_of(low_), range_top - 8, x_of(high_)),
                   "line");
      drawing.text(drawing_width - 8, range_top - 11, "all within bf16", "small soft", "end");
    }
  }

  void draw(Drawing& drawing, const LayerRanges& layer, double y) const {
    drawing.name(names_width_ - 8, y + 10, layer.name, most_layer_letters);
    const ValueRange& range = layer.*kind_.range;
    if (range.is_empty()) {
      drawing.text(names_width_ + 4, y + 10, range.census.values() > 0 ? "all 0" : "none",
                   "small soft", "start");
      return;
    }
    const double from = x_of(std::log2(range.smallest)), to = x_of(std::log2(range.largest));
    const auto [low, high] = bulk_of(range.census.histogram());
    const double begin = std::max(x_of(low), from), end = std::min(x_of(high), to);
    drawing.path(box_path({from, y + 4, std::max(to - from, 1.0), 3}) +
                     box_path({begin, y, std::max(end - begin, 2.0), bar_height}),
                 fmt::format("bar{}", kind_.colour), range_hover(layer, range));
  }

  void draw_axis(Drawing& drawing, double height) const {
    const double span = high_ - low_;
    const int every = span > 100 ? 32 : span > 50 ? 16 : span > 24 ? 8 : 4;
    for (int e = static_cast<int>(std::ceil(low_ / every)) * every; e <= high_; e += every)
      drawing.text(std::clamp(x_of(e), names_width_ + 12, drawing_width - 18), height + 18,
                   fmt::format("2^{}", e));
  }

  const std::vector<LayerRanges>& layers_;
  const Kind& kind_;
  double names_width_ = 0;
  double low_ = -26, high_ = 17;  // exponents; those of f16 are always shown
};

// How much f16 would lose in all layers together; "" where it would lose nothing.
std::string losses_text(const std::vector<LayerRanges>& layers, const Kind& kind) {
  std::int64_t flushed = 0, large = 0, all = 0;
  for (const LayerRanges& layer : layers) {
    const ValueRange& range = layer.*kind.range;
    flushed += range.f16().of(Fate::flushed);
    large += range.f16().too_large();
    all += range.census.values();
  }
  if (all == 0) return "";
  const auto of_all = [&](std::int64_t part) {
    return fmt::format("{} of {} ({})", grouped(part), grouped(all),
                       share_text(static_cast<double>(part) / static_cast<double>(all)));
  };
  std::string text = flushed > 0 ? of_all(flushed) + " would become zero in f16" : "";
  if (large > 0) text += (text.empty() ? "" : ", ") + of_all(large) + " would be too large for f16";
  return text.empty() ? "f16 holds them all." : text + '.';
}

bool is_measured(const std::vector<LayerRanges>& layers, const Kind& kind) {
  return std::ranges::any_of(
      layers, [&](const LayerRanges& layer) { return (layer.*kind.range).census.values() > 0; });
}

std::string table_of(const std::vector<LayerRanges>& layers, const std::vector<Kind>& kinds) {
  HtmlTable table({"<layer", "<numbers", "smallest", "largest", "zeros", "zero in f16",
                   "too large for f16", "zero in bf16"});
  for (const LayerRanges& layer : layers)
    for (const Kind& kind : kinds) {
      const ValueRange& range = layer.*kind.range;
      if (range.census.values() == 0) continue;
      table.add({layer.name, kind.title, range.is_empty() ? "-" : size_text(range.smallest),
                 range.is_empty() ? "-" : size_text(range.largest),
                 share_text(share(range.census.histogram().zeros, range)),
                 share_text(share(range.f16().of(Fate::flushed), range)),
                 share_text(share(range.f16().too_large(), range)),
                 share_text(share(range.bf16().of(Fate::flushed), range))});
    }
  return table.text();
}

}  // namespace

std::string ranges_html(const std::vector<LayerRanges>& all, double gradient_scale) {
  constexpr std::size_t most_layers = 300;  // so that the page stays small
  const std::vector<LayerRanges> layers(
      all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), most_layers)));
  const std::string times =
      gradient_scale == 1 ? "" : " \xC3\x97 " + grouped(std::llround(gradient_scale));
  std::vector<Kind> kinds{{"Weights", &LayerRanges::weights, 1},
                          {"Activations", &LayerRanges::activations, 2},
                          {"Gradients of activations" + times, &LayerRanges::output_gradients, 3},
                          {"Gradients of weights" + times, &LayerRanges::parameter_gradients, 4}};
  std::erase_if(kinds, [&](const Kind& kind) { return !is_measured(layers, kind); });
  std::vector<std::string> figures;
  std::string losses;
  for (const Kind& kind : kinds) {
    const std::string lost = losses_text(all, kind);
    figures.push_back(html_figure(kind.title, RangePicture(layers, kind).text(), lost));
    losses += html_paragraph(kind.title + ": " + lost);
  }
  std::string out = html_paragraph(
      "Magnitudes from the smallest to the largest of each layer as a thin line, all but the outer "
      "thousandths as a bar. Behind them lies the range of f16.");
  if (layers.size() < all.size())
    out += html_paragraph(fmt::format("The first {} of {} layers are shown.", layers.size(),
                                      grouped(std::ssize(all))));
  if (gradient_scale != 1)
    out += html_paragraph(
        "Gradients are multiplied by the loss scale of the checkpoint, as the "
        "backward pass sees them.");
  const std::string pictures = html_figures(figures);
  constexpr std::size_t many = 100;
  out += layers.size() > many
             ? losses + html_details(fmt::format("The {} layers", layers.size()), pictures)
             : pictures;
  return out + html_details("The numbers", table_of(layers, kinds));
}

}  // namespace narrowgauge::cli
