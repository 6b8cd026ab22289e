// SPDX-License-Identifier: Apache-2.0
// How a kernel is asked and called: a Request describes one node of a plan, an Offer is the
// kernel's answer (what it would run, or the reason why it declines), a KernelCall runs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "narrowgauge/matrix_unit.h"
#include "narrowgauge/target.h"
#include "narrowgauge/tensor.h"

namespace narrowgauge {

struct OpRecord;
class Attributes;

// How accurate the products and sums of a contraction must be; `none` for all other nodes.
//   ieee  f32 products and sums          f32   f32 in and out, TF32's accuracy or better
//   f16   f16 operands, exact products, f32 accumulation       bf16  the same with bf16
// The others each name one way of keeping such a contract; a machine resolves a contract to one.
// The simulated ones come on top, see simulated().
enum class Math : std::uint16_t { none, ieee, f32, f16, bf16, tf32, tf32x3, bf16x3, dfp16 };
NG_API std::string_view name(Math math);        // "ieee", "bf16x3", "sim:a100:f16"
NG_API Math parse_math(std::string_view text);  // throws UsageError

// Computes as a matrix unit does, bit by bit: "sim:a100", or "sim:h100:f8e4m3" when operands are
// first rounded to one of the unit's formats. `automatic`: in the format of the values; f32 as tf32
// where the unit has it, else as a chain of FMAs in f32.
constexpr Math simulated(MatrixUnit unit, UnitFormat operand = UnitFormat::automatic) {
  return static_cast<Math>(0x100 + static_cast<int>(unit) * 32 + static_cast<int>(operand));
}
// Whether simulated() made it.
constexpr bool is_simulated(Math math) { return static_cast<int>(math) >= 0x100; }
// The unit of a simulated math.
constexpr MatrixUnit unit_of(Math math) {
  return static_cast<MatrixUnit>((static_cast<int>(math) - 0x100) / 32);
}
// The format to which a simulated math rounds its operands first.
constexpr UnitFormat operand_format_of(Math math) {
  return static_cast<UnitFormat>(static_cast<int>(math) % 32);
}
// Whether contractions of f32 values can be asked for in it: ieee, f32, tf32, tf32x3, a simulated
// unit, or a way of keeping f32 (bf16x3, dfp16), which kernels that lack it replace by ieee.
NG_API bool is_f32_math(Math math);
inline void append_text(std::string& out, Math math) { out += name(math); }

// How a value lies in memory; its logical shape stays ONNX's. Empty: dense, row-major.
struct NG_API Storage {
  // An axis cut into pieces, each of which lies together.
  struct Block {
    std::int64_t axis, size;  // of the logical shape; elements in a block
    bool operator==(const Block&) const = default;
  };
  std::vector<std::int64_t> order;  // logical axes from outermost to innermost; empty: 0,1,2,...
  std::vector<Block> blocks;        // innermost blocks, e.g. {1,16}: channels in sixteens
  std::string encoding;             // "": plain elements; else a packed form that kernels know

  // Dense and row-major.
  bool is_plain() const { return order.empty() && blocks.empty() && encoding.empty(); }
  bool operator==(const Storage&) const = default;
  static Storage channels_last(std::int64_t rank);                         // N,...,C
  static Storage channels_blocked(std::int64_t rank, std::int64_t block);  // nChw16c and its kin
  static Storage batch_inner();  // of [N,C,H,W]: N/32, H, W, C/32, 32 images, 32 channels
  static Storage parse(std::string_view text);  // throws UsageError
};
NG_API void append_text(std::string& out, const Storage& storage);  // "plain", "0231", "0123|1:16"

// Elements in memory, blocks padded.
NG_API std::int64_t stored_elements(const Dims& dims, const Storage& storage);
// Strides of a value without blocks, in elements, for each logical axis.
NG_API Dims strides_of(const Dims& dims, const Storage& storage);

// One input or output of a node, as known when the plan is made.
struct Operand {
  DType dtype = DType::f32;  // of its elements
  Dims dims{};               // logical shape
  Dims strides{};       // in elements, per logical axis; a slice of a wider buffer has wider ones
  Storage storage{};    // how it lies in memory
  bool present = true;  // optional inputs; outputs that nobody reads
  const Tensor* constant = nullptr;  // the value, where it is known now
  bool lasts =
      false;  // the same in every run of the plan, until somebody sets the state that it is
};

// What a kernel is asked: to compute this node on this target.
struct NG_API Request {
  const OpRecord& op;                // of the node
  const Attributes& attributes;      // of the node; see as()
  std::span<const Operand> inputs;   // one for each input port, absent ones too
  std::span<const Operand> outputs;  // one for each output port
  const Target& target;              // the machine that the plan is for
  Math math = Math::none;            // of a contraction
  std::string_view name;             // of the node: random numbers depend on it
  bool deterministic = false;        // the same bits for any number of threads
  // The operand at an input port.
  const Operand& input(int port) const { return inputs[static_cast<std::size_t>(port)]; }
  // The operand at an output port.
  const Operand& output(int port) const { return outputs[static_cast<std::size_t>(port)]; }
  template <class T>
  const T& as() const;  // the op itself; see op.h
};

// The pointers of one operand in one run. An absent operand has data == nullptr.
struct View {
  void* data = nullptr;  // its first element
  // The elements as T; the caller knows the dtype.
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

// What random numbers depend on, besides the name of the node.
struct RunContext {
  std::uint64_t seed = 0;  // of the training
  std::uint64_t step = 0;  // number of the step; the same for all its nodes
};

// One run of a kernel.
struct KernelCall {
  std::span<const View> inputs;       // one for each input port
  std::span<const View> outputs;      // one for each output port
  std::byte* workspace = nullptr;     // 64-byte aligned
  std::span<std::int64_t> flushed;    // per output, or empty: += non-zero values stored as zero
  RunContext context;                 // seed and step
  const std::byte* packed = nullptr;  // what Packing::run made, 64-byte aligned
  // The pointers at an input port.
  View input(int port) const { return inputs[static_cast<std::size_t>(port)]; }
  // The pointers at an output port.
  View output(int port) const { return outputs[static_cast<std::size_t>(port)]; }
  // Where an output counts its flushed values; nullptr: nobody asks.
  std::int64_t* flushed_at(std::size_t output) const {
    return output < flushed.size() ? &flushed[output] : nullptr;
  }
};

// An output that shares memory with an input.
struct InPlace {
  int input, output;  // ports of the node
};

// Whose a kernel is and how it computes; decisions and comparisons go by these facts.
enum class Vendor : std::uint8_t { own, onednn };
// What decisions about a kernel go by.
struct KernelFacts {
  Vendor vendor = Vendor::own;  // whose code it is
  std::optional<Isa> isa = {};  // of its widest instructions, where it tells
  Math way = Math::none;        // how f32 or f16 is kept in products of narrower numbers
  bool widened = false;         // narrow operands become f32 before they multiply
  bool operator==(const KernelFacts&) const = default;
};

// Constant inputs (Operand::lasts) as a kernel packs them once, and not in every run: weights in
// the order in which its loops read them. Whoever runs an offer that has one calls run() first, and
// again whenever one of these inputs was set anew.
struct Packing {
  std::string format;       // how the bytes lie: equal formats of equal inputs are equal bytes
  std::int64_t bytes = 0;   // 0: there is none
  std::vector<int> inputs;  // ports that are read; Operand::lasts of each
  // Fills `packed`, 64-byte aligned, from the inputs of the node, of which only those are read.
  std::function<void(std::span<const View> inputs, std::byte* packed)> run;
};

// The answer of a kernel to a Request.
struct NG_API Offer {
  std::string reason;             // why the kernel declines; empty: it accepts
  std::string implementation;     // what will run, for people who read a plan or a profile
  KernelFacts facts;              // what passes and reports go by
  std::int64_t workspace = 0;     // bytes
  Packing packing;                // that run() reads as KernelCall::packed
  std::vector<InPlace> in_place;  // outputs that may take the memory of an input that dies here
  std::vector<InPlace> aliases;   // outputs that are the input's memory: nothing is run for them
  // Computes the outputs; any number of times, once ready.
  std::function<void(const KernelCall&)> run;
  // Does the work of getting ready (generating code, packing weights) and fills in the members
  // above that are known only then; none: the offer is ready. A kernel that is only asked does no
  // work.
  std::function<void(Offer&)> prepare;

  // Runs prepare(), if it was not run before. Whoever runs an offer calls this first.
  void get_ready() {
    if (const auto make = std::exchange(prepare, nullptr)) make(*this);
  }
  // An answer that says why this kernel does not compute the node.
  static Offer decline(std::string reason);
  explicit operator bool() const { return reason.empty(); }  // whether it accepts
};

// Kernels of an op stand fastest first; the reference comes last and accepts everything.
struct Kernel {
  std::string_view name;           // "cpu:avx512", "onednn", "reference"
  Offer (*offer)(const Request&);  // never throws; accepts, or declines with a reason
};

}  // namespace narrowgauge
