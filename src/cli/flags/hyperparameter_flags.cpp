// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/hyperparameter_flags.h"

#include <algorithm>

#include "cli/common/text.h"
#include "cli/flags/flags.h"
#include "narrowgauge/optimizer.h"

namespace narrowgauge::cli {
namespace {

std::string flag_of(std::string_view hyperparameter) {
  std::string name = concat("--", hyperparameter);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

bool has(const UpdateRule& rule, std::string_view name) {
  return std::ranges::any_of(rule.hyperparameters(),
                             [&](const Hyperparameter& each) { return each.name == name; });
}

// "rmsprop and sgd do": the optimizers that have it.
std::string owners(std::string_view name) {
  std::vector<std::string> all = optimizer_names();
  std::erase_if(all, [&](const auto& each) { return !has(parse_optimizer(each).rule, name); });
  return listed(all) + (all.size() == 1 ? " does" : " do");
}

// "0.9"; of a switch, and of what is chosen by the network, words or nothing.
std::string usual_text(const std::string& optimizer, const Hyperparameter& each) {
  if (optimizer == "sgd" && each.name == "weight_decay")
    return " (mlp, lenet: 0; vgg19: 5e-4; else 1e-4)";
  if (const bool* on = std::get_if<bool>(&each.value)) return *on ? " (on)" : "";
  const double* number = std::get_if<double>(&each.value);
  return number ? concat(" (", number_text(*number), ')') : "";
}

// A hyperparameter with all optimizers that have it.
struct Shared {
  std::string name, help;
  bool is_switch = false;
  std::string on_in{};  // the optimizers in which a switch is on
};

std::vector<Shared> shared_hyperparameters() {
  std::vector<Shared> all;
  for (const std::string& optimizer : optimizer_names())
    for (const Hyperparameter& each : parse_optimizer(optimizer).rule.hyperparameters()) {
      auto known = std::ranges::find(all, each.name, &Shared::name);
      if (known == all.end())
        known = all.insert(
            all.end(), {std::string(each.name), "of ", std::holds_alternative<bool>(each.value)});
      else
        known->help += ", ";
      known->help += optimizer + usual_text(optimizer, each);
      const bool* on = std::get_if<bool>(&each.value);
      if (on && *on) known->on_in += (known->on_in.empty() ? "" : ", ") + optimizer;
    }
  return all;
}

}  // namespace

void add_hyperparameter_flags(CLI::App& app, HyperparameterFlags& target) {
  for (const Shared& each : shared_hyperparameters()) {
    if (!each.on_in.empty())
      add_switch(app, {"--no-" + flag_of(each.name).substr(2), "", "of " + each.on_in},
                 [&target, name = each.name] { target[name] = false; });
    if (each.is_switch)
      add_switch(app, {flag_of(each.name), "", each.help},
                 [&target, name = each.name] { target[name] = true; });
    else
      add_real(app, {flag_of(each.name), "X", each.help},
               [&target, name = each.name](double value) { target[name] = value; });
  }
}

void take_hyperparameters(UpdateRule& rule, const std::string& optimizer,
                          const HyperparameterFlags& flags) {
  for (const auto& [name, value] : flags) {
    require(has(rule, name), flag_of(name), ": ", optimizer, " has none, only ", owners(name));
    rule.set(name, value);
  }
  for (const auto& [name, value] : flags) rule.check(flag_of(name));
}

}  // namespace narrowgauge::cli
