// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/files/atomic_file.h"
#include "base/threads/parallel.h"
#include "cli/bench/flags.h"
#include "cli/bench/kernels.h"
#include "cli/bench/report.h"
#include "cli/bench/roofline.h"
#include "cli/bench/status.h"
#include "cli/bench/torch.h"
#include "cli/common/exit_code.h"
#include "cli/common/interrupt.h"
#include "cli/common/terminal.h"
#include "cli/config/command.h"
#include "cli/task/settings.h"
#include "narrowgauge/error.h"

namespace narrowgauge::cli {
namespace {

constexpr const char* examples =
    R"(Random samples and labels, SGD with rate 0.01; 2 batches warm up, then 10
iterations of 10 batches are timed, the precisions taking turns.

examples:
  narrowgauge bench --model resnet20,lenet
      images a second in ieee, f32, bf16 and f16 (median and quartiles of the
      iterations), with memory and the kernels used:
      ieee is f32 as IEEE has it, f32 the fastest way to keep f32's contract here
  narrowgauge bench --model resnet50,vgg19,densenet121
      the published networks on images of 3x224x224; bert-base on 128 tokens
  narrowgauge bench --model resnet20 --batch 128 --precision ieee,bf16 --json
  narrowgauge bench --model resnet20 --roofline
      where the time of a step goes, and how near each part is to its bound
  narrowgauge bench --model resnet50 --precision bf16 --kernels
      every distinct contraction of a step alone, in percent of the machine's peak
  narrowgauge bench --model lenet,resnet20 --plot bench.svg
  narrowgauge bench --inference --model resnet50 --against onnxruntime,openvino
  narrowgauge bench --inference detector.onnx --batch 1 --precision ieee,bf16
      latency and throughput of trained networks, by turns with the peers that
      python3 (or $NARROWGAUGE_TORCH_PYTHON) has; ends with 7 where answers differ
  narrowgauge bench --inference int8.onnx --precision ieee --against openvino
    --peer-file openvino=nncf.onnx
      each with its own quantised version of a network
  narrowgauge bench --model resnet20 --against torch
      PyTorch's f32 and bf16 beside ours, by turns; python3, or what
      $NARROWGAUGE_TORCH_PYTHON names, has torch. Ends with 7
      where the first losses are not the same)";

BenchRequest request_of(const BenchFlags& flags) {
  BenchRequest request = flags.request;
  BenchTask& task = request.task;
  const std::vector<std::int64_t> batches = batch_sizes(flags);
  require(batches.size() < 2,
          "--batch: training is measured at one size; with --inference, several");
  if (!batches.empty()) task.batch = batches[0];
  if (!flags.precisions.empty()) task.precisions = flags.precisions;
  take("--iterations", task.iterations, flags.iterations, most_samples);
  take("--batches", task.batches, flags.steps, most_samples);
  take("--threads", task.threads, flags.threads, most_threads);
  if (flags.seed) task.seed = *flags.seed;
  require(flags.files.empty() && !flags.known.are_given() && flags.peer_files.empty(),
          "bench: files of networks, --shape, --value and --peer-file are for --inference");
  require(flags.against.empty() || flags.against == std::vector<std::string>{"torch"},
          "--against: training is measured against torch; with --inference, against onnxruntime "
          "and openvino");
  require(!flags.models.empty(), "bench: --model is required");
  for (const std::string& model : flags.models) add_network(request, choose_one(flags, model));
  require(!request.kernels || !(!flags.against.empty() || flags.roofline || request.plot),
          "--kernels: times contractions alone, not with --against, --roofline or --plot");
  task.profile = flags.roofline;
  if (request.plot) require_writable_file(*request.plot);
  return request;
}

void print_iteration(const BenchRow& row) {
  JsonObject json;
  json.add("event", "iteration").add("model", row.model).add("precision", row.precision);
  if (row.is_rival()) json.add("torch_layout", row.layout);
  json.add("iteration", static_cast<std::int64_t>(row.rates.size()));
  print(json.add("samples_per_second", row.rates.back()).line());
}

void print_tables(const BenchRequest& request, const BenchOutcome& outcome) {
  print(speed_table(outcome.rows) + '\n' + memory_table(outcome.rows) + '\n');
  if (!outcome.rivals.empty()) print(torch_table(outcome) + '\n');
  if (outcome.machine) {
    for (const BenchRow& row : outcome.rows)
      if (row.profile.steps > 0) print(roofline_text(row, *outcome.machine) + '\n');
    print(rates_text(*outcome.machine) + '\n');
  }
  for (const std::string& line : bench_remarks(request, outcome)) print(line + '\n');
}

BenchWatch watch_of(const BenchRequest& request) {
  BenchWatch watch;
  watch.status = [batch = request.task.batch](const BenchStatus& status) {
    show_status(status_text(status, batch));
  };
  if (request.json) watch.iteration = print_iteration;
  watch.stop = interrupted;
  return watch;
}

int run_kernels(const BenchRequest& request) {
  const InterruptScope interrupts;
  const KernelOutcome outcome = benchmark_kernels(request.task, watch_of(request));
  show_status("");
  if (request.json) {
    print(kernels_json(outcome).line());
  } else {
    for (const KernelRow& row : outcome.rows) print(kernel_text(row, outcome.peaks) + '\n');
    print(peaks_text(outcome.peaks) + "\n");
  }
  return outcome.stopped ? interrupted_code() : ExitCode::ok;
}

BenchOutcome outcome_of(const BenchRequest& request, bool against_torch) {
  const int threads = request.task.threads;
  std::optional<TorchRival> torch;
  if (against_torch) torch.emplace(threads > 0 ? threads : thread_count());
  const InterruptScope interrupts;
  BenchOutcome outcome = benchmark(request.task, watch_of(request), torch ? &*torch : nullptr);
  show_status("");
  return outcome;
}

int run_bench(const BenchFlags& flags) {
  if (flags.inference) return run_inference(flags);
  const BenchRequest request = request_of(flags);
  if (request.kernels) return run_kernels(request);
  const BenchOutcome outcome = outcome_of(request, !flags.against.empty());
  if (request.json)
    print(outcome_json(request, outcome).line());
  else if (!outcome.rows.empty())
    print_tables(request, outcome);
  if (request.plot && !outcome.rows.empty())
    write_file_atomically(*request.plot, bench_picture(request, outcome));
  if (!outcome.stopped) {
    check_losses(outcome);
    return ExitCode::ok;
  }
  say("interrupted", "stopped before all iterations were done");
  return interrupted_code();
}

SettledFlags settled_flags(const BenchFlags& flags) {
  if (flags.inference) return settled_inference_flags(flags);
  const BenchTask task = request_of(flags).task;
  return {{"precision", {fmt::format("{}", fmt::join(task.precisions, ","))}},
          {"batch", {std::to_string(task.batch)}},
          {"iterations", {std::to_string(task.iterations)}},
          {"batches", {std::to_string(task.batches)}},
          {"seed", {std::to_string(task.seed)}},
          {"threads", {std::to_string(task.threads)}}};
}

}  // namespace

void add_network(BenchRequest& request, const NetworkChoice& network) {
  request.networks.push_back(network);
  request.task.networks.push_back(
      {network.model, network.build(), network.loss(), network.ranges()});
}

NG_COMMAND(bench, 60) {
  CLI::App& app = add_command(program, "bench",
                              "how fast networks train, or answer, in each precision", examples);
  const auto flags = std::make_shared<BenchFlags>();
  add_list(app, {"--model,-m", "M,...", model_help(true), model_choices(true)}, flags->models);
  add_switch(app, {"--inference", "", "answers of trained networks instead of training"},
             flags->inference);
  add_arguments(app, {"FILE", "FILE", "with --inference: networks as files of ONNX"}, flags->files);
  add_known_inputs(app, flags->known);
  add_word_list(app,
                {"--precision,-p", "P,...",
                 "of ieee, f32, dfp16, bf16, f16, auto (ieee,f32,bf16,f16; with --inference "
                 "ieee,f32,bf16)"},
                flags->precisions, {bench_precisions.begin(), bench_precisions.end()});
  add_list(app, {"--batch,-b", "N", "samples in a step (32); with --inference several (1,32)"},
           flags->batches);
  add_whole(app, {"--iterations", "N", "timed one by one (10; of --inference 7, 0.3 s each)"},
            flags->iterations, 1);
  add_whole(app, {"--batches", "N", "steps in an iteration (10)"}, flags->steps, 1);
  add_input_flags(app, flags->network);
  add_whole(app, {"--threads,-t", "N", "(0: all cores, or OMP_NUM_THREADS)"}, flags->threads, 0);
  add_whole(app, {"--seed", "N", "of weights and batch (1)"}, flags->seed, 0);
  add_word_list(app,
                {"--against", "WHAT,...",
                 "others on the same work, from python3: torch; with --inference onnxruntime, "
                 "openvino"},
                flags->against, {"torch", "onnxruntime", "openvino"});
  add_texts(
      app,
      {"--peer-file", "PEER=FILE",
       "with --inference: the same network as the peer has it, such as one that it quantised; "
       "its answers are not compared"},
      flags->peer_files);
  add_switch(app, {"--roofline", "", "time, FLOPs, bytes and bound of each kind of kernel"},
             flags->roofline);
  add_switch(app, {"--kernels", "", "each contraction of a step alone, beside the machine's peak"},
             flags->request.kernels);
  add_text(app, {"--plot", "FILE", "bars as an SVG"}, flags->request.plot);
  add_switch(app, {"--json", "", "one JSON object a line, the last with \"event\":\"done\""},
             flags->request.json);
  add_dump_config(app);
  when_chosen(app, [flags, &action] {
    action = {[flags] { return run_bench(*flags); }, [flags] { return settled_flags(*flags); }};
  });
}

}  // namespace narrowgauge::cli
