// SPDX-License-Identifier: Apache-2.0
// The reference kernels of update rules, in f64.
#include "ops/nn/random_key.h"
#include "ops/training/update_op.h"
#include "ops/training/update_ports.h"
#include "tensor/values.h"

namespace narrowgauge {

Offer reference_update(const Request& request, UpdateFormula formula) {
  const auto moments = static_cast<std::size_t>(UpdatePorts(request.op).moments);
  return reference_update_of_arrays(request, [=](UpdateArrays& arrays) {
    UpdateElement element;
    element.learning_rate = arrays.learning_rate;
    element.step = arrays.step;
    for (std::size_t i = 0; i < arrays.weight.size(); ++i) {
      element.weight = arrays.weight[i];
      element.gradient = arrays.gradient[i];
      for (std::size_t m = 0; m < moments; ++m) element.moments[m] = arrays.moments[m][i];
      formula(element);
      arrays.weight[i] = element.weight;
      for (std::size_t m = 0; m < moments; ++m) arrays.moments[m][i] = element.moments[m];
    }
  });
}

namespace {

std::vector<double> doubles_of(const ReferenceView& view, std::int64_t count) {
  std::vector<double> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; view.present() && i < count; ++i)
    values[static_cast<std::size_t>(i)] = view[i];
  return values;
}

void store(const std::vector<double>& values, const ReferenceView& view) {
  for (std::int64_t i = 0; i < view.size(); ++i) view.set(i, values[static_cast<std::size_t>(i)]);
}

}  // namespace

double rounded_weight(double exact, std::int64_t element, DType dtype, const ReferenceView* key) {
  if (!key || !key->present()) return exact;
  const RandomStream stream = stream_of_key(static_cast<const std::int64_t*>(key->data()));
  const std::uint32_t random = stream.bits(static_cast<std::uint64_t>(element));
  const auto single = static_cast<float>(exact);
  return double{dtype == DType::f16 ? widen(narrow_stochastic<f16>(single, random))
                                    : widen(narrow_stochastic<bf16>(single, random))};
}

namespace {

// The views of an update by the places of its ports.
struct UpdateViews {
  const UpdatePorts& ports;
  const std::vector<ReferenceView>&in, &out;

  const ReferenceView* given(int port) const {
    const bool there = port >= 0 && port < std::ssize(in);
    return there && input(port).present() ? &input(port) : nullptr;
  }
  const ReferenceView& input(int port) const { return in[static_cast<std::size_t>(port)]; }
  const ReferenceView& output(int port) const { return out[static_cast<std::size_t>(port)]; }
};

UpdateArrays arrays_of(const UpdateViews& views) {
  const UpdatePorts& ports = views.ports;
  const std::int64_t count = views.in[0].size();
  UpdateArrays arrays;
  arrays.learning_rate = views.input(ports.learning_rate)[0];
  if (const ReferenceView* steps = views.given(ports.applied_steps))
    arrays.step = static_cast<double>(steps->integer(0) + 1);
  arrays.weight = doubles_of(views.in[0], count);
  arrays.gradient = doubles_of(views.in[1], count);
  const double multiplier = views.input(ports.multiplier)[0];
  for (double& value : arrays.gradient) value *= multiplier;
  for (int m = 0; m < ports.moments; ++m)
    arrays.moments[static_cast<std::size_t>(m)] =
        doubles_of(views.input(UpdatePorts::first_moment + m), count);
  if (const ReferenceView* lost = views.given(ports.compensation))
    for (std::int64_t i = 0; i < count; ++i)
      arrays.weight[static_cast<std::size_t>(i)] += (*lost)[i];
  return arrays;
}

// Rounds the new weights as the rule's optional ports say.
void store_rounded(const std::vector<double>& exact, const UpdateViews& views) {
  const ReferenceView& weight = views.out[0];
  const bool compensated = views.given(views.ports.compensation) != nullptr;
  const ReferenceView* const key = views.given(views.ports.random_key);
  for (std::int64_t i = 0; i < weight.size(); ++i) {
    const double value = exact[static_cast<std::size_t>(i)];
    weight.set(i, rounded_weight(value, i, weight.dtype(), key));
    if (compensated) views.output(views.ports.next_compensation).set(i, value - weight[i]);
  }
}

void keep_weight(const UpdateViews& views) {
  const std::int64_t count = views.in[0].size();
  store(doubles_of(views.in[0], count), views.out[0]);
  if (const ReferenceView* lost = views.given(views.ports.compensation))
    store(doubles_of(*lost, count), views.output(views.ports.next_compensation));
}

}  // namespace

Offer reference_update_of_arrays(const Request& request, ArraysFormula formula) {
  const UpdatePorts ports(request.op);
  return reference_offer(request, [=](const auto& in, const auto& out, const KernelCall&) {
    const UpdateViews views{ports, in, out};
    UpdateArrays arrays = arrays_of(views);
    const bool applied = views.input(ports.applied)[0] != 0;
    if (applied) {
      formula(arrays);
      store_rounded(arrays.weight, views);
    } else {
      keep_weight(views);
    }
    for (int m = 0; m < ports.moments; ++m) {
      auto& moment = arrays.moments[static_cast<std::size_t>(m)];
      if (!views.given(UpdatePorts::first_moment + m)) moment.assign(arrays.weight.size(), 0);
      store(moment, views.output(UpdatePorts::first_next_moment + m));
    }
    store(arrays.weight, views.output(ports.narrow_weight));
  });
}

}  // namespace narrowgauge
