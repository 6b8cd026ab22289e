// SPDX-License-Identifier: Apache-2.0
#include "cli/progress/result_words.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "base/text/printable.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/progress/metrics.h"

namespace narrowgauge::cli {

double ResultWords::rate(double samples_per_second) const {
  return samples_per_second * static_cast<double>(window);
}

bool ResultWords::have_accuracy(const Evaluation& test) const {
  return !is_text && !std::isnan(test.accuracy);
}

std::string ResultWords::rate_name() const { return is_text ? "tokens/s" : "samples/s"; }

double perplexity(const Evaluation& test) { return std::exp(test.loss); }

double bits_per_character(const ResultWords& words, const Evaluation& test) {
  return test.loss * words.tokens_per_character / std::numbers::ln2;
}

std::string test_text(const ResultWords& words, const Evaluation& test) {
  if (words.have_accuracy(test))
    return fmt::format("test accuracy {}", percent_text(test.accuracy));
  if (!words.is_text) return "test loss " + number_text(test.loss);
  return fmt::format("test loss {:.4f}  perplexity {}", printable(test.loss),
                     number_text(perplexity(test)));
}

void print_test(const ResultWords& words, const Evaluation& test) {
  if (!words.is_text && !words.have_accuracy(test)) {
    print(fmt::format("test loss       {}  ({} {})\n", number_text(test.loss),
                      grouped(test.samples), words.samples));
    return print_metrics(test);
  }
  if (words.of_pixels) {
    print(fmt::format("test accuracy   {} of the pixels of {} {}  (loss {:.4f})\n",
                      percent_text(test.accuracy), grouped(test.samples), words.samples,
                      printable(test.loss)));
    return print_metrics(test);
  }
  if (!words.is_text) {
    const auto right = std::llround(test.accuracy * static_cast<double>(test.samples));
    print(fmt::format("test accuracy   {}  ({} of {} {}, loss {:.4f})\n",
                      percent_text(test.accuracy), grouped(right), grouped(test.samples),
                      words.samples, printable(test.loss)));
    return print_metrics(test);
  }
  print(fmt::format("test loss       {:.4f} nats a token  ({} tokens)\n", printable(test.loss),
                    grouped(words.tokens)));
  print(fmt::format("perplexity      {}\n", number_text(perplexity(test))));
  if (words.tokens_per_character > 0)
    print(fmt::format("bits            {:.4f} a character\n",
                      printable(bits_per_character(words, test))));
  print_metrics(test);
}

void add_test(JsonObject& json, const Evaluation& test) {
  if (test.samples == 0)
    json.add_null("test_accuracy").add_null("test_loss");
  else
    json.add("test_accuracy", test.accuracy).add("test_loss", test.loss);
}

void add_text_results(JsonObject& json, const ResultWords& words, const Evaluation& test) {
  if (!words.is_text || test.samples == 0) return;
  json.add("test_perplexity", perplexity(test)).add("test_tokens", words.tokens);
  if (words.tokens_per_character > 0)
    json.add("test_bits_per_character", bits_per_character(words, test));
}

}  // namespace narrowgauge::cli
