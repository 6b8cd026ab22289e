// SPDX-License-Identifier: Apache-2.0
#include "ops/recurrent/activations.h"

#include <algorithm>
#include <optional>

#include "ops/activation/linear_units.h"
#include "ops/activation/relu.h"
#include "ops/activation/sigmoid.h"
#include "ops/activation/softsign.h"

namespace narrowgauge {

namespace {

// What an activation has, with ONNX's defaults.
struct Parameters {
  std::string_view name;
  std::optional<double> alpha = {}, beta = {};
};
constexpr Parameters known[] = {{"Relu"},
                                {"Tanh"},
                                {"Sigmoid"},
                                {"Affine", 1, 0},
                                {"LeakyRelu", 0.01},
                                {"ThresholdedRelu", 1},
                                {"ScaledTanh", 1, 1},
                                {"HardSigmoid", 0.2, 0.5},
                                {"Elu", 1},
                                {"Softsign"},
                                {"Softplus"}};

double next_of(const Tensor& given, std::int64_t& used, const std::optional<double>& otherwise) {
  if (!otherwise) return 0;
  return used < given.size() ? given.at(used++) : *otherwise;
}

}  // namespace

Expression RecurrentActivation::operator()(Expression x) const {
  if (name == "Relu") return x.apply(Relu{});
  if (name == "Tanh") return x.apply(Tanh{});
  if (name == "Sigmoid") return x.apply(Sigmoid{});
  if (name == "Affine") return alpha * x + beta;
  if (name == "LeakyRelu") return x.apply(LeakyRelu{alpha});
  if (name == "ThresholdedRelu") return where(x < alpha, 0, x);
  if (name == "ScaledTanh") return alpha * (beta * x).apply(Tanh{});
  if (name == "HardSigmoid") return x.apply(HardSigmoid{alpha, beta});
  if (name == "Elu") return x.apply(Elu{alpha});
  if (name == "Softsign") return x.apply(Softsign{});
  return x.apply(Softplus{});
}

std::vector<RecurrentActivation> parse_activations(std::string_view op, std::string_view names,
                                                   const Tensor& alphas, const Tensor& betas) {
  std::vector<RecurrentActivation> activations;
  std::int64_t used_alphas = 0, used_betas = 0;
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    const auto* const found = std::find_if(std::begin(known), std::end(known),
                                           [&](const Parameters& p) { return p.name == name; });
    require(found != std::end(known), op, ": unknown activation '", name, "'");
    activations.push_back({std::string(name), next_of(alphas, used_alphas, found->alpha),
                           next_of(betas, used_betas, found->beta)});
  }
  return activations;
}

}  // namespace narrowgauge
