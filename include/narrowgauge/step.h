// SPDX-License-Identifier: Apache-2.0
// A loop of one's own: steps that are compiled from any scalar of a network, whose forward pass,
// gradients and update can be called together or apart. Several steps, each with an optimizer and
// parameters of its own, train one model: the two networks of a GAN, two losses, two rates.
//
//   Step step(model, [&](Network& net) { return loss(net, build(net)); }, adam(1e-3));
//   for (const auto& batch : batches) step.step(batch);          // at once
//   for (int i = 0; i < 4; ++i) step.backward(batches[i], 0.25); // or the mean over four batches
//   step.update();
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "narrowgauge/model.h"

namespace narrowgauge {

// Makes inputs and layers and returns the scalar f32 to minimise. A layer whose parameters the
// model has by name and shape shares them; others are added to the model.
using Objective = std::function<Value(Network&)>;

// How a Step works, beside what its Optimizer says.
struct NG_API StepOptions {
  // The name of its counters, loss scale and moments in the model: steps of one model differ in it,
  // and one that is made when another of the name is gone goes on with them.
  std::string name = "step";
  // Patterns of the parameters that it updates, with * and ?, as far as the loss depends on them;
  // gradients are computed for these alone.
  std::vector<std::string> parameters{"*"};
  std::uint64_t seed = 1;      // of dropout
  bool deterministic = false;  // the same bits for any number of threads
  int threads = 0;             // 0: all
};

// Belongs to one thread at a time. Shares its Model, which may end before it or be moved. A Trainer
// that is made for the model later takes it over: the Step then throws UsageError, as does one that
// was moved from.
class NG_API Step {
 public:
  // Throws as a Trainer does.
  Step(Model& model, Objective objective, Optimizer optimizer, StepOptions options = {});
  ~Step();
  Step(Step&&) noexcept;             // the model stays the same
  Step& operator=(Step&&) noexcept;  // the same
  // Another one for a clone() of this one's model that was made since the last call: it goes on
  // with the same moments, counters, gradients, random numbers and kernels, bit for bit. Throws
  // UsageError for the same model, for one of another network, and while averages stand in the
  // place of the weights.
  Step clone(Model& model) const;

  // Forward, gradients and update at once, as Trainer::step().
  StepResult step(std::span<const Tensor> batch);

  // The loss, which comes first, and the outputs that the objective names with Network::output().
  // Changes nothing.
  std::vector<NamedTensor> forward(std::span<const Tensor> batch);
  // Adds the gradients of the loss times `weight` to those there are, and returns the loss.
  double backward(std::span<const Tensor> batch, double weight = 1);
  // The sums of gradients since the last update, unscaled, by the names of the parameters: they
  // share memory with the step, so that what is written into them counts. No further backward()
  // before the update.
  std::vector<NamedTensor> gradients();
  // Multiplies the gradients; false if one is infinite or NaN then.
  bool scale_gradients(double factor);
  // Updates the parameters by the sum of the gradients, which begins anew. `loss` of the result is
  // the sum of the weighted losses. Throws UsageError where backward() was not called.
  StepResult update();
  // Puts the averages of Optimizer::ema_decay in the place of the model's weights, or the weights
  // back in theirs; until then the Step does not train. Throws UsageError where there are none.
  void swap_averages();
  void clear_gradients();  // drops what backward() has added

  // Settings that hold from the next call on. The plan of the step is made anew for a freeze().
  void set_learning_rate(double rate);      // the base rate, which the schedule changes
  void set_loss_scale(double scale);        // goes on from there, where it is dynamic
  void freeze(const std::string& pattern);  // these parameters keep their values
  // Takes back a freeze() of the same pattern. The rule goes by the steps in which a parameter was
  // updated itself, as PyTorch's optimizers do.
  void thaw(const std::string& pattern);
  double loss_scale() const;           // of the next step; 1 without one
  std::int64_t applied_steps() const;  // which schedules count

  // Adds a checkpoint to the folder of a run (checkpoint.h) and returns its path, as
  // Trainer::save(): the model's weights, and of all Steps that train it moments, averages,
  // counters, loss scales and what is frozen; `files` are kept beside. After resume(), by any of
  // Steps made alike, all go on as if never stopped. It throws DataError for a checkpoint of other
  // Steps or another model. Both throw UsageError between backward() and update() of one of them.
  std::string save(const std::string& folder,
                   const std::map<std::string, std::string>& files = {}) const;
  void resume(const std::string& folder);     // see save()
  void resume(const Checkpoint& checkpoint);  // one that was read

 private:
  friend class GradScaler;
  // Throws UsageError where it has a loss scale of its own that it cannot leave.
  void leave_scale_to_scaler();
  // Updates as PyTorch's optimizers do, by whatever the gradients are; `checked`: unless one is not
  // finite.
  StepResult update_whatever_the_loss(bool checked);
  struct Implementation;
  explicit Step(std::shared_ptr<Implementation> implementation);
  Held<"step", std::shared_ptr<Implementation>> implementation_;
};

}  // namespace narrowgauge
