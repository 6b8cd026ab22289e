// SPDX-License-Identifier: Apache-2.0
#include "api/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/exit_code.h"
#include "cli/flags.h"
#include "cli/json.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "narrowgauge/error.h"
#include "narrowgauge/version.h"

namespace narrowgauge::cli {
namespace {

constexpr const char* examples = R"(examples:
  narrowgauge doctor
      what this machine is, how fast each format is on it, and what each --amp would use
  NARROWGAUGE_ISA=avx2 narrowgauge doctor
      the same as if the CPU had no more than AVX2)";

constexpr double kernel_seconds = 0.08, peak_seconds = 0.2;
// Below this a narrow format is not called faster.
constexpr double worth_it = 1.05;

struct Facts {
  Machine machine;
  std::vector<MathRate> rates;
  PeakRates peaks;

  const MathRate& rate(Math math) const {
    return *std::find_if(rates.begin(), rates.end(),
                         [&](const MathRate& rate) { return rate.math == math; });
  }
};

std::string tier_text(const std::string& isa) {
  if (isa == "amx") return "AMX: tiles of bf16 and int8";
  if (isa == "bf16") return "AVX512_BF16: AVX-512 with products of bf16, int16 and int8";
  if (isa == "vnni") return "VNNI: AVX-512 with products of int16 and int8";
  if (isa == "avx512") return "AVX-512 without VNNI: f32 alone, narrow formats save memory only";
  return "AVX2: f32 alone, narrow formats save memory only";
}

// "bf16x3", "dfp16", or what else the kernel is called.
std::string way_of(const MathRate& rate) {
  for (const char* way : {"bf16x3", "dfp16"})
    if (rate.product.find(way) != std::string::npos ||
        rate.convolution.find(way) != std::string::npos)
      return way;
  return rate.format == DType::f32 ? "IEEE's f32" : std::string(name(rate.format));
}

double times_f32(const Facts& facts, Math math) {
  return facts.rate(math).gflops() / facts.rate(Math::f32).gflops();
}

// What --amp f16 and bf16 come to here.
std::string narrow_use(const Facts& facts, Math math) {
  const MathRate& rate = facts.rate(math);
  const double times = times_f32(facts, math);
  const std::string values = fmt::format("{} values (half the memory)", name(rate.format));
  const std::string how = rate.widened() ? "widened to f32" : concat("in ", way_of(rate));
  if (times >= worth_it && !rate.widened())
    return fmt::format("{}, contractions {}: {:.1f} times f32's rate", values, how, times);
  return fmt::format("{}, contractions {}: no faster than f32, {:.2f} times its rate", values, how,
                     times);
}

// The fastest; f32 unless a narrow format is worth it.
std::string best_amp(const Facts& facts) {
  std::string best = "off";
  double times = worth_it;
  for (const Math math : {Math::bf16, Math::f16}) {
    // What is widened to f32 first cannot be faster, however it was measured.
    if (facts.rate(math).widened() || times_f32(facts, math) < times) continue;
    best = name(math);
    times = times_f32(facts, math);
  }
  return best;
}

struct Use {
  std::string flag, text;
};

std::vector<Use> uses(const Facts& facts) {
  const double f32 = facts.rate(Math::f32).gflops() / facts.rate(Math::ieee).gflops();
  const std::string best = best_amp(facts);
  const std::string choice = best == "off" ? "f32 is kept: no narrow format is faster here"
                                           : best + " is the fastest here";
  return {{"off", fmt::format("f32 values, contractions in {}: {:.1f} times IEEE's rate",
                              way_of(facts.rate(Math::f32)), f32)},
          {"bf16", narrow_use(facts, Math::bf16)},
          {"f16", narrow_use(facts, Math::f16)},
          {"auto", choice + "; measured anew for each network"}};
}

std::string isa_text(const Machine& machine) {
  if (machine.used_isa == machine.detected_isa) return machine.used_isa;
  return fmt::format("{} (NARROWGAUGE_ISA holds it there; the CPU has {})", machine.used_isa,
                     machine.detected_isa);
}

std::string unit_table(const PeakRates& peaks) {
  TextTable table({"unit", "peak, GOP/s", "against f32"});
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
  return table.text();
}

std::string kernel_table(const std::vector<MathRate>& rates) {
  TextTable table({"math", "work", "GFLOP/s", "kernel"}, {0, 1, 3});
  for (const MathRate& rate : rates) {
    table.add({std::string(name(rate.math)), "matmul", fmt::format("{:.0f}", rate.product_gflops),
               rate.product});
    table.add({"", "conv", fmt::format("{:.0f}", rate.convolution_gflops), rate.convolution});
  }
  return table.text();
}

void print_facts(const Facts& facts) {
  const Machine& machine = facts.machine;
  print(fmt::format("narrowgauge {}\n", NARROWGAUGE_VERSION));
  print(fmt::format("cpu       {}\n", machine.cpu));
  print(fmt::format("isa       {}\n", isa_text(machine)));
  print(fmt::format("tier      {}\n", tier_text(machine.used_isa)));
  print(fmt::format("cores     {}, {} threads in a step\n", machine.cores, machine.threads));
  print(fmt::format("memory    {}, {} free; {:.1f} GB/s\n", bytes_text(machine.memory),
                    bytes_text(machine.free_memory), facts.peaks.memory * 1e-9));
  print(fmt::format("gpu       {}\n\n", machine.gpu));
  print(unit_table(facts.peaks) + '\n' + kernel_table(facts.rates) + '\n');
  for (const Use& use : uses(facts)) print(fmt::format("--amp {:<5} {}\n", use.flag, use.text));
}

JsonObject rate_json(const MathRate& rate) {
  JsonObject json;
  json.add("product_gflops", rate.product_gflops);
  json.add("convolution_gflops", rate.convolution_gflops);
  json.add("product_kernel", rate.product).add("convolution_kernel", rate.convolution);
  json.add("widened", rate.widened());
  return json;
}

std::string facts_json(const Facts& facts) {
  const Machine& machine = facts.machine;
  JsonObject math, amp, peaks;
  for (const MathRate& rate : facts.rates) math.add(name(rate.math), rate_json(rate));
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
  return json.add("amp_auto", best_amp(facts)).line();
}

int run_doctor(bool json) {
  Facts facts;
  facts.machine = examine_machine();
  show_status("measuring");
  facts.rates = measure_math(kernel_seconds);
  facts.peaks = measure_peaks(peak_seconds);
  show_status("");
  if (json)
    print(facts_json(facts));
  else
    print_facts(facts);
  return ExitCode::ok;
}

}  // namespace

void add_doctor(CLI::App& program, Action& action) {
  CLI::App& app =
      add_command(program, "doctor", "what this machine can do in each format", examples);
  const auto json = std::make_shared<bool>(false);
  add_switch(app, {"--json", "", "one JSON object"}, *json);
  when_chosen(app, [json, &action] { action = [json] { return run_doctor(*json); }; });
}

}  // namespace narrowgauge::cli
