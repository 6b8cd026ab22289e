// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/contraction/contraction_parts.h"

#include <algorithm>
#include <atomic>
#include <memory>

#include "base/machine/cpu.h"
#include "base/threads/parallel.h"
#include "kernels/cpu/core/strided_copy.h"

namespace narrowgauge::cpu {
namespace {

constexpr float zero = 0;
constexpr int no_input = -1;

// f64 is copied element by element, since copy_strided goes through f32.
void fill_f64(const View& from, const double* in, const View& to, double* out) {
  const std::int64_t count = element_count(to.dims);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i, source = 0, target = 0;
    for (std::size_t axis = to.dims.size(); axis-- > 0; rest /= to.dims[axis]) {
      source += rest % to.dims[axis] * from.strides[axis];
      target += rest % to.dims[axis] * to.strides[axis];
    }
    out[target] = in ? in[source] : 0;
  }
}

}  // namespace

std::optional<Computing> computing_for(const std::string& who,
                                       std::initializer_list<const View*> views) {
  bool f64 = false, other = false, f16 = false, bf16 = false;
  for (const View* view : views) {
    f64 |= view->dtype == DType::f64;
    other |= view->dtype != DType::f64;
    f16 |= view->dtype == DType::f16;
    bf16 |= view->dtype == DType::bf16;
    require(view->dtype == DType::f64 || view->dtype == DType::f32 || view->dtype == DType::f16 ||
                view->dtype == DType::bf16,
            who, ": expected f64, f32, f16 or bf16, got ", view->dtype);
    require(view->dims.size() == view->strides.size(), who, ": ", view->dims.size(), " dims, ",
            view->strides.size(), " strides");
  }
  require(!(f64 && other), who, ": f64 goes only with f64");
  if (f64) return std::nullopt;
  Computing computing;
  if (f16 || bf16)
    computing.widening = concat(", ", f16 ? "f16" : "", f16 && bf16 ? " and " : "",
                                bf16 ? "bf16" : "", " widened to f32");
  return computing;
}

bool may_be_native(std::initializer_list<const View*> inputs, const View& output,
                   const ContractionOptions& options) {
  const bool all_bf16 = std::all_of(inputs.begin(), inputs.end(),
                                    [](const View* view) { return view->dtype == DType::bf16; });
  return options.native_bf16 && all_bf16 && isa() >= Isa::amx &&
         (output.dtype == DType::bf16 || output.dtype == DType::f32);
}

Prepared prepare_fill(const View& output, const std::optional<View>& bias, int bias_index) {
  View from = bias.value_or(View{});
  if (!bias)
    from = {output.dtype == DType::f64 ? DType::f64 : DType::f32, output.dims,
            Dims(output.dims.size(), 0)};
  const int index = bias ? bias_index : no_input;
  return {"fill, nothing to sum", 0, [output, from, index](const Call& call) {
            const void* in = index == no_input ? nullptr : call.inputs[index];
            if (output.dtype == DType::f64)
              return fill_f64(from, static_cast<const double*>(in), output,
                              static_cast<double*>(call.outputs[0]));
            std::int64_t flushed = 0;
            copy_strided(from, in ? in : &zero, output, call.outputs[0], &flushed);
            if (call.flushed && output.dtype == DType::f16)
              std::atomic_ref(*call.flushed).fetch_add(flushed, std::memory_order_relaxed);
          }};
}

}  // namespace narrowgauge::cpu
