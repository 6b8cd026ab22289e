// SPDX-License-Identifier: Apache-2.0
// What prepares the features of a classifier, of ONNX's domain ai.onnx.ml: x is [N, F] or has other
// axes, and the features are along the last one.
#pragma once

#include <string>

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// 1 where x is above the threshold, else 0, compared in f64. ONNX's Binarizer.
struct Binarizer {
  static constexpr OpInfo info{.name = "Binarizer",
                               .domain = "ai.onnx.ml",
                               .inputs = "x:N!",
                               .outputs = "y:N!",
                               .types = "N:number"};
  double threshold = 0;
  static void attributes(auto& self, auto&& visit) { visit("threshold", self.threshold); }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

// (x - offset) * scale, computed in f32; offset and scale have one number for all features or one
// for each, and change nothing where they are not given. ONNX's Scaler.
struct Scaler {
  static constexpr OpInfo info{.name = "Scaler",
                               .domain = "ai.onnx.ml",
                               .inputs = "x:N",
                               .outputs = "y:f32",
                               .types = "N:number"};
  Tensor offset, scale;
  static void attributes(auto& self, auto&& visit) {
    visit("offset", self.offset);
    visit("scale", self.scale);
  }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

// x over the largest of its features (`norm` MAX), the sum of their magnitudes (L1) or the root of
// the sum of their squares (L2); x where that is 0. ONNX's Normalizer as onnxruntime computes it:
// the text leaves out the magnitudes of L1 and the signs of L2.
struct Normalizer {
  static constexpr OpInfo info{.name = "Normalizer",
                               .domain = "ai.onnx.ml",
                               .inputs = "x:N",
                               .outputs = "y:f32",
                               .types = "N:number"};
  std::string norm = "MAX";
  static void attributes(auto& self, auto&& visit) { visit("norm", self.norm); }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

// x with other numbers where it equals replaced_value_float, which may be NaN, or for integers
// replaced_value_int64: those of imputed_value_floats or imputed_value_int64s, one for all features
// or one for each. ONNX's Imputer.
struct Imputer {
  static constexpr OpInfo info{.name = "Imputer",
                               .domain = "ai.onnx.ml",
                               .inputs = "x:N",
                               .outputs = "y:N",
                               .types = "N:number"};
  Tensor imputed_value_floats;
  Dims imputed_value_int64s;
  double replaced_value_float = 0;
  std::int64_t replaced_value_int64 = 0;
  static void attributes(auto& self, auto&& visit) {
    visit("imputed_value_floats", self.imputed_value_floats);
    visit("imputed_value_int64s", self.imputed_value_int64s);
    visit("replaced_value_float", self.replaced_value_float);
    visit("replaced_value_int64", self.replaced_value_int64);
  }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

// The features whose indices `indices` lists, in one axis in place of the last; of a list x, as one
// row. Throws DataError at run time for an index outside. ONNX's ArrayFeatureExtractor.
struct ArrayFeatureExtractor {
  static constexpr OpInfo info{.name = "ArrayFeatureExtractor",
                               .domain = "ai.onnx.ml",
                               .inputs = "x:T, indices:i64!",
                               .outputs = "y:T",
                               .precision = clear};
  static void attributes(auto&, auto&&) {}
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
