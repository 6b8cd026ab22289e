// SPDX-License-Identifier: Apache-2.0
// What a source includes that defines an op: it makes the record of the op, which all who only use
// the op find when they are linked.
#pragma once

#include <span>

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// The record of T; record_of() keeps one.
template <Op T>
OpRecord make_record() {
  OpRecord r;
  r.info = T::info;
  r.inputs = parse_ports(T::info.inputs);
  r.outputs = parse_ports(T::info.outputs);
  r.kernels = &T::kernels;
  r.make_default = [] { return Attributes::of(T{}); };
  r.clone = [](const Attributes& a) { return Attributes::of(T(a.as<T>())); };
  r.visit = [](void* a, AttributeVisitor& v) { T::attributes(*static_cast<T*>(a), v); };
  r.infer = [](const void* a, const Inference& in) { return static_cast<const T*>(a)->infer(in); };
  if constexpr (NumbersOp<T>)
    r.numbers = [](const void* a, const Inference& in) {
      return static_cast<const T*>(a)->numbers(in);
    };
  if constexpr (DifferentiableOp<T>)
    r.gradient = [](const void* a, Gradient& g) { return static_cast<const T*>(a)->gradient(g); };
  if constexpr (CompositeOp<T>)
    r.decompose = [](const void* a, Rewriting& w) {
      return static_cast<const T*>(a)->decompose(w);
    };
  if constexpr (CountedOp<T>)
    r.flops = [](const void* a, std::span<const TensorType> in, std::span<const TensorType> out) {
      return static_cast<const T*>(a)->flops(in, out);
    };
  if constexpr (RegionOp<T>)
    r.region_ports = [](const void* a, int inputs) {
      return static_cast<const T*>(a)->region_ports(inputs);
    };
  if constexpr (ElementwiseOp<T>) r.elementwise = T::elementwise();
  return r;
}

// Never inlined, so that an object file that asks for the record also holds this function for the
// others. Never destroyed: destructors of static objects may still use networks.
template <Op T>
[[gnu::noinline]] const OpRecord& record_of() {
  static const OpRecord& record = *new OpRecord(make_record<T>());
  return record;
}

}  // namespace narrowgauge
