// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/axes/axes.h"
#include "ops/elementwise/strip_program.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/reduce/reduce.h"
#include "ops/reduce/reduce_axes.h"
#include "ops/reference.h"

namespace narrowgauge {

Operand with_reduced_axes(const Operand& dy, const Operand& dx, const Dims& axes) {
  if (dy.dims.size() == dx.dims.size()) return dy;
  Operand result = dy;
  result.dims.clear();
  result.strides.clear();
  const std::vector<bool> reduced = axis_mask(axes, dx.dims.size());
  for (std::size_t i = 0, from = 0; i < dx.dims.size(); ++i) {
    result.dims.push_back(reduced[i] ? 1 : dy.dims[from]);
    result.strides.push_back(reduced[i] ? 0 : dy.strides[from]);
    if (!reduced[i]) ++from;
  }
  return result;
}

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

template <Reduction kind>
Dims axes_of(const Request& request) {
  const bool given = request.inputs.size() > 1 && request.inputs[1].present;
  NG_INVARIANT(!given || request.inputs[1].constant);
  return reduced_axes(request.op.info.name, given ? request.inputs[1].constant : nullptr,
                      request.inputs[0].dims.size(),
                      request.as<ReduceOp<kind>>().noop_with_empty_axes != 0);
}

bool is_widened(DType dtype) { return is_floating(dtype) && dtype != DType::f64; }

template <Reduction kind>
Offer offer_reduce_rows(const Request& request) {
  const Operand& x = request.inputs[0];
  const Operand& given_y = request.outputs[0];
  if (!is_widened(x.dtype)) return Offer::decline(concat("reads f32 and narrower, not ", x.dtype));
  for (const Operand* operand : {&x, &given_y})
    if (!operand->storage.blocks.empty() || !operand->storage.encoding.empty())
      return Offer::decline(concat("storage ", operand->storage));
  const Dims axes = axes_of<kind>(request);
  const std::vector<bool> reduced = axis_mask(axes, x.dims.size());
  const Operand y = with_reduced_axes(given_y, x, axes);
  std::vector<cpu::ReduceAxis> grid;
  for (std::size_t i = 0; i < x.dims.size(); ++i)
    grid.push_back({x.dims[i], x.strides[i], reduced[i] ? 0 : y.strides[i], reduced[i]});
  const cpu::Reduce reduce(kind, std::move(grid));
  Offer offer;
  offer.implementation = "rows";
  offer.workspace = reduce.workspace();
  offer.run = [reduce, from = x.dtype, to = y.dtype](const KernelCall& call) {
    if (!call.outputs[0].data) return;
    reduce.run({call.inputs[0].data, from}, {call.outputs[0].data, to, 0, call.flushed_at(0)},
               call.workspace);
  };
  return offer;
}

// Calls use(output, input) for each element of x and its element of y, in the order of x.
template <class Use>
void for_each_pair(const Dims& dims, const std::vector<bool>& reduced, const Use& use) {
  Dims strides(dims.size());
  std::int64_t stride = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    strides[i] = reduced[i] ? 0 : stride;
    if (!reduced[i]) stride *= dims[i];
  }
  const std::int64_t count = element_count(dims);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i, output = 0;
    for (std::size_t axis = dims.size(); axis-- > 0; rest /= dims[axis])
      output += rest % dims[axis] * strides[axis];
    use(output, i);
  }
}

double start_of(Reduction kind) {
  if (kind == Reduction::product) return 1;
  if (kind == Reduction::maximum) return -infinity;
  return kind == Reduction::minimum ? infinity : 0;
}

double take(Reduction kind, double sum, double x, double shift) {
  switch (kind) {
    case Reduction::maximum:
      return x > sum || std::isnan(x) ? x : sum;
    case Reduction::minimum:
      return x < sum || std::isnan(x) ? x : sum;
    case Reduction::product:
      return sum * x;
    case Reduction::l1:
      return sum + std::fabs(x);
    case Reduction::l2:
    case Reduction::sum_square:
      return sum + x * x;
    case Reduction::log_sum_exp:
      return sum + std::exp(x - shift);
    default:
      return sum + x;
  }
}

double finish(Reduction kind, double sum, double count, double shift) {
  switch (kind) {
    case Reduction::mean:
      return sum / count;
    case Reduction::l2:
      return std::sqrt(sum);
    case Reduction::log_sum:
      return std::log(sum);
    case Reduction::log_sum_exp:
      return shift + std::log(sum);
    default:
      return sum;
  }
}

using Job = std::pair<Reduction, std::vector<bool>>;  // and which axes are reduced

void reduce_numbers(const Job& job, const ReferenceView& x, const ReferenceView& y) {
  const auto& [kind, reduced] = job;
  ReferenceSums sums(y.size(), start_of(kind)), shifts(y.size()), counts(y.size());
  if (kind == Reduction::log_sum_exp) {
    std::fill(shifts.begin(), shifts.end(), -infinity);
    for_each_pair(x.dims(), reduced, [&](std::int64_t o, std::int64_t i) {
      shifts[o] = take(Reduction::maximum, shifts[o], x[i], 0);
    });
    for (double& shift : shifts)
      if (std::isinf(shift)) shift = 0;
  }
  for_each_pair(x.dims(), reduced, [&, k = kind](std::int64_t o, std::int64_t i) {
    sums[o] = take(k, sums[o], x[i], shifts[o]);
    ++counts[o];
  });
  for (std::int64_t o = 0; o < y.size(); ++o) y.set(o, finish(kind, sums[o], counts[o], shifts[o]));
}

// The least and the largest number of any integer dtype.
constexpr WideInteger lowest = std::numeric_limits<std::int64_t>::min();
constexpr WideInteger highest = std::numeric_limits<std::uint64_t>::max();

WideInteger product_of(WideInteger a, WideInteger b) {
  WideInteger product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return (a < 0) != (b < 0) ? lowest : highest;
  return std::clamp(product, lowest, highest);
}

WideInteger take_integer(Reduction kind, WideInteger sum, WideInteger x) {
  switch (kind) {
    case Reduction::maximum:
      return std::max(sum, x);
    case Reduction::minimum:
      return std::min(sum, x);
    case Reduction::product:
      return product_of(sum, x);
    case Reduction::l1:
      return sum + (x < 0 ? -x : x);
    case Reduction::sum_square:
      return std::min(sum + product_of(x, x), highest);
    default:
      return sum + x;
  }
}

WideInteger first_integer(Reduction kind) {
  if (kind == Reduction::product) return 1;
  if (kind == Reduction::maximum) return lowest;
  return kind == Reduction::minimum ? highest : 0;
}

// Exact; saturates. The mean is cut towards zero; that of no elements is 0.
void reduce_integers(const Job& job, const ReferenceView& x, const ReferenceView& y) {
  const auto& [kind, reduced] = job;
  IndexedVector<std::int64_t, WideInteger> sums(y.size(), first_integer(kind));
  IndexedVector<std::int64_t, std::int64_t> counts(y.size());
  for_each_pair(x.dims(), reduced, [&, k = kind](std::int64_t o, std::int64_t i) {
    sums[o] = take_integer(k, sums[o], x.whole(i));
    ++counts[o];
  });
  for (std::int64_t o = 0; o < y.size(); ++o) {
    if (kind == Reduction::mean && counts[o] > 0) sums[o] /= counts[o];
    y.set_whole(o, sums[o]);
  }
}

// Roots and logarithms of integers: computed as numbers, then cut towards zero.
class Truncating {
 public:
  static bool is_needed(Reduction kind) {
    return kind == Reduction::l2 || kind == Reduction::log_sum || kind == Reduction::log_sum_exp;
  }
  static void reduce(const Job& job, const ReferenceView& x, const ReferenceView& y) {
    Operand numbers{.dtype = DType::f64, .dims = y.dims(), .strides = dense_strides(y.dims())};
    ReferenceSums values(y.size());
    reduce_numbers(job, x, ReferenceView(numbers, {values.data()}));
    for (std::int64_t i = 0; i < y.size(); ++i) y.set(i, std::trunc(values[i]));
  }
};

template <Reduction kind>
Offer reduce_reference(const Request& request) {
  const Job job{kind, axis_mask(axes_of<kind>(request), request.inputs[0].dims.size())};
  return reference_offer(request, [job](const auto& in, const auto& out, const KernelCall&) {
    if (!is_integer(in[0].dtype()))
      reduce_numbers(job, in[0], out[0]);
    else if (Truncating::is_needed(kind))
      Truncating::reduce(job, in[0], out[0]);
    else
      reduce_integers(job, in[0], out[0]);
  });
}

template <Reduction kind>
constexpr Kernel reduce_kernels[] = {{"rows", offer_reduce_rows<kind>},
                                     {"reference", reduce_reference<kind>}};

// 1 / the number of repetitions for the mean, else 1.
template <class Op>
double scale_of(const Request& request) {
  if constexpr (std::is_same_v<Op, ReduceSumGradient>) return 1;
  double count = 1;
  for (const std::int64_t axis : request.as<Op>().axes)
    count *= static_cast<double>(request.outputs[0].dims[static_cast<std::size_t>(axis)]);
  return 1 / count;
}

// Broadcasts dy by an elementwise program: loads in the order of dx, at most one instruction.
template <class Op>
Offer offer_spread(const Request& request) {
  if (!request.inputs[0].storage.blocks.empty() || !request.outputs[0].storage.blocks.empty())
    return Offer::decline("storage in blocks");
  const Operand dy =
      with_reduced_axes(request.inputs[0], request.outputs[0], request.as<Op>().axes);
  Request broadcast = request;
  broadcast.inputs = {&dy, 1};
  StripProgram program;
  program.input_count = 1;
  program.outputs = {0};
  if (const double scale = scale_of<Op>(request); scale != 1) {
    program.constants = {scale};
    int next = 2;
    program.outputs = {
        program.append(*record_of<Mul>().elementwise, Attributes::of(Mul{}), {0, 1}, next)};
  }
  return offer_strip_program(broadcast, std::move(program));
}

template <class Op>
Offer spread_reference(const Request& request) {
  const std::vector<bool> reduced =
      axis_mask(request.as<Op>().axes, request.outputs[0].dims.size());
  const double scale = scale_of<Op>(request);
  return reference_offer(
      request, [reduced, scale](const auto& in, const auto& out, const KernelCall&) {
        for_each_pair(out[0].dims(), reduced, [&](std::int64_t from, std::int64_t to) {
          out[0].set(to, in[0][from] * scale);
        });
      });
}

template <class Op>
constexpr Kernel spread_kernels[] = {{"strips", offer_spread<Op>},
                                     {"reference", spread_reference<Op>}};

}  // namespace

template <Reduction kind>
std::span<const Kernel> ReduceOp<kind>::kernels() {
  return reduce_kernels<kind>;
}
std::span<const Kernel> ReduceSumGradient::kernels() { return spread_kernels<ReduceSumGradient>; }
std::span<const Kernel> ReduceMeanGradient::kernels() { return spread_kernels<ReduceMeanGradient>; }

template std::span<const Kernel> ReduceSum::kernels();
template std::span<const Kernel> ReduceMean::kernels();
template std::span<const Kernel> ReduceMax::kernels();
template std::span<const Kernel> ReduceMin::kernels();
template std::span<const Kernel> ReduceProd::kernels();
template std::span<const Kernel> ReduceL1::kernels();
template std::span<const Kernel> ReduceL2::kernels();
template std::span<const Kernel> ReduceSumSquare::kernels();
template std::span<const Kernel> ReduceLogSum::kernels();
template std::span<const Kernel> ReduceLogSumExp::kernels();

}  // namespace narrowgauge
