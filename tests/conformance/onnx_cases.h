// SPDX-License-Identifier: Apache-2.0
// Cases of ONNX's backend tests: a model with folders of inputs and expected outputs beside it.
#pragma once

#include <cmath>

#include "conformance/onnx_run.h"
#include "io/onnx/read.h"
#include "tensor/values.h"

namespace narrowgauge::testing_support {

// ONNX's own bounds.
constexpr double relative_bound = 1e-3, absolute_bound = 1e-7;

// Throws CheckError naming the first element that differs.
inline void expect_equal(const Tensor& got, const Tensor& expected) {
  require<CheckError>(got.type() == expected.type(), "expected ", expected.type(), ", got ",
                      got.type());
  for (std::int64_t i = 0; i < got.size(); ++i) {
    const double a = got.at(i), e = expected.at(i);
    const bool near = std::abs(a - e) <= absolute_bound + relative_bound * std::abs(e);
    const bool same = a == e || (std::isnan(a) && std::isnan(e));
    const bool equal = is_floating(got.dtype())
                           ? near || same
                           : load_whole(got.dtype(), got.data(), i) ==
                                 load_whole(expected.dtype(), expected.data(), i);
    require<CheckError>(equal, "element ", i, ": expected ", e, ", got ", a);
  }
}

inline void expect_equal(const std::vector<Tensor>& results, const std::vector<Tensor>& expected) {
  require<CheckError>(results.size() == expected.size(), "expected ", expected.size(),
                      " outputs, got ", results.size());
  for (std::size_t i = 0; i < expected.size(); ++i) try {
      expect_equal(results[i], expected[i]);
    } catch (const CheckError& error) {
      throw CheckError(concat("output ", i, ": ", error.what()));
    }
}

// Throws CheckError where a result differs, UsageError where it cannot be run.
inline void check_data_set(const onnx::Model& model, const std::filesystem::path& folder,
                           Known known) {
  const auto inputs = read_values(folder, "input", model.graph.inputs);
  const auto outputs = read_values(folder, "output", model.graph.outputs);
  std::vector<Tensor> expected;
  std::map<std::string, onnx::Texts> texts;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    expected.insert(expected.end(), outputs[i].values.begin(), outputs[i].values.end());
    if (outputs[i].texts) texts[model.graph.outputs[i].name] = *outputs[i].texts;
  }
  for (const bool reference : {false, true}) {
    const OnnxResults results = run_onnx(model, inputs, known, reference);
    require<CheckError>(results.texts == texts, "other texts");
    try {
      expect_equal(results.tensors, expected);
    } catch (const CheckError& error) {
      throw CheckError(concat(reference ? "reference" : "kernel", ", ", error.what()));
    }
  }
}

// All data sets beside a model, with as little known beforehand as its ops can do with.
inline void check_case(const onnx::Model& model, const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.is_directory()) continue;
    for (const Known known : {Known::none, Known::all_but_first, Known::all}) try {
        check_data_set(model, entry, known);
        break;
      } catch (const UnknownValueError&) {
        if (known == Known::all) throw;
      }
  }
}

}  // namespace narrowgauge::testing_support
