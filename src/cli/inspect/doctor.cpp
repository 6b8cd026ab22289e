// SPDX-License-Identifier: Apache-2.0
#include "cli/inspect/doctor.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <vector>

#include "cli/common/exit_code.h"
#include "cli/common/json.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/config/command.h"
#include "narrowgauge/error.h"
#include "narrowgauge/version.h"
#include "precision/amp.h"

namespace narrowgauge::cli {
namespace {

constexpr const char* doctor_examples = R"(examples:
  narrowgauge doctor
      what this machine is, how fast each format is on it, and what each --amp would use
  NARROWGAUGE_ISA=avx2 narrowgauge doctor
      the same as if the CPU had no more than AVX2)";

constexpr double peak_seconds = 0.2;
constexpr const char* ieee_way = "IEEE's f32";

std::string tier_text(const std::string& isa) {
  if (isa == "amx") return "AMX: tiles of bf16 and int8";
  if (isa == "bf16") return "AVX512_BF16: AVX-512 with products of bf16, int16 and int8";
  if (isa == "vnni") return "VNNI: AVX-512 with products of int16 and int8";
  if (isa == "avx512") return "AVX-512 without VNNI: f32 alone, narrow formats save memory only";
  return "AVX2: f32 alone, narrow formats save memory only";
}

// How f32 is kept: "bf16x3", "dfp16", or else the kernel's name.
std::string way_of(const MathRate& rate) {
  for (const KernelFacts& facts : {rate.product_facts, rate.convolution_facts})
    if (facts.way != Math::none) return std::string(name(facts.way));
  return rate.format == DType::f32 ? ieee_way : std::string(name(rate.format));
}

bool is_told(const Facts& facts) { return facts.math.grounds != Grounds::model; }

// What --amp f16 or bf16 brings here; `rates` are those of f32 and of this format.
std::string narrow_use(const Facts& facts, Math math, const FormatRate& f32,
                       const FormatRate& narrow) {
  const MathRate& rate = facts.math.of(math);
  const double times = narrow.gflops / f32.gflops;
  const bool faster = times >= faster_by && !narrow.widened;
  const std::string use =
      fmt::format("{} values (half the memory), contractions {}", name(rate.format),
                  rate.product_facts.widened ? "widened to f32" : concat("in ", way_of(rate)));
  if (!is_told(facts))
    return concat(use, ": too busy to tell; by its unit ", faster ? "faster" : "no faster",
                  " than f32");
  if (faster) return fmt::format("{}: {:.1f} times f32's rate", use, times);
  return fmt::format("{}: no faster than f32, {:.2f} times its rate", use, times);
}

std::string f32_use(const Facts& facts) {
  const std::string way = way_of(facts.math.of(Math::f32));
  const std::string use = concat("f32 values, contractions in ", way);
  if (way == ieee_way) return use;
  if (!is_told(facts)) return use + ": too busy to tell its rate";
  const double ieee = facts.math.of(Math::ieee).gflops();
  return fmt::format("{}: {:.1f} times IEEE's rate", use, facts.math.of(Math::f32).gflops() / ieee);
}

DType best_format(const Facts& facts) {
  return fastest_format(facts.math.formats(facts.isa), facts.math.grounds).format;
}

struct Use {
  std::string flag, text;
};

std::vector<Use> uses(const Facts& facts) {
  const std::vector<FormatRate> rates = facts.math.formats(facts.isa);
  const DType best = best_format(facts);
  const std::string choice = best == DType::f32 ? "f32 is kept: no narrow format is faster here"
                                                : concat(best, " is the fastest here");
  return {{"off", f32_use(facts)},
          {"bf16", narrow_use(facts, Math::bf16, rates[0], rates[1])},
          {"f16", narrow_use(facts, Math::f16, rates[0], rates[2])},
          {"auto", concat(is_told(facts) ? "" : "too busy to tell; by its units ", choice,
                          "; measured anew for each network")}};
}

std::string isa_text(const Machine& machine) {
  if (machine.used_isa == machine.detected_isa) return machine.used_isa;
  return fmt::format("{} (NARROWGAUGE_ISA holds it there; the CPU has {})", machine.used_isa,
                     machine.detected_isa);
}

std::string unit_table(const PeakRates& peaks) {
  TextTable table({words("unit"), numbers("peak, GOP/s"), numbers("against f32")});
  const auto add = [&](const char* unit, double rate) {
    if (rate <= 0)
      table.add({unit, "none", ""});
    else
      table.add(
          {unit, fmt::format("{:.0f}", rate * 1e-9), fmt::format("{:.1f}x", rate / peaks.f32)});
  };
  add("f32", peaks.f32);
  add("bf16", peaks.bf16);
  add("int16", peaks.int16);
  add("int8", peaks.int8);
  return table.text(output_width());
}

// The rate of each kernel; what could not be measured is not printed.
std::string kernel_table(const MathRates& math) {
  const bool alone = math.grounds == Grounds::one_thread;
  const auto text = [](double gflops) {
    return gflops > 0 ? fmt::format("{:.0f}", gflops) : std::string("-");
  };
  TextTable table({words("math"), words("work"),
                   numbers(alone ? "GFLOP/s of one thread" : "GFLOP/s"), folding("kernel", 20)});
  for (const MathRate& rate : math.rates) {
    table.add({std::string(name(rate.math)), "matmul", text(rate.product_gflops), rate.product});
    table.add({"", "conv", text(rate.convolution_gflops), rate.convolution});
  }
  return table.text(output_width());
}

std::string busy_text(Grounds grounds) {
  switch (grounds) {
    case Grounds::one_thread:
      return "other programs use the cores: measured in one thread, while it had a core\n";
    case Grounds::model:
      return "other programs use the cores: too busy to tell how fast these are\n";
    default:
      return "";
  }
}

}  // namespace

std::string facts_text(const Facts& facts) {
  const Machine& machine = facts.machine;
  std::string text = fmt::format("narrowgauge {}\n", NARROWGAUGE_VERSION);
  text += fmt::format("cpu       {}\n", machine.cpu);
  text += fmt::format("isa       {}\n", isa_text(machine));
  text += fmt::format("tier      {}\n", tier_text(machine.used_isa));
  text += fmt::format("cores     {}, {} threads in a step\n", machine.cores, machine.threads);
  text += fmt::format("memory    {}, {} free; {:.1f} GB/s\n", bytes_text(machine.memory),
                      bytes_text(machine.free_memory), facts.peaks.memory * 1e-9);
  text += fmt::format("gpu       {}\n\n", machine.gpu);
  text += unit_table(facts.peaks) + '\n' + kernel_table(facts.math) +
          busy_text(facts.math.grounds) + '\n';
  for (const Use& use : uses(facts)) text += fmt::format("--amp {:<5} {}\n", use.flag, use.text);
  return text;
}

namespace {

std::string grounds_word(Grounds grounds) {
  switch (grounds) {
    case Grounds::one_thread:
      return "one thread";
    case Grounds::model:
      return "too busy to tell";
    default:
      return "all threads";
  }
}

JsonObject rate_json(const MathRate& rate) {
  JsonObject json;
  const auto known = [](double gflops) { return gflops > 0 ? gflops : std::nan(""); };
  json.add("product_gflops", known(rate.product_gflops));  // null: too busy to tell
  json.add("convolution_gflops", known(rate.convolution_gflops));
  json.add("product_kernel", rate.product).add("convolution_kernel", rate.convolution);
  json.add("widened", rate.product_facts.widened);
  return json;
}

}  // namespace

std::string facts_json(const Facts& facts) {
  const Machine& machine = facts.machine;
  JsonObject math, amp, peaks;
  for (const MathRate& rate : facts.math.rates) math.add(name(rate.math), rate_json(rate));
  for (const Use& use : uses(facts)) amp.add(use.flag, use.text);
  peaks.add("f32_gflops", facts.peaks.f32 * 1e-9).add("bf16_gflops", facts.peaks.bf16 * 1e-9);
  peaks.add("int16_gops", facts.peaks.int16 * 1e-9).add("int8_gops", facts.peaks.int8 * 1e-9);
  JsonObject json;
  json.add("version", NARROWGAUGE_VERSION).add("cpu", machine.cpu).add("isa", machine.used_isa);
  json.add("detected_isa", machine.detected_isa).add("tier", tier_text(machine.used_isa));
  json.add("cores", machine.cores).add("threads", machine.threads);
  json.add("memory_bytes", machine.memory).add("free_memory_bytes", machine.free_memory);
  json.add("memory_bytes_per_second", facts.peaks.memory).add("gpu", machine.gpu);
  json.add("peaks", peaks).add("math", math).add("amp", amp);
  json.add("measured", grounds_word(facts.math.grounds));
  return json.add("amp_auto", name(Amp{best_format(facts)})).line();
}

namespace {

int run_doctor(bool json) {
  Facts facts;
  facts.machine = examine_machine();
  show_status("measuring");
  facts.isa = isa();
  facts.math = measure_math();
  facts.peaks = measure_peaks(peak_seconds);
  show_status("");
  if (json)
    print(facts_json(facts));
  else
    print_text(facts_text(facts));
  return ExitCode::ok;
}

}  // namespace

NG_COMMAND(doctor, 50) {
  CLI::App& app =
      add_command(program, "doctor", "what this machine can do in each format", doctor_examples);
  const auto json = std::make_shared<bool>(false);
  add_switch(app, {"--json", "", "one JSON object"}, *json);
  when_chosen(app, [json, &action] { action = [json] { return run_doctor(*json); }; });
}

}  // namespace narrowgauge::cli
