// SPDX-License-Identifier: Apache-2.0
// How often a call asks for memory once it is warm, counted where memory is asked for.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

#include "narrowgauge/answer_profile.h"
#include "narrowgauge/narrowgauge.h"

namespace {

std::atomic<std::int64_t> allocations = 0;

void* counted(void* memory) {
  if (!memory) throw std::bad_alloc();
  ++allocations;
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return counted(std::malloc(size)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto to = static_cast<std::size_t>(alignment);
  return counted(std::aligned_alloc(to, (size + to - 1) / to * to));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace narrowgauge::allocations_test {
namespace {

constexpr int calls = 10, warm_up = 5;

// The allocations of one call among several, the first of which are not counted.
double allocations_of(const auto& call) {
  for (int i = 0; i < warm_up; ++i) call();
  const std::int64_t before = allocations;
  for (int i = 0; i < calls; ++i) call();
  return static_cast<double>(allocations - before) / calls;
}

BuildNetwork perceptron() {
  return [](Network& net) {
    const Value x = net.relu(net.linear(net.input("x", {net.batch(), 16}), 32));
    return net.linear(x, 4);
  };
}

BuildNetwork convolutions() {
  return [](Network& net) {
    Value x = net.input("images", {net.batch(), 1, 12, 12});
    x = net.max_pool(net.relu(net.batch_norm(net.conv(x, 8))));
    return net.linear(net.flatten(x), 4);
  };
}

struct Case {
  const char* name;
  BuildNetwork build;
  Dims input;
};
std::vector<Case> cases() {
  return {{"perceptron", perceptron(), {8, 16}}, {"convolutions", convolutions(), {8, 1, 12, 12}}};
}

// What oneDNN asks for itself, and what brings operands into its formats: at most so often for each
// run of one of its kernels.
constexpr int in_onednn = 13;
int allowed_for(const std::vector<Trainer::KernelChoice>& kernels) {
  return in_onednn *
         static_cast<int>(std::ranges::count(kernels, Vendor::onednn,
                                             [](const auto& each) { return each.facts.vendor; }));
}

// Kernels of our own ask for nothing.
void expect_no_allocations(auto& answering, const Tensor& input) {
  const std::vector<NamedTensor> named{{answering.inputs()[0].name, input}};
  const int allowed = allowed_for(profile_answers(answering, named, 1).kernels);
  Tensor output(DType::f32, {8, 4});
  EXPECT_LE(allocations_of([&] { answering.predict(input, output); }), allowed);
  // An answer in memory of its own makes four: its list, its shape, and two for the memory.
  EXPECT_LE(allocations_of([&] { answering.predict(input); }), allowed + 4);
}

TEST(allocations, a_prediction_into_given_memory_makes_none) {
  for (const Case& each : cases()) {
    SCOPED_TRACE(each.name);
    Model model(each.name, each.build);
    const Engine engine = convert(model, {.precision = EnginePrecision::f32});
    const Tensor input(DType::f32, each.input);
    expect_no_allocations(model, input);
    expect_no_allocations(engine, input);
    model.set_precision({.narrow = DType::bf16});
    expect_no_allocations(model, input);
  }
}

// Allocations by reference kernels of scalars, which have lists of operands, and by the check of
// gradients.
constexpr int in_step = 20;

TEST(allocations, a_step_makes_few) {
  for (const Case& each : cases()) {
    SCOPED_TRACE(each.name);
    Model model(each.name, each.build);
    const std::vector<Tensor> batch{Tensor(DType::f32, each.input), Tensor(DType::i64, {8})};
    Trainer trainer(model, softmax_cross_entropy(), adam(1e-3));
    trainer.step(batch);
    const int allowed = allowed_for(trainer.kernels()) + in_step;
    EXPECT_LE(allocations_of([&] { trainer.step(batch); }), allowed);
    Model stepped(each.name, each.build);
    Step step(
        stepped, [&](Network& net) { return softmax_cross_entropy()(net, each.build(net)); },
        adam(1e-3));
    EXPECT_LE(allocations_of([&] { step.step(batch); }), allowed);
  }
}

}  // namespace
}  // namespace narrowgauge::allocations_test
