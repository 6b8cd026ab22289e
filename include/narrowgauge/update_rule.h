// SPDX-License-Identifier: Apache-2.0
// The rule by which a weight follows from its gradient: any op that updates weights.
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "narrowgauge/error.h"
#include "narrowgauge/op_record.h"

namespace narrowgauge {

// A number or a switch of a rule that its user chooses: momentum, nesterov, ...
struct NG_API Hyperparameter {
  using Value = std::variant<double, bool>;  // a number, or a switch
  std::string_view name;                     // of the attribute, as the op spells it
  Value value;                               // what the rule has now
  bool operator==(const Hyperparameter&) const = default;
};

// What a rule shows its hyperparameters to.
struct HyperparameterVisitor {
  void operator()(std::string_view name, const double& value) const;  // takes a number
  void operator()(std::string_view name, const bool& value) const;    // takes a switch
};

// An op that updates a weight. Training gives its input ports values by their names: `weight`, f32
// or f64; `gradient` of the weight's shape, in any format and still scaled; the scalars
// `learning_rate` and `multiplier` in the loss's format, f32 or f64 (`multiplier` makes the
// gradient the true one: 1 / loss scale, times the clipping factor), `applied` bool (false: weight
// and moments keep their values) and `applied_steps` i64 (of the steps before this one). Any other
// port is a moment: state of the weight's shape and format that begins at 0. The results
// `next_weight` and `next_<moment>` become the states of the next step.
//
// A rule may have two more optional ports, `compensation` and `random_key`, and the result
// `next_compensation`: it then takes weights in f16 and bf16, with moments in f32, and rounds them
// (weight_rounding.h). For other rules training widens such a weight and rounds `next_weight`.
// Neither port is a moment.
template <class T>
concept UpdateOp = Op<T> && requires(const T op, const HyperparameterVisitor& visit) {
  // The moments in use; those of optional ports may be missing.
  { op.moments() } -> std::same_as<std::vector<std::string_view>>;
  // Calls visit(name, member) for each hyperparameter: attributes that are for the user to choose.
  T::hyperparameters(op, visit);
  // Throws UsageError, beginning with `who`, naming a number that makes no sense.
  op.check(std::string_view());
};

// An update op that keeps other moments for weights of some shapes, such as Muon for what is no
// matrix.
template <class T>
concept ShapedUpdateOp = UpdateOp<T> && requires(const T op, const Shape& weight) {
  { op.moments_of(weight) } -> std::same_as<std::vector<std::string_view>>;
};

// Holds a rule of any type with its hyperparameters: a value, which copies share until it is set().
class NG_API UpdateRule {
 public:
  UpdateRule();  // plain gradient descent: SGD without momentum
  template <UpdateOp T>
  UpdateRule(T op) : rule_(std::make_shared<Holder<T>>(std::move(op))) {}  // NOLINT: converts

  const OpRecord& op() const { return rule_->op(); }  // the op that updates a weight
  Attributes attributes() const { return rule_->attributes(); }
  // Names of the input ports that are moments in use, for weights of some shape.
  std::vector<std::string_view> moments() const { return rule_->moments(); }
  // The moments of a weight of this shape, for which there are as many states of its type.
  std::vector<std::string_view> moments_of(const Shape& weight) const {
    return rule_->moments_of(weight);
  }
  // Throws UsageError, beginning with `who`, naming a hyperparameter that makes no sense.
  void check(std::string_view who) const { rule_->check(who); }

  // All of the rule's with their values, in the order in which the op visits them.
  std::vector<Hyperparameter> hyperparameters() const { return rule_->hyperparameters(); }
  // Changes one hyperparameter. Throws UsageError for a name or a kind of value that the rule does
  // not have.
  void set(std::string_view name, Hyperparameter::Value value);
  bool operator==(const UpdateRule& other) const;  // the same op with equal attributes

 private:
  struct Rule {
    virtual ~Rule() = default;
    virtual const OpRecord& op() const = 0;
    virtual Attributes attributes() const = 0;
    virtual std::vector<std::string_view> moments() const = 0;
    virtual std::vector<std::string_view> moments_of(const Shape& weight) const = 0;
    virtual void check(std::string_view who) const = 0;
    virtual std::vector<Hyperparameter> hyperparameters() const = 0;
    virtual std::shared_ptr<const Rule> with(const Hyperparameter& changed) const = 0;
  };
  template <class T>
  struct Holder;
  Held<"update rule", std::shared_ptr<const Rule>> rule_;
};

// A rule of type T behind the interface that an UpdateRule asks.
template <class T>
struct UpdateRule::Holder : Rule {
  explicit Holder(T op) : op_(std::move(op)) {}
  const OpRecord& op() const override { return record_of<T>(); }
  Attributes attributes() const override { return Attributes::of(op_); }
  std::vector<std::string_view> moments() const override { return op_.moments(); }
  std::vector<std::string_view> moments_of(const Shape& weight) const override {
    if constexpr (ShapedUpdateOp<T>)
      return op_.moments_of(weight);
    else
      return op_.moments();
  }
  void check(std::string_view who) const override { op_.check(who); }
  std::vector<Hyperparameter> hyperparameters() const override {
    std::vector<Hyperparameter> all;
    T::hyperparameters(op_, [&](std::string_view name, const auto& value) {
      all.push_back({name, value});
    });
    return all;
  }
  std::shared_ptr<const Rule> with(const Hyperparameter& changed) const override {
    T copy = op_;
    T::hyperparameters(copy, [&](std::string_view name, auto& value) {
      if (name == changed.name)
        value = std::get<std::remove_cvref_t<decltype(value)>>(changed.value);
    });
    return std::make_shared<Holder>(std::move(copy));
  }
  T op_;
};

}  // namespace narrowgauge
