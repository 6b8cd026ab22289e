// SPDX-License-Identifier: Apache-2.0
#include "cli/formats/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/common/svg.h"
#include "cli/common/text.h"

namespace narrowgauge::cli {
namespace {

// Exponents from `first` to `last`, both included.
struct Span {
  int first = 0, last = -1;
  bool is_empty() const { return last < first; }
  int size() const { return last - first + 1; }
};

Span used_exponents(const ExponentHistogram& histogram) {
  Span span{ExponentHistogram::most, ExponentHistogram::least};
  for (int e = ExponentHistogram::least; e <= ExponentHistogram::most; ++e)
    if (histogram.at(e) > 0) span = {std::min(span.first, e), e};
  return span;
}

std::int64_t count_in(const ExponentHistogram& histogram, Span span) {
  std::int64_t count = 0;
  for (int e = span.first; e <= std::min(span.last, ExponentHistogram::most); ++e)
    count += histogram.at(e);
  return count;
}

// The exponents that a format holds with all its bits, and below them the lowest that it holds at
// all. Half of the least number is the last that may become zero.
Span normal_range(const NumberFormat& format) {
  return {std::ilogb(format.least_normal), std::ilogb(format.largest)};
}
int lowest(const NumberFormat& format) { return std::ilogb(format.least) - 1; }

char mark(const NumberFormat& format, int exponent) {
  const Span normal = normal_range(format);
  if (exponent > normal.last) return '^';
  if (exponent >= normal.first) return '=';
  return exponent >= lowest(format) ? '-' : '0';
}

// "e4m3" of f8e4m3fn, so that marks of several formats fit a line.
std::string short_name(std::string_view name) {
  if (name.starts_with("f8e") || name.starts_with("f4e")) name.remove_prefix(2);
  if (name.ends_with("fn")) name.remove_suffix(2);
  return std::string(name);
}

constexpr int most_lines = 36;

// The exponents to show. If lines are few, a tail below of up to 1 % of the values is cut.
Span shown_exponents(const ExponentHistogram& histogram) {
  Span span = used_exponents(histogram);
  const std::int64_t most_left_out = count_in(histogram, span) / 100;
  std::int64_t left_out = 0;
  while (span.size() > most_lines) {
    left_out += histogram.at(span.first);
    if (left_out > most_left_out) break;
    ++span.first;
  }
  return span;
}

}  // namespace

std::string histogram_text(const ExponentHistogram& histogram,
                           const std::vector<const NumberFormat*>& formats, int width) {
  const Span used = shown_exponents(histogram);
  if (used.is_empty()) return "  no values but zeros\n";
  const int merged = (used.size() + most_lines - 1) / most_lines;
  std::int64_t most = 0;
  for (int e = used.first; e <= used.last; e += merged)
    most = std::max(most, count_in(histogram, {e, e + merged - 1}));
  std::string marks;
  for (const NumberFormat* format : formats)
    marks += fmt::format(" {:>4}", short_name(format->name));
  const int bar = std::clamp(width - 22 - static_cast<int>(marks.size()), 10, 60);
  std::string out = fmt::format("  {:>6} {:>11}  {:{}}{}\n", "2^", "values", "", bar, marks);
  for (int e = used.last - (used.size() - 1) % merged; e >= used.first; e -= merged) {
    const std::int64_t count = count_in(histogram, {e, e + merged - 1});
    const double share = static_cast<double>(count) / static_cast<double>(most);
    const int length = count == 0 ? 0 : std::max(1, static_cast<int>(std::lround(share * bar)));
    out += fmt::format("  {:>6} {:>11}  {:{}}", e, grouped(count),
                       std::string(static_cast<std::size_t>(length), '#'), bar);
    for (const NumberFormat* format : formats) out += fmt::format(" {:>4}", mark(*format, e));
    out += '\n';
  }
  const std::int64_t below = count_in(histogram, {ExponentHistogram::least, used.first - 1});
  if (below > 0) out += fmt::format("  {:>6} {:>11}\n", "below", grouped(below));
  if (merged > 1) out += fmt::format("  each line: {} exponents from the one named on\n", merged);
  return out;
}

namespace {

constexpr double panel_height = 130, panel_gap = 44, top = 78, range_height = 22, axis_gap = 36;
constexpr double least_width = 760, name_width = 64;

class Picture {
 public:
  Picture(const std::vector<HistogramPanel>& panels,
          const std::vector<const NumberFormat*>& formats)
      : panels_(panels), formats_(formats) {
    Span all{ExponentHistogram::most, ExponentHistogram::least};
    for (const HistogramPanel& panel : panels)
      if (const Span used = used_exponents(*panel.histogram); !used.is_empty())
        all = {std::min(all.first, used.first), std::max(all.last, used.last)};
    for (const NumberFormat* format : formats)
      if (format->exponent_bits < 8)
        all = {std::min(all.first, lowest(*format)),
               std::max(all.last, normal_range(*format).last)};
    shown_ = all.is_empty() ? Span{-24, 16} : Span{all.first - 1, all.last + 1};
    step_ = std::max(6.0, (least_width - 2 * svg_margin - name_width) / shown_.size());
  }

  std::string text(const std::string& title, const std::string& subtitle) {
    double base = top - panel_gap;
    for (std::size_t i = 0; i < panels_.size(); ++i) {
      base += panel_gap + panel_height;
      add_panel(panels_[i], base, i);
    }
    add_axis(base + 4);
    base += axis_gap;
    for (std::size_t i = 0; i < formats_.size(); ++i) {
      add_range(*formats_[i], base);
      base += range_height;
    }
    const double width = svg_margin * 2 + name_width + step_ * shown_.size();
    body_ += svg_text(svg_margin + name_width, base + 12,
                      "full: all bits of the fraction; pale: subnormal, fewer of them",
                      "small soft", "start");
    return svg_page(std::max(width, 2 * svg_margin + 6.6 * static_cast<double>(subtitle.size())),
                    base + 30, title, subtitle) +
           body_ + "</svg>\n";
  }

 private:
  double x_of(int exponent) const {
    return svg_margin + name_width + step_ * (exponent - shown_.first);
  }

  void add_panel(const HistogramPanel& panel, double base, std::size_t colour) {
    std::int64_t most = 1;
    for (int e = shown_.first; e <= shown_.last; ++e) most = std::max(most, count(panel, e));
    for (int e = shown_.first; e <= shown_.last; ++e) {
      const double share = static_cast<double>(count(panel, e)) / static_cast<double>(most);
      const double height = count(panel, e) > 0 ? std::max(share * (panel_height - 20), 1.0) : 0;
      if (height > 0)
        body_ += fmt::format(
            "<rect class=\"bar{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
            "height=\"{:.1f}\"/>\n",
            (colour + 1) % svg_colours, x_of(e) + 0.5, base - height, step_ - 1, height);
    }
    body_ += fmt::format("<path class=\"line\" d=\"M{:.1f} {:.1f}h{:.1f}\"/>\n", x_of(shown_.first),
                         base, step_ * shown_.size());
    body_ +=
        svg_text(svg_margin + name_width, base - panel_height + 14, panel.title, "small", "start");
    const std::int64_t zeros = panel.histogram->zeros;
    if (zeros > 0) body_ += svg_text(svg_margin, base - 4, grouped(zeros), "small soft", "start");
    if (zeros > 0) body_ += svg_text(svg_margin, base - 18, "zeros", "small soft", "start");
  }

  std::int64_t count(const HistogramPanel& panel, int exponent) const {
    if (exponent < ExponentHistogram::least || exponent > ExponentHistogram::most) return 0;
    return panel.histogram->at(exponent);
  }

  void add_axis(double y) {
    const int every = shown_.size() > 120 ? 16 : shown_.size() > 60 ? 8 : 4;
    for (int e = shown_.first; e <= shown_.last; ++e)
      if (e % every == 0)
        body_ += svg_text(x_of(e) + step_ / 2, y + 14, fmt::format("2^{}", e), "small soft");
  }

  void add_bar(Span span, double y, const char* opacity) {
    const Span cut{std::max(span.first, shown_.first), std::min(span.last, shown_.last)};
    if (cut.is_empty()) return;
    body_ += fmt::format(
        "<rect class=\"bar0\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"12\"{}/>\n",
        x_of(cut.first), y, step_ * cut.size(), opacity);
  }

  void add_range(const NumberFormat& format, double y) {
    const Span normal = normal_range(format);
    body_ += svg_text(svg_margin, y + 11, std::string(format.name), "small", "start");
    add_bar(normal, y, "");
    add_bar({std::ilogb(format.least), normal.first - 1}, y, " opacity=\"0.4\"");
  }

  const std::vector<HistogramPanel>& panels_;
  const std::vector<const NumberFormat*>& formats_;
  Span shown_;
  double step_ = 0;
  std::string body_;
};

}  // namespace

std::string histogram_picture(const std::string& title, const std::string& subtitle,
                              const std::vector<HistogramPanel>& panels,
                              const std::vector<const NumberFormat*>& formats) {
  return Picture(panels, formats).text(title, subtitle);
}

}  // namespace narrowgauge::cli
