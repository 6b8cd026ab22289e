// SPDX-License-Identifier: Apache-2.0
// What else of its surroundings a host changes: nothing that networks compute depends on it.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <functional>

#include "api/small_training.h"
#include "io/files.h"
#include "io/onnx_small_model.h"
#include "narrowgauge/csv_log.h"
#include "narrowgauge/narrowgauge.h"
#include "ops/table.h"
#include "support/comma_locale.h"

namespace narrowgauge::surroundings_test {
namespace {

using testing_files::read_file;
using testing_files::TemporaryFolder;

// A cast to a type that is named in capitals, as old opsets do.
std::string cast_type() {
  testing_support::SmallModel model(5);
  model.input("x", "f32[2]").node("Cast", {"x"}, {"y"}, {{"to", std::string("INT32")}});
  const Graph graph = model.output("y").graph();
  return concat(graph.type(graph.outputs()[0].value));
}

// A training with its files, an evaluation, an engine and its answers, as digits.
std::string everything(const std::string& folder) {
  std::filesystem::create_directories(folder);
  Optimizer optimizer = adam(0.013);
  enable_mixed_precision(optimizer, DType::bf16);
  Model model("small", small_network(), 3);
  const auto data = small_source(72);
  std::string graph;
  {
    Trainer trainer(model, softmax_cross_entropy(), optimizer, {.deterministic = true});
    FitOptions how{.epochs = 2, .batch = 24};
    how.watch.metric = "loss";
    how.watch.patience = 5;
    trainer.fit(data, data, how);
    trainer.save(folder + "/run");
    trainer.fit(data, data, {.epochs = 3, .batch = 24});
    trainer.resume(folder + "/run");
    graph = print(parse(print(trainer.graph()), op_table()));
    EXPECT_EQ(read_plan(print(trainer.plan()), trainer.graph()), trainer.plan());
  }
  CsvLog log(folder + "/log.csv");
  log.add(1, {{"loss", 0.125}});
  ConvertOptions options;
  options.precision = EnginePrecision::int8;
  options.calibration = data;
  convert(model, options).save(folder + "/small.onnx");
  const Tensor scores = Engine::open(folder + "/small.onnx").predict(small_batch(1)[0]);
  std::string text = cast_type() + model.sha256() + graph + read_file(folder + "/log.csv");
  for (std::int64_t i = 0; i < 16; ++i) text += concat(' ', scores.at(i));
  return text;
}

class Surroundings : public testing::Test {
 protected:
  void expect_as_usual() {
    EXPECT_EQ(everything(folder / "again"), usual);
    std::filesystem::remove_all(folder / "again");
  }
  const TemporaryFolder folder;
  const std::string usual = everything(folder / "usual");
};

TEST_F(Surroundings, streams_with_commas) {
  const testing_support::CommasInStreams commas;
  expect_as_usual();
}

// One with commas in numbers, and one in which the small letter of I is another.
TEST_F(Surroundings, locales_of_other_languages) {
  for (const char* const language : {"de_DE", "tr_TR"}) {
    const testing_support::LocaleOfLanguage locale(language);
    if (!locale.why_not().empty()) GTEST_SKIP() << locale.why_not();
    expect_as_usual();
  }
}

TEST_F(Surroundings, no_standard_streams_and_another_folder) {
  const int in = dup(0), out = dup(1);
  close(0), close(1);
  std::filesystem::current_path("/");
  expect_as_usual();
  dup2(in, 0), dup2(out, 1);
  close(in), close(out);
}

TEST_F(Surroundings, a_strict_umask) {
  const mode_t former = umask(0777 & ~0700);
  expect_as_usual();
  umask(former);
}

TEST_F(Surroundings, a_thread_with_a_small_stack) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, 200 << 10), 0);
  pthread_t thread;
  std::function<void()> body = [&] { expect_as_usual(); };
  const auto run = [](void* given) -> void* {
    (*static_cast<std::function<void()>*>(given))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, &body), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

std::atomic<int> alarms = 0;

TEST_F(Surroundings, signals_that_interrupt) {
  struct sigaction action {};
  action.sa_handler = [](int) { ++alarms; };  // without SA_RESTART
  struct sigaction former {};
  sigaction(SIGALRM, &action, &former);
  const itimerval each{{0, 500}, {0, 500}}, none{};
  setitimer(ITIMER_REAL, &each, nullptr);
  expect_as_usual();
  setitimer(ITIMER_REAL, &none, nullptr);
  sigaction(SIGALRM, &former, nullptr);
  EXPECT_GT(alarms, 0);
}

TEST_F(Surroundings, few_files) {
  rlimit former{};
  getrlimit(RLIMIT_NOFILE, &former);
  const rlimit few{24, former.rlim_max};
  setrlimit(RLIMIT_NOFILE, &few);
  expect_as_usual();
  setrlimit(RLIMIT_NOFILE, &former);
}

TEST_F(Surroundings, a_child_process_goes_on) {
  Model model("small", small_network(), 3);
  const Tensor before = model.predict(small_batch(1)[0]);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool same =
        model.predict(small_batch(1)[0]).same_bits(before) && everything(folder / "child") == usual;
    _exit(same ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  expect_as_usual();
}

TEST_F(Surroundings, callbacks_that_throw) {
  const auto data = small_source(72);
  Model model("small", small_network(), 3), twin("small", small_network(), 3);
  Trainer trainer(model, softmax_cross_entropy(), adam(0.01), {.deterministic = true});
  Trainer of_twin(twin, softmax_cross_entropy(), adam(0.01), {.deterministic = true});
  int calls = 0;
  const auto thrower = [&](const Progress&) -> bool {
    if (++calls == 2) throw std::runtime_error("enough");
    return true;
  };
  EXPECT_THROW(trainer.fit(data, data, {.epochs = 2, .batch = 24}, thrower), std::runtime_error);
  trainer.fit(data, data, {.epochs = 2, .batch = 24});
  of_twin.fit(data, data, {.epochs = 2, .batch = 24});
  EXPECT_EQ(model.sha256(), twin.sha256());
  EXPECT_THROW(Model("thrown", [](Network&) -> Value { throw std::runtime_error("no network"); }),
               std::runtime_error);
}

}  // namespace
}  // namespace narrowgauge::surroundings_test
