// SPDX-License-Identifier: Apache-2.0
// Types, text form and refusals of every op.
#include <algorithm>
#include <set>
#include <string>

#include "all_ops/kernel_run.h"
#include "narrowgauge/graph.h"

namespace narrowgauge::types_test {
namespace {

using namespace testing_support;

class Types : public OpTest {
 protected:
  const OpRecord& op() const { return *GetParam(); }
};

// What a caller may try. `must_refuse`: a port says no.
struct Attempt {
  std::string what;
  SampleCase sample;
  bool must_refuse = false;
};

// Adds the node and, when it is taken, runs the reference: wrong shapes that pass must at least do
// no harm.
void expect_refused_or_harmless(const Attempt& attempt) {
  SCOPED_TRACE(attempt.what);
  try {
    const Graph graph = attempt.sample.graph();
    EXPECT_FALSE(attempt.must_refuse) << "was taken";
    for (const ValueInfo& output : graph.nodes().back().outputs)
      if (element_count(known_dims(output.type.shape)) > 1'000'000) return;
    if (attempt.sample.op->kernels().empty()) return;
    const KernelRun run = run_kernel(attempt.sample, attempt.sample.op->kernels().back());
    for (const std::string& fault : run.faults) ADD_FAILURE() << fault;
  } catch (const UsageError& error) {
    const std::string message = error.what();
    EXPECT_FALSE(message.empty() || message.back() == '.') << message;
  } catch (const std::exception& error) {
    ADD_FAILURE() << "not a UsageError: " << error.what();
  }
}

std::vector<Attempt> wrong_counts(const SampleCase& sample) {
  std::vector<Attempt> all;
  const auto& ports = sample.op->inputs;
  const auto required = std::count_if(ports.begin(), ports.end(), [](const Port& port) {
    return !port.optional && !port.variadic;
  });
  for (std::size_t kept = 0; kept < sample.inputs.size(); ++kept) {
    Attempt attempt{concat("only ", kept, " inputs"), sample,
                    static_cast<std::ptrdiff_t>(kept) < required};
    attempt.sample.inputs.resize(kept);
    all.push_back(std::move(attempt));
  }
  if (!ports.empty() && ports.back().variadic) return all;
  Attempt attempt{"one input too many", sample, true};
  attempt.sample.inputs.resize(ports.size(), CaseInput{{}, false, false});
  attempt.sample.inputs.push_back({Tensor::scalar(DType::f32, 1)});
  all.push_back(std::move(attempt));
  return all;
}

Tensor of_dims(const Tensor& tensor, Dims dims) {
  Tensor result(tensor.dtype(), std::move(dims));
  for (std::int64_t i = 0; i < result.size() && tensor.size() > 0; ++i)
    result.set(i, tensor.at(i % tensor.size()));
  return result;
}

std::vector<Attempt> wrong_tensors(const SampleCase& sample) {
  std::vector<Attempt> all;
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
    const CaseInput& input = sample.inputs[i];
    if (!input.present) continue;
    const Port& port = sample.op->input_port(static_cast<int>(i));
    const auto attempt = [&](std::string what, Tensor tensor, bool must_refuse) {
      all.push_back({concat("input ", i, ": ", what), sample, must_refuse});
      all.back().sample.inputs[i].tensor = std::move(tensor);
    };
    for (int d = 0; d < dtype_count; ++d) {
      const auto dtype = static_cast<DType>(d);
      attempt(concat("in ", dtype), input.tensor.cast(dtype),
              !port_accepts(*sample.op, port, dtype));
    }
    const Dims& dims = input.tensor.dims();
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      Dims shorter = dims, longer = dims, none = dims, dropped = dims;
      shorter[axis] = 1;
      ++longer[axis];
      none[axis] = 0;
      dropped.erase(dropped.begin() + static_cast<std::ptrdiff_t>(axis));
      for (const Dims& wrong : {shorter, longer, none, dropped})
        attempt(concat("of shape ", wrong), of_dims(input.tensor, wrong), false);
    }
    Dims front = dims, back = dims;
    front.insert(front.begin(), 2);
    back.push_back(2);
    attempt("one more axis in front", of_dims(input.tensor, front), false);
    attempt("one more axis at the back", of_dims(input.tensor, back), false);
    if (!input.constant) continue;
    for (const double value : {-97.0, 0.0, 17.0})
      attempt(concat("all ", value), Tensor::full(input.tensor.dtype(), input.tensor.dims(), value),
              false);
    attempt("not known", input.tensor, false);
    all.back().sample.inputs[i].constant = false;
  }
  return all;
}

// Changes one attribute, the one whose number comes up, to something a careless caller may write.
class Spoiler : public IgnoringVisitor {
 public:
  Spoiler(int attribute, int variant) : left_(attribute), variant_(variant) {}
  using IgnoringVisitor::operator();
  void operator()(std::string_view name, bool& value) override {
    if (mine(name, 1)) value = !value;
  }
  void operator()(std::string_view name, std::int64_t& value) override {
    constexpr std::int64_t wrong[] = {-1, 0, 1, 97, -97, INT64_MAX, INT64_MIN};
    if (mine(name, std::size(wrong))) value = wrong[variant_];
  }
  void operator()(std::string_view name, double& value) override {
    constexpr double wrong[] = {0, -1, 1e300, HUGE_VAL, -HUGE_VAL, NAN};
    if (mine(name, std::size(wrong))) value = wrong[variant_];
  }
  void operator()(std::string_view name, std::string& value) override {
    if (mine(name, 2)) value = variant_ == 0 ? "" : "nonsense";
  }
  void operator()(std::string_view name, DType& value) override {
    if (mine(name, dtype_count)) value = static_cast<DType>(variant_);
  }
  void operator()(std::string_view name, Dims& value) override {
    if (!mine(name, 8)) return;
    constexpr std::int64_t wrong[] = {-1, 0, 97, INT64_MAX, INT64_MIN};
    if (variant_ == 0)
      value.clear();
    else if (variant_ == 1)
      value.push_back(1);
    else if (variant_ == 2)
      value.assign({2, 2, 2});
    else
      for (std::int64_t& entry : value) entry = wrong[variant_ - 3];
  }
  void operator()(std::string_view name, Shape& value) override {
    if (!mine(name, 4)) return;
    if (variant_ == 0)
      value.clear();
    else if (variant_ == 1)
      value.push_back(2);
    else
      for (Dim& dim : value) dim = variant_ == 2 ? -3 : 97;
  }
  std::string spoiled;   // "" when there is no such attribute
  bool applied = false;  // false when there is no such variant

 private:
  bool mine(std::string_view visited, std::size_t variants) {
    if (left_-- != 0) return false;
    spoiled = visited;
    applied = static_cast<std::size_t>(variant_) < variants;
    return applied;
  }
  int left_, variant_;
};

std::vector<Attempt> wrong_attributes(const SampleCase& sample) {
  std::vector<Attempt> all;
  for (int attribute = 0;; ++attribute) {
    for (int variant = 0;; ++variant) {
      Attempt attempt{{}, sample};
      attempt.sample.attributes = sample.op->clone(sample.attributes);
      Spoiler spoiler(attribute, variant);
      sample.op->visit(attempt.sample.attributes.mutate(), spoiler);
      if (spoiler.spoiled.empty()) return all;
      if (!spoiler.applied) break;
      attempt.what = concat(spoiler.spoiled, " spoiled (", variant, ")");
      all.push_back(std::move(attempt));
    }
  }
}

TEST_P(Types, hold_with_a_symbol_for_the_batch) {
  for_each_case(op(), DType::f32, [&](const SampleCase& sample) {
    const Graph known = sample.graph();
    if (sample.inputs.empty() || sample.inputs[0].constant || !sample.inputs[0].present) return;
    const Dims& first = sample.inputs[0].tensor.dims();
    if (first.empty() || first[0] < 2) return;
    Graph graph;
    Values values;
    for (const CaseInput& input : sample.inputs) {
      if (!input.present || input.constant) {
        values.push_back(input.present ? graph.constant(input.tensor) : absent);
        continue;
      }
      TensorType type = input.tensor.type();
      if (!type.shape.empty() && type.shape[0] == Dim(first[0])) type.shape[0] = Dim::symbol("N");
      values.push_back(graph.input(concat("in", values.size()), type));
    }
    try {
      graph.add(op(), sample.attributes, values);
    } catch (const UsageError&) {
      return;  // this axis must be known, or another input or an attribute fixes it
    }
    const auto& expected = known.nodes().back().outputs;
    const auto& inferred = graph.nodes().back().outputs;
    ASSERT_EQ(inferred.size(), expected.size());
    for (std::size_t o = 0; o < inferred.size(); ++o) {
      EXPECT_EQ(inferred[o].type.dtype, expected[o].type.dtype);
      EXPECT_EQ(bind(inferred[o].type.shape, {{"N", first[0]}}), expected[o].type.shape);
    }
  });
}

TEST_P(Types, have_samples) {
  EXPECT_GT(for_each_case(op(), DType::f32, [](const SampleCase&) {}), 0)
      << op().full_name() << " has no NG_SAMPLES in tests/samples";
}

TEST(samples, are_of_ops_that_there_are_and_given_once) {
  std::set<std::string> seen;
  for (const OpSamples& each : collected_samples()) {
    EXPECT_TRUE(op_table().find(each.op)) << each.op;
    EXPECT_TRUE(seen.insert(each.op).second) << each.op;
  }
}

TEST_P(Types, ports_agree_with_what_is_inferred) {
  for_each_case(op(), DType::f32, [&](const SampleCase& sample) {
    const Graph graph = sample.graph();
    const auto& outputs = graph.nodes().back().outputs;
    for (std::size_t o = 0; o < outputs.size(); ++o)
      EXPECT_TRUE(port_accepts(op(), op().output_port(static_cast<int>(o)), outputs[o].type.dtype))
          << "output " << o << " is " << name(outputs[o].type.dtype);
    EXPECT_TRUE(op().outputs.back().variadic || outputs.size() <= op().outputs.size());
    verify(graph, op().info.stage);
  });
}

TEST_P(Types, print_and_parse_are_inverse) {
  for (const DType dtype : {DType::f32, DType::f16})
    for_each_case(op(), dtype, [&](const SampleCase& sample) {
      const Graph graph = sample.graph();
      const std::string text = print(graph);
      const Graph read = parse(text, op_table());
      EXPECT_EQ(print(read), text);
      EXPECT_TRUE(equal(op(), read.nodes().back().attributes, sample.attributes)) << text;
    });
}

TEST_P(Types, wrong_inputs_are_refused) {
  for_each_case(op(), DType::f32, [&](const SampleCase& sample) {
    for (const Attempt& attempt : wrong_counts(sample)) expect_refused_or_harmless(attempt);
    for (const Attempt& attempt : wrong_tensors(sample)) expect_refused_or_harmless(attempt);
  });
}

TEST_P(Types, wrong_attributes_are_refused) {
  for_each_case(op(), DType::f32, [&](const SampleCase& sample) {
    for (const Attempt& attempt : wrong_attributes(sample)) expect_refused_or_harmless(attempt);
  });
}

INSTANTIATE_TEST_SUITE_P(AllOps, Types, all_ops(), op_name);

}  // namespace
}  // namespace narrowgauge::types_test
