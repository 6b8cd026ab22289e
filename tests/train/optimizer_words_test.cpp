// SPDX-License-Identifier: Apache-2.0
// The words in which a training is asked for, of flags and of the environment.
#include <gtest/gtest.h>

#include <cstdlib>

#include "narrowgauge/model.h"
#include "narrowgauge/optimizer.h"

namespace narrowgauge::optimizer_words_test {
namespace {

TEST(check, takes_each_schedule_by_name_and_no_other) {
  for (const std::string& name : schedule_names()) {
    Optimizer optimizer = sgd(0.1);
    optimizer.schedule = {.name = name, .total_steps = 10, .step_every = 3};
    EXPECT_NO_THROW(check(optimizer)) << name;
  }
  Optimizer optimizer = sgd(0.1);
  optimizer.schedule.name = "sine";
  EXPECT_THROW(check(optimizer), UsageError);
}

TEST(parse_loss_scale, is_dynamic_off_or_a_number_that_stays) {
  EXPECT_EQ(parse_loss_scale("dynamic").kind, LossScale::Kind::dynamic);
  EXPECT_EQ(parse_loss_scale("dynamic").initial, 65536);
  EXPECT_EQ(parse_loss_scale("off").kind, LossScale::Kind::off);
  EXPECT_EQ(parse_loss_scale("1024").kind, LossScale::Kind::fixed);
  EXPECT_EQ(parse_loss_scale("1024").initial, 1024);
  EXPECT_EQ(parse_loss_scale("16777216").initial, 16777216);
  for (const char* text : {"", "0.5", "16777217", "1024x", "on", "-2", "nan"})
    EXPECT_THROW(parse_loss_scale(text), UsageError) << text;
}

TEST(parse_optimizer, knows_names_with_rates_of_their_own) {
  EXPECT_EQ(parse_optimizer("sgd").learning_rate, 0.05);
  EXPECT_EQ(parse_optimizer("adam").learning_rate, adam().learning_rate);
  EXPECT_EQ(parse_optimizer("adamw").learning_rate, adamw().learning_rate);
  for (const std::string& name : optimizer_names())
    EXPECT_NO_THROW(check(parse_optimizer(name))) << name;
  EXPECT_THROW(parse_optimizer("adamax"), UsageError);
}

TEST(parse_load_match, knows_two) {
  EXPECT_EQ(parse_load_match("exact"), LoadMatch::exact);
  EXPECT_EQ(parse_load_match("shape"), LoadMatch::shape);
  EXPECT_THROW(parse_load_match("name"), UsageError);
}

TEST(enable_mixed_precision, takes_the_two_formats_of_16_bits) {
  Optimizer optimizer = sgd(0.1);
  enable_mixed_precision(optimizer);
  EXPECT_EQ(optimizer.precision.narrow, DType::f16);
  optimizer.precision.overrides = {"conv1=f32"};
  enable_mixed_precision(optimizer, DType::bf16);
  EXPECT_EQ(optimizer.precision.narrow, DType::bf16);
  EXPECT_EQ(optimizer.precision.overrides.size(), 1u);
  EXPECT_THROW(enable_mixed_precision(optimizer, DType::f32), UsageError);
}

// The format that the two variables switch on; f32 for none.
DType from_environment(const char* amp, const char* automatic) {
  const auto set = [](const char* name, const char* value) {
    value ? setenv(name, value, 1) : unsetenv(name);
  };
  set("NARROWGAUGE_AMP", amp);
  set("NARROWGAUGE_AUTO_MIXED_PRECISION", automatic);
  Optimizer optimizer = sgd(0.1);
  try {
    enable_mixed_precision_from_environment(optimizer);
  } catch (...) {
    set("NARROWGAUGE_AMP", nullptr);
    set("NARROWGAUGE_AUTO_MIXED_PRECISION", nullptr);
    throw;
  }
  set("NARROWGAUGE_AMP", nullptr);
  set("NARROWGAUGE_AUTO_MIXED_PRECISION", nullptr);
  return optimizer.precision.narrow;
}

TEST(enable_mixed_precision_from_environment, obeys_the_first_variable_that_is_set) {
  EXPECT_EQ(from_environment(nullptr, nullptr), DType::f32);
  EXPECT_EQ(from_environment("f16", nullptr), DType::f16);
  EXPECT_EQ(from_environment("bf16", "1"), DType::bf16);
  EXPECT_EQ(from_environment("off", "1"), DType::f32);
  EXPECT_EQ(from_environment("auto", "1"), DType::f32);
  EXPECT_EQ(from_environment(nullptr, "1"), DType::f16);
  EXPECT_EQ(from_environment(nullptr, "bf16"), DType::bf16);
  EXPECT_EQ(from_environment(nullptr, "0"), DType::f32);
  EXPECT_THROW(from_environment("f8", nullptr), UsageError);
  EXPECT_THROW(from_environment(nullptr, "2"), UsageError);
}

TEST(enable_mixed_precision_from_environment, leaves_what_the_program_chose) {
  Optimizer optimizer = sgd(0.1);
  enable_mixed_precision(optimizer, DType::bf16);
  setenv("NARROWGAUGE_AMP", "f16", 1);
  enable_mixed_precision_from_environment(optimizer);
  unsetenv("NARROWGAUGE_AMP");
  EXPECT_EQ(optimizer.precision.narrow, DType::bf16);
}

}  // namespace
}  // namespace narrowgauge::optimizer_words_test
