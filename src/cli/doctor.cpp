// SPDX-License-Identifier: Apache-2.0
#include "api/doctor.h"

#include <fmt/format.h>

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

constexpr double seconds_each = 0.25;

struct Facts {
  Machine machine;
  std::vector<MathRate> rates;
  double copy = 0;  // bytes a second
};

// What --amp off, f16 and bf16 come to here.
std::string use_of(const MathRate& rate, const MathRate& f32) {
  if (rate.format == DType::f32) return "f32 values, f32 arithmetic";
  const std::string_view format = name(rate.format);
  if (rate.widened())
    return fmt::format("{} values (half the memory), widened to f32: no {} unit is used", format,
                       format);
  return fmt::format("{} values (half the memory), {:.1f} times f32's rate of arithmetic", format,
                     rate.product_gflops / f32.product_gflops);
}

std::string amp_of(const MathRate& rate) {
  return rate.format == DType::f32 ? "off" : std::string(name(rate.format));
}

std::string isa_text(const Machine& machine) {
  if (machine.used_isa == machine.detected_isa) return machine.used_isa;
  return fmt::format("{} (NARROWGAUGE_ISA holds it there; the CPU has {})", machine.used_isa,
                     machine.detected_isa);
}

void print_facts(const Facts& facts) {
  const Machine& machine = facts.machine;
  print(fmt::format("narrowgauge {}\n", NARROWGAUGE_VERSION));
  print(fmt::format("cpu       {}\n", machine.cpu));
  print(fmt::format("isa       {}\n", isa_text(machine)));
  print(fmt::format("cores     {}, {} threads in a step\n", machine.cores, machine.threads));
  print(fmt::format("memory    {}, {} free; copies at {:.1f} GB/s\n", bytes_text(machine.memory),
                    bytes_text(machine.free_memory), facts.copy / 1e9));
  print(fmt::format("gpu       {}\n\n", machine.gpu));
  TextTable table({"math", "work", "GFLOP/s", "kernel"}, {0, 1, 3});
  for (const MathRate& rate : facts.rates) {
    const std::string format(name(rate.format));
    table.add({format, "matmul", fmt::format("{:.0f}", rate.product_gflops), rate.product});
    table.add({"", "conv", fmt::format("{:.0f}", rate.convolution_gflops), rate.convolution});
  }
  print(table.text() + '\n');
  for (const MathRate& rate : facts.rates)
    print(fmt::format("--amp {:<5} {}\n", amp_of(rate), use_of(rate, facts.rates.front())));
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
  JsonObject math, amp;
  for (const MathRate& rate : facts.rates) {
    math.add(name(rate.format), rate_json(rate));
    amp.add(amp_of(rate), use_of(rate, facts.rates.front()));
  }
  JsonObject json;
  json.add("version", NARROWGAUGE_VERSION).add("cpu", machine.cpu).add("isa", machine.used_isa);
  json.add("detected_isa", machine.detected_isa).add("cores", machine.cores);
  json.add("threads", machine.threads).add("memory_bytes", machine.memory);
  json.add("free_memory_bytes", machine.free_memory).add("copy_bytes_per_second", facts.copy);
  return json.add("gpu", machine.gpu).add("math", math).add("amp", amp).line();
}

int run_doctor(bool json) {
  Facts facts;
  facts.machine = examine_machine();
  show_status("measuring");
  facts.rates = measure_math(seconds_each);
  facts.copy = measure_copy(seconds_each);
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
