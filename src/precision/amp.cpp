// SPDX-License-Identifier: Apache-2.0
#include "precision/amp.h"

#include "base/environment.h"
#include "narrowgauge/error.h"

namespace narrowgauge {

std::string_view name(const Amp& amp) {
  if (amp.automatic) return "auto";
  return amp.format == DType::f32 ? "off" : name(amp.format);
}

std::optional<Amp> parse_amp(std::string_view word) {
  constexpr Amp automatic{.automatic = true};
  if (word == name(automatic)) return automatic;
  for (const DType format : amp_formats)
    if (word == name(Amp{format})) return Amp{format};
  return std::nullopt;
}

std::optional<Amp> amp_variable() {
  const std::string word = environment("AMP");
  const std::optional<Amp> amp = parse_amp(word);
  require(word.empty() || amp, "NARROWGAUGE_AMP: expected off, f16, bf16 or auto, got '", word,
          "'");
  return amp;
}

Amp amp_of_environment() {
  if (const std::optional<Amp> amp = amp_variable()) return *amp;
  const std::string wish = environment("AUTO_MIXED_PRECISION");
  if (wish.empty() || wish == "0") return {};
  const std::optional<Amp> amp = wish == "1" ? Amp{DType::f16} : parse_amp(wish);
  require(amp && !amp->automatic,
          "NARROWGAUGE_AUTO_MIXED_PRECISION: expected 0, 1, f16 or bf16, got '", wish, "'");
  return *amp;
}

}  // namespace narrowgauge
