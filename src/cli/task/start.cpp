// SPDX-License-Identifier: Apache-2.0
#include "cli/task/start.h"

#include <CLI/CLI.hpp>

#include "base/text/ascii.h"
#include "base/text/nearest.h"
#include "cli/common/exit_code.h"
#include "cli/common/interrupt.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/config/command.h"
#include "narrowgauge/error.h"
#include "narrowgauge/log.h"
#include "narrowgauge/version.h"

namespace narrowgauge::cli {
namespace {

constexpr const char* description =
    "Trains and runs neural networks in narrow number formats, and shows that nothing was lost.";

constexpr const char* closing = R"(examples:
  narrowgauge train --model lenet --data glyphs --amp bf16
  narrowgauge train --model lenet --data glyphs --compare ieee,off,f16,bf16
  narrowgauge explain --model resnet20 --amp f16
  narrowgauge doctor
  narrowgauge bench --model resnet20,lenet
  narrowgauge simulate --compare v100,h100,ieee --dtype f16 --random 64,64,1024
  narrowgauge formats 3.14 65520 1e-8
  source <(narrowgauge completion bash)
`narrowgauge COMMAND --help` has the flags of a command and more examples.

exit codes: 0 done, 2 usage, 3 model or op not supported, 4 data, 5 diverged,
            6 device or memory, 7 a check failed, 130 interrupted)";

std::vector<std::string> command_names(const CLI::App& program) {
  std::vector<std::string> names;
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::string unknown_text(const CLI::App& app, const std::string& word) {
  if (!word.starts_with('-')) return concat("unexpected argument \"", word, '"');
  const std::string flag = word.substr(0, word.find('='));
  return concat("unknown flag ", flag, suggestion(flag, flag_names(app)));
}

// "Sentence" becomes "sentence"; --flags and words in capitals stay.
std::string lower_first(std::string text) {
  const bool sentence = text.size() > 1 && is_small_letter(text[1]);
  if (sentence) text[0] = lower(text[0]);
  return text.substr(0, text.find('\n'));
}

// CLI11's complaint in our words.
std::string parse_error_text(const CLI::App& program, const CLI::ParseError& error) {
  const auto chosen = program.get_subcommands();
  const std::vector<std::string> names = command_names(program);
  if (chosen.empty()) {
    const std::vector<std::string> rest = program.remaining();
    if (rest.empty()) return concat("expected a command: ", choices(names));
    if (rest[0].starts_with('-')) return unknown_text(program, rest[0]);
    return concat("unknown command ", rest[0], ": expected ", choices(names),
                  suggestion(rest[0], names));
  }
  const CLI::App& command = *chosen.front();
  const std::vector<std::string> rest = program.remaining(true);
  if (!rest.empty()) return concat(command.get_name(), ": ", unknown_text(command, rest[0]));
  return concat(command.get_name(), ": ", lower_first(error.what()));
}

void set_up(CLI::App& program, Action& action) {
  program.get_formatter()->column_width(36);
  program.set_help_flag("-h,--help", "this text");
  program.set_version_flag("--version", concat("narrowgauge ", NARROWGAUGE_VERSION), "the version");
  program.footer(closing);
  program.require_subcommand(1);
  for (const AddCommand add : commands()) add(program, action);
}

int run(int argc, char** argv) {
  Action action;
  CLI::App program(description, "narrowgauge");
  set_up(program, action);
  try {
    program.parse(argc, argv);
  } catch (const CLI::CallForVersion& version) {
    print(concat(version.what(), '\n'));
    return ExitCode::ok;
  } catch (const CLI::Success&) {
    print(folded_lines(program.help(), output_width()));
    return ExitCode::ok;
  } catch (const CLI::ParseError& error) {
    throw UsageError(parse_error_text(program, error));
  }
  const CLI::App& command = *program.get_subcommands().front();
  if (!wants_config(command)) return action.run();
  print(config_of(command, action.settle()));
  return ExitCode::ok;
}

}  // namespace

int start(int argc, char** argv) {
  try {
    set_log_sink([](LogLevel level, const std::string& message) {
      if (level == LogLevel::warning) say("warning", message);
      if (level == LogLevel::info) say("notice", message);
    });
    take_interrupts_apart();
    const int code = run(argc, argv);
    finish_output();
    return code;
  } catch (const std::exception& error) {
    return report(error);
  }
}

}  // namespace narrowgauge::cli
