// SPDX-License-Identifier: Apache-2.0
// Text from a trained language model.
#include "narrowgauge/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "base/threads/parallel.h"
#include "cli/common/exit_code.h"
#include "cli/common/interrupt.h"
#include "cli/common/json.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/config/command.h"
#include "cli/flags/run_precision.h"
#include "cli/task/run_folder.h"
#include "cli/task/text_task.h"

namespace narrowgauge::cli {
namespace {

constexpr const char* generate_examples = R"(examples:
  narrowgauge generate runs/bard --prompt "ROMEO:" --temperature 0.8 --top-k 40
      continues a text, as it comes; the same --seed gives the same text
  narrowgauge generate runs/bard --temperature 0
      always the most probable token
  narrowgauge generate runs/bard --stop "JULIET:" --json
      one JSON object, for other programs)";

struct GenerateFlags {
  std::optional<std::string> run, prompt, stop;
  std::optional<std::int64_t> length, top_k, seed, threads;
  std::optional<double> temperature, top_p;
  PrecisionFlags precision;
  bool json = false;
};

GenerateOptions options_of(const GenerateFlags& flags) {
  constexpr std::int64_t usual_length = 400;
  GenerateOptions options;
  options.length = flags.length.value_or(usual_length);
  options.stop = flags.stop.value_or("");
  options.sampling.temperature = flags.temperature.value_or(1);
  options.sampling.top_k = flags.top_k.value_or(0);
  options.sampling.top_p = flags.top_p.value_or(1);
  options.sampling.seed = static_cast<std::uint64_t>(flags.seed.value_or(1));
  require(options.sampling.top_p > 0 && options.sampling.top_p <= 1,
          "--top-p: expected a number above 0 and up to 1, got ", options.sampling.top_p);
  return options;
}

// A trained language model with its tokenizer.
struct TextWriter {
  Model model;
  std::shared_ptr<const Tokenizer> tokenizer;
};

TextWriter open_writer(const GenerateFlags& flags) {
  const Run run = read_run(*flags.run);
  const Settings& settings = run.record.settings;
  require<ModelError>(run.record.is_text(), "generate: ", *flags.run, " is a run of ",
                      settings.model,
                      ", which is no language model; `narrowgauge predict` uses it");
  TextWriter writer{text_model_of(settings), tokenizer_of(settings)};
  writer.model.load(*flags.run);
  if (flags.precision.amp || flags.precision.in_f64)
    writer.model.set_precision(settle_precision(flags.precision, settings.precision));
  return writer;
}

// Characters of the prompt that the tokenizer does not know.
void tell_unknown_in_prompt(const Tokenizer& tokenizer, const std::string& prompt) {
  if (tokenizer.unknown() < 0) return;
  const auto tokens = tokenizer.encode(prompt);
  const auto unknown = std::ranges::count(tokens, tokenizer.unknown());
  if (unknown > 0)
    say("--prompt", fmt::format("{} of its {} tokens are not in the vocabulary of the run", unknown,
                                tokens.size()));
}

std::string json_line(const GenerateFlags& flags, const Generation& result, std::uint64_t seed) {
  JsonObject json;
  json.add("event", interrupted() ? "interrupted" : "done").add("run", *flags.run);
  json.add("prompt", flags.prompt.value_or("")).add("text", result.text);
  json.add("tokens", result.tokens.size()).add("stopped", result.stopped);
  json.add("seed", static_cast<std::int64_t>(seed));
  return json.add("tokens_per_second", result.tokens_per_second).line();
}

int run_generate(const GenerateFlags& flags) {
  const GenerateOptions options = options_of(flags);
  TextWriter writer = open_writer(flags);
  const std::string prompt = flags.prompt.value_or("");
  tell_unknown_in_prompt(*writer.tokenizer, prompt);
  const ThreadScope threads(flags.threads.value_or(0) > 0 ? static_cast<int>(*flags.threads)
                                                          : thread_count());
  const InterruptScope interrupts;
  if (!flags.json) print(prompt);
  const Generation result =
      generate(writer.model, *writer.tokenizer, prompt, options, [&](std::string_view text) {
        if (!flags.json) print(text);
        return !interrupted() && !output_failed();
      });
  if (flags.json)
    print(json_line(flags, result, options.sampling.seed));
  else
    print("\n");
  if (stderr_is_terminal() && !flags.json)
    say("", fmt::format("{} tokens, {} tokens/s", grouped(std::ssize(result.tokens)),
                        rate_text(result.tokens_per_second)));
  return interrupted() ? interrupted_code() : ExitCode::ok;
}

}  // namespace

NG_COMMAND(generate, 26) {
  CLI::App& app =
      add_command(program, "generate", "text from a trained language model", generate_examples);
  const auto flags = std::make_shared<GenerateFlags>();
  add_required(app, {"RUN", "", "folder that `train --output` made of a text"}, flags->run);
  add_text(app, {"--prompt,-p", "TEXT", "that is continued (none: as behind a line's end)"},
           flags->prompt);
  add_whole(app, {"--length,-n", "N", "tokens at most (400)"}, flags->length, 0);
  add_real(app, {"--temperature", "X", "below 1: closer to the probable; 0: the most probable (1)"},
           flags->temperature);
  add_whole(app, {"--top-k", "N", "only the N most probable tokens (0: all)"}, flags->top_k, 0);
  add_real(app, {"--top-p", "X", "only the most probable ones that reach this share (1: all)"},
           flags->top_p);
  add_whole(app, {"--seed", "N", "of the draws (1)"}, flags->seed, 0);
  add_text(app, {"--stop", "TEXT", "end once the new text has this"}, flags->stop);
  add_amp(app, "compute in off, f16 or bf16 (as it was trained)", flags->precision);
  add_math_or_f64(app, flags->precision);
  add_whole(app, {"--threads,-t", "N", "(0: all cores, or OMP_NUM_THREADS)"}, flags->threads, 0);
  add_switch(app, {"--json", "", "one JSON object, at the end"}, flags->json);
  when_chosen(app, [flags, &action] { action = [flags] { return run_generate(*flags); }; });
}

}  // namespace narrowgauge::cli
