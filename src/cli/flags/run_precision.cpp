// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/run_precision.h"

#include <algorithm>

#include "base/text/nearest.h"
#include "cli/common/text.h"
#include "cli/flags/described.h"
#include "narrowgauge/error.h"
#include "narrowgauge/matrix_unit.h"
#include "narrowgauge/precision_presets.h"
#include "precision/colouring/policy.h"

namespace narrowgauge::cli {
namespace {

constexpr std::string_view float32 = "float32";  // what Keras calls the policy f32

// bf16x3 and dfp16 are ways of keeping f32.
const std::vector<std::string> math_words{"f32", "ieee", "tf32", "tf32x3", "bf16x3", "dfp16"};

// Auto comes last.
std::vector<std::string> amp_words() {
  std::vector<std::string> words;
  for (const DType format : amp_formats) words.emplace_back(name(Amp{format}));
  words.emplace_back(name(Amp{.automatic = true}));
  return words;
}

std::vector<const Policy*> mixed_policies() {
  std::vector<const Policy*> all = policies();
  std::erase_if(all, [](const Policy* policy) { return policy->name == "f32"; });
  return all;
}

void add_amp_flag(CLI::App& app, const std::string& help, PrecisionFlags& flags,
                  std::vector<std::string> words) {
  add_word(
      app, {"--amp", "A", help}, [&flags](const std::string& word) { flags.amp = amp_of(word); },
      std::move(words));
}

Amp amp_of_plan(const std::string& plan, const PrecisionFlags& flags) {
  require(flags.overrides.empty(), "--plan: decides on every node, --override cannot be added");
  const Amp amp{narrow_of_plan(plan)};
  require(!flags.amp || *flags.amp == amp, "--plan: ", plan, " is for --amp ", name(amp), ", not ",
          name(flags.amp.value_or(Amp{})));
  return amp;
}

Amp amp_at_hand(const PrecisionFlags& flags, const std::optional<RunPrecision>& of_run,
                const Amp& usual) {
  const Amp of_environment = amp_of_environment();
  if (flags.in_f64) {
    require(!flags.amp || *flags.amp == Amp{}, "--math: f64 leaves nothing narrow, --amp ",
            name(flags.amp.value_or(Amp{})), " cannot be added");
    return {};
  }
  if (flags.amp) return *flags.amp;
  if (flags.policy == float32) return {};
  if (flags.policy)
    if (const auto format = format_of_policy(*flags.policy)) return {*format};
  if (of_run) return of_run->amp();
  return of_environment == Amp{} ? usual : of_environment;
}

}  // namespace

void RunPrecision::set_amp(const Amp& amp) {
  narrow = amp.format;
  automatic = amp.automatic;
  if (is_mixed() || automatic) return;
  master_weights = true;
  overrides.clear();
}

void add_amp(CLI::App& app, const std::string& help, PrecisionFlags& flags) {
  std::vector<std::string> words = amp_words();
  words.pop_back();
  add_amp_flag(app, help, flags, std::move(words));
}
void add_amp_or_auto(CLI::App& app, const std::string& help, PrecisionFlags& flags) {
  add_amp_flag(app, help, flags, amp_words());
}

std::vector<std::string> policy_words() { return names_of(mixed_policies()); }

void add_policy(CLI::App& app, PrecisionFlags& flags) {
  std::vector<std::string> words = policy_words();
  words.emplace_back(float32);
  add_word(app, {"--policy", "P", "what becomes narrow; " + described(mixed_policies(), "lists")},
           flags.policy, std::move(words));
}

namespace {

void add_on_off(CLI::App& app, const Flag& flag, std::optional<bool>& target) {
  add_word(app, flag, [&target](const std::string& word) { target = word == "on"; }, {"on", "off"});
}

}  // namespace

void add_masters(CLI::App& app, PrecisionFlags& flags) {
  add_word(app,
           {"--opt-level", "L",
            "of apex: O0 f32, O1 its lists, O2 all f16 but batch norms and masters, O3 all f16"},
           flags.level, apex_levels());
  add_on_off(app, {"--keep-batchnorm-fp32", "W", "with --opt-level (O2: on, O3: off)"},
             flags.keep_batch_norm_f32);
  add_on_off(app, {"--master-weights", "W", "off: weights are kept narrow alone (on; O3: off)"},
             flags.master_weights);
  std::vector<std::string> words;
  for (const std::string_view word : weight_rounding_names()) words.emplace_back(word);
  add_word(
      app,
      {"--weight-rounding", "R",
       "without masters: nearest, stochastic (default; O3: nearest), or kahan, with a rest"},
      [&flags](const std::string& word) { flags.rounding = parse_weight_rounding(word); },
      std::move(words));
}

namespace {

// The words of --math, with those of the units that can be simulated.
std::vector<std::string> words_of_math() {
  std::vector<std::string> words = math_words;
  for (const std::string_view unit : matrix_unit_tables::unit_names)
    words.push_back(concat("sim:", unit));
  return words;
}

}  // namespace

void add_math(CLI::App& app, PrecisionFlags& flags) {
  add_text(app,
           {"--math", "M",
            "f32, ieee, tf32, tf32x3, bf16x3, dfp16 or sim:UNIT[:FORMAT]; ieee and sim keep "
            "subnormals",
            words_of_math()},
           [&flags](const std::string& word) { flags.math = math_of(word); });
}

void add_math_or_f64(CLI::App& app, PrecisionFlags& flags) {
  std::vector<std::string> words = words_of_math();
  words.emplace_back("f64");
  add_text(app,
           {"--math", "M",
            "f32, ieee, tf32, tf32x3, bf16x3, dfp16 or sim:UNIT[:FORMAT]; f64: everything, slowly; "
            "ieee, sim and f64 keep subnormals",
            std::move(words)},
           [&flags](const std::string& word) {
             flags.in_f64 = word == "f64";
             flags.math = flags.in_f64 ? Math::f32 : math_of(word);
           });
}

void add_overrides(CLI::App& app, PrecisionFlags& flags) {
  add_texts(app, {"--override", "X", "\"conv1=f32\" or \"Gemm=deny\"; may be repeated"},
            flags.overrides);
}

Amp amp_of(const std::string& word) {
  const std::optional<Amp> amp = parse_amp(word);
  require(amp.has_value(), "--amp: expected ", choices(amp_words()), ", got \"", word, '"');
  return *amp;
}

Math math_of(const std::string& word) {
  if (word.starts_with("sim:")) return parse_math(word);
  const bool known = std::find(math_words.begin(), math_words.end(), word) != math_words.end();
  require(known, "--math: expected ", choices(math_words), ", or sim:UNIT such as sim:a100, got \"",
          word, '"', suggestion(word, math_words));
  return parse_math(word);
}

void check_plan_alone(const PrecisionFlags& flags) {
  require(!flags.plan || !flags.math, "--plan: decides on every node, --math cannot be added");
  require(!flags.plan || !flags.policy, "--plan: decides on every node, --policy cannot be added");
  require(!flags.plan || !flags.level,
          "--plan: decides on every node, --opt-level cannot be added");
  require(!flags.plan || !flags.master_weights,
          "--plan: says which weights have masters, --master-weights cannot be added");
  require(!flags.plan || !flags.rounding,
          "--plan: says how weights are rounded, --weight-rounding cannot be added");
}

void check_used(const RunPrecision& precision, const PrecisionFlags& flags) {
  const bool narrow = precision.is_mixed() || precision.automatic || flags.plan;
  require(narrow || precision.overrides.empty(), "--override: needs --amp f16 or bf16");
  require(narrow || !flags.policy || flags.policy == float32, "--policy: needs --amp f16 or bf16");
  require(narrow || flags.master_weights != false, "--master-weights off: needs --amp f16 or bf16");
  require(flags.level || !flags.keep_batch_norm_f32, "--keep-batchnorm-fp32: needs --opt-level");
  require(!precision.master_weights || !flags.rounding,
          "--weight-rounding: needs --master-weights off");
}

namespace {

// What a level of apex decides; math and overrides stay.
void take_level(RunPrecision& precision, const PrecisionFlags& flags) {
  require(!flags.amp && !flags.policy, "--opt-level: decides on the formats, ",
          flags.amp ? "--amp" : "--policy", " cannot be added");
  Optimizer optimizer;
  optimizer.precision = precision;
  set_apex_level(
      optimizer, *flags.level,
      {.keep_batchnorm_fp32 = flags.keep_batch_norm_f32, .master_weights = flags.master_weights});
  static_cast<PrecisionRequest&>(precision) = optimizer.precision;
  precision.automatic = false;
}

// What an earlier run had that does not fit the format now.
void drop_unfitting(RunPrecision& precision) {
  if (precision.automatic) return;
  const auto format = format_of_policy(precision.policy);
  if (!format || *format == precision.narrow) return;
  const PrecisionRequest usual;
  precision.policy = usual.policy;
  precision.keep_batch_norm_f32 = usual.keep_batch_norm_f32;
  precision.master_weights = usual.master_weights;
}

}  // namespace

RunPrecision settle_precision(const PrecisionFlags& flags,
                              const std::optional<RunPrecision>& of_run, const Amp& usual) {
  RunPrecision result = of_run.value_or(RunPrecision{});
  result.set_amp(flags.plan ? amp_of_plan(*flags.plan, flags) : amp_at_hand(flags, of_run, usual));
  if (of_run) drop_unfitting(result);
  result.master_weights = flags.master_weights.value_or(result.master_weights);
  if (!flags.overrides.empty()) result.overrides = flags.overrides;
  if (flags.policy != float32) result.policy = flags.policy.value_or(result.policy);
  result.f32_math = flags.math.value_or(result.f32_math);
  if (flags.level) take_level(result, flags);
  result.rounding = flags.rounding.value_or(result.rounding);
  if (flags.math || result.is_mixed() || result.automatic) result.in_f64 = flags.in_f64;
  return result;
}

std::string settle_automatic(RunPrecision& precision, const std::function<AmpChoice()>& measure) {
  if (!precision.automatic) return "";
  const AmpChoice choice = measure();
  precision.set_amp({choice.format});
  return choice.reason;
}

bool is_as_trained(const RunPrecision& now, const RunPrecision& then, const PrecisionFlags& flags) {
  const bool asked = !flags.overrides.empty() || flags.policy || flags.math || flags.level ||
                     flags.master_weights || (flags.rounding && *flags.rounding != then.rounding);
  return now.is_mixed() && now.narrow == then.narrow && !asked;
}

std::string name_of(const RunPrecision& precision) {
  if (precision.is_mixed()) return std::string(name(precision.narrow));
  if (precision.in_f64) return "f64";
  return precision.f32_math == Math::ieee ? "ieee" : "f32";
}

}  // namespace narrowgauge::cli
