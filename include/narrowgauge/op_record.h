// SPDX-License-Identifier: Apache-2.0
// What an op is: a struct whose members are its attributes and whose functions are its behaviour.
// The concept Op says what is missing; record_of<T>() is the type-erased form that passes see. A
// source that defines an op includes op.h, which makes the record.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "narrowgauge/kernel.h"
#include "narrowgauge/tensor.h"

namespace narrowgauge {

class Graph;
using Region = std::shared_ptr<const Graph>;  // a closed graph inside an op

// An output of a node. node == -1 stands for an absent optional input.
struct Value {
  int node = -1;   // its place in the graph
  int output = 0;  // which of the outputs of the node
  // Of the graph that gave it out, which every other graph refuses; 0: of whichever it is used in.
  std::uint32_t graph = 0;
  bool is_absent() const { return node < 0; }            // an optional input that is not given
  constexpr bool operator==(const Value& other) const {  // within one graph
    return node == other.node && output == other.output;
  }
  constexpr std::strong_ordering operator<=>(const Value& other) const {  // by node, then by output
    return node == other.node ? output <=> other.output : node <=> other.node;
  }
};
using Values = std::vector<Value>;  // of one graph
inline constexpr Value absent{};    // an optional input that is not given

// How automatic mixed precision treats an op, as TensorFlow's pass defines it. `unlisted` stays in
// f32 and stops colours from passing through.
enum class PrecisionClass : std::uint8_t { unlisted, allow, infer, clear, deny };
NG_API std::string_view name(PrecisionClass precision);  // "allow", "infer", ...

// The precision class of the type variable T for each narrow format.
struct Precision {
  PrecisionClass f16 = PrecisionClass::unlisted;   // when f16 is asked for
  PrecisionClass bf16 = PrecisionClass::unlisted;  // when bf16 is asked for
};
inline constexpr Precision allow{PrecisionClass::allow, PrecisionClass::allow};  // always narrow
// Narrow behind what is narrow.
inline constexpr Precision infer{PrecisionClass::infer, PrecisionClass::infer};
// As its neighbours.
inline constexpr Precision clear{PrecisionClass::clear, PrecisionClass::clear};
inline constexpr Precision deny{PrecisionClass::deny, PrecisionClass::deny};  // always in f32
// F16 has too small a range for it.
inline constexpr Precision deny_f16{PrecisionClass::deny, PrecisionClass::infer};

// How an op takes part in a fused group.
enum class Fusion : std::uint8_t { opaque, elementwise, reduction, contraction, view };

// The first stage of compilation at which an op is legal; see verify() in graph.h.
enum class Stage : std::uint8_t { built, trained, precise, fused, laid_out };

// The facts about an op that passes go by.
struct OpInfo {
  std::string_view name;         // ONNX's where ONNX has the op
  std::string_view domain = "";  // "" is ONNX's own, "ng" is ours
  // Ports: "x:T, w:T~, bias?:f32, rest*:T". `?` optional, `*` variadic (last). After the type: `!`
  // no gradient flows, `~` always lies plain (weights: not an activation whose layout may change),
  // `^` takes the value in the format it comes in. A type is a variable (T, U, ...) or a dtype, or
  // `any`. The format of T is what a precision plan chooses for the node.
  std::string_view inputs;
  std::string_view outputs;        // as the inputs
  std::string_view types = "";     // what variables may be: "T:float, I:integer"; else any dtype
  Precision precision{};           // of the variable T
  Fusion fusion = Fusion::opaque;  // how it takes part in a group
  bool commutative = false;        // its inputs may be exchanged
  bool random = false;             // depends on (seed, step, node name) as well as on its inputs
  Stage stage = Stage::built;      // the first at which it is legal
};

// What a precision plan does with a port's format: chooses it, keeps it, or lets it follow the
// value that comes in.
enum class PortFormat : std::uint8_t { kept, chosen, as_it_comes };

// An input or output of an op, from the text in OpInfo.
struct Port {
  std::string name, type;                     // of the port; variable, dtype or `any`
  bool optional = false, variadic = false;    // `?`; `*`
  bool differentiable = true, plain = false;  // unless `!`; `~`
  PortFormat format = PortFormat::kept;       // what a precision plan does with it
};

// Walks over the attributes of an op, by name: printing, parsing, hashing, comparing, ONNX.
class NG_API AttributeVisitor {
 public:
  virtual ~AttributeVisitor() = default;
  // One call for each attribute, in a fixed order.
  virtual void operator()(std::string_view name, bool& value) = 0;
  virtual void operator()(std::string_view name, std::int64_t& value) = 0;  // a whole number
  virtual void operator()(std::string_view name, double& value) = 0;        // a real number
  virtual void operator()(std::string_view name, std::string& value) = 0;   // a text
  virtual void operator()(std::string_view name, DType& value) = 0;         // a number format
  virtual void operator()(std::string_view name, Dims& value) = 0;        // a list of whole numbers
  virtual void operator()(std::string_view name, Shape& value) = 0;       // a list of dimensions
  virtual void operator()(std::string_view name, TensorType& value) = 0;  // a dtype with a shape
  virtual void operator()(std::string_view name, Tensor& value) = 0;      // an array
  virtual void operator()(std::string_view name, Region& value) = 0;      // a graph
};

// The attributes of one node: an immutable, shared op struct, read by any number of threads.
class NG_API Attributes {
 public:
  Attributes() = default;
  // Holds a copy of the op.
  template <class T>
  static Attributes of(T op) {
    Attributes result;
    result.object_ = std::make_shared<T>(std::move(op));
    return result;
  }
  // The op; T is what of() was given. Throws UsageError where none was, or where it was moved from.
  template <class T>
  const T& as() const {
    if (!object_) [[unlikely]]
      refuse_empty();
    return *static_cast<const T*>(object_.get());
  }
  const void* get() const { return object_.get(); }  // the op, for the functions of OpRecord
  void* mutate() { return object_.get(); }           // only on a fresh clone

 private:
  [[noreturn]] static void refuse_empty();
  std::shared_ptr<void> object_;
};

template <class T>
const T& Request::as() const {
  return attributes.as<T>();
}

// The type of an output depends on the value of an input, which is not known yet.
struct NG_API UnknownValueError : UsageError {
  using UsageError::UsageError;
};

// What infer() sees: types of the inputs, and the values of constant ones.
class NG_API Inference {
 public:
  // One entry for each input that the node has: nothing where it is absent, nullptr where the value
  // is not known. `numbers`, which may be left out, as numbers() gives them.
  Inference(const OpRecord& op, std::vector<std::optional<TensorType>> types,
            std::vector<const Tensor*> constants, std::vector<const Shape*> numbers = {});
  // Inputs of the node, absent ones too.
  int count() const { return static_cast<int>(types_.size()); }
  bool has(int input) const;                // whether it is given
  const TensorType& type(int input) const;  // throws UsageError when absent
  const Shape& shape(int input) const { return type(input).shape; }  // as type()
  DType dtype(int input) const { return type(input).dtype; }         // as type()
  // Number of dimensions, as type().
  int rank(int input) const { return static_cast<int>(shape(input).size()); }
  const Tensor* constant(int input) const;  // nullptr when not known
  // The value of an input that must be known. UnknownValueError naming the port, if it is not.
  const Tensor& known(int input, std::string_view port) const;
  // The value of a scalar or a list of whole numbers, which may hold symbols although it is no
  // constant: what Shape makes of [N,3,H,W]. nullptr when not known.
  const Shape* numbers(int input) const;
  const OpRecord& op() const { return op_; }  // of the node
  std::string_view op_name() const;           // for messages

 private:
  const OpRecord& op_;
  std::vector<std::optional<TensorType>> types_;
  std::vector<const Tensor*> constants_;
  std::vector<const Shape*> numbers_;
};

// Builds nodes on behalf of one node: its inputs, its outputs, and add().
class NG_API Rewriting {
 public:
  // Adds to `graph`. The outputs are those of the node where it was computed already.
  Rewriting(Graph& graph, Values inputs, Values outputs)
      : graph_(graph), inputs_(std::move(inputs)), outputs_(std::move(outputs)) {}
  Graph& graph() { return graph_; }  // what nodes are added to
  // Of the node, absent ones too.
  int input_count() const { return static_cast<int>(inputs_.size()); }
  // Whether the input is given.
  bool has_input(int i) const { return !input(i).is_absent(); }
  // Absent where it is not given.
  Value input(int i) const {
    return i < input_count() ? inputs_[static_cast<std::size_t>(i)] : absent;
  }
  // One absent value for each input, where gradient() puts those it has.
  Values absent_inputs() const { return Values(inputs_.size()); }
  Value output(int i = 0) const { return outputs_.at(static_cast<std::size_t>(i)); }  // of the node
  const TensorType& type(Value value) const;                           // of a value of the graph
  const Shape& shape(Value value) const { return type(value).shape; }  // of a value of the graph
  template <class T>
  Value add(T op, Values inputs);  // the first output; the others are Value{result.node, i}
  Value scalar(double value, DType dtype);  // a constant without dimensions
  Value constant(Tensor tensor);            // its value is known to passes

 private:
  Graph& graph_;
  Values inputs_, outputs_;
};

// What gradient() sees. gradient() returns one value per input, absent where there is none or none
// was asked for.
class NG_API Gradient : public Rewriting {
 public:
  // What differentiate() calls; the pass differentiate gives it.
  using RegionGradient = Region (*)(const Region& body, std::span<const int> outputs,
                                    std::span<const int> inputs);
  // `wanted` says for each input whether its gradient is asked for.
  Gradient(Graph& graph, Values inputs, Values outputs, Values output_gradients,
           std::vector<bool> wanted, RegionGradient region_gradient)
      : Rewriting(graph, std::move(inputs), std::move(outputs)),
        output_gradients_(std::move(output_gradients)),
        wanted_(std::move(wanted)),
        region_gradient_(region_gradient) {}
  // Whether the gradient of this input is asked for.
  bool wants(int input) const {
    const auto place = static_cast<std::size_t>(input);
    return place < wanted_.size() && wanted_[place];
  }
  // Whether anything flows back to it.
  bool has_output_gradient(int i = 0) const { return !output_gradient(i).is_absent(); }
  // Absent where nothing flows back; gradient() is called only if some output has a gradient.
  Value output_gradient(int i = 0) const {
    return output_gradients_.at(static_cast<std::size_t>(i));
  }
  // The body's backward graph: inputs are the body's own inputs followed by gradients of
  // `outputs`; outputs are gradients of `inputs`. For If, Loop and Scan.
  Region differentiate(const Region& body, std::span<const int> outputs,
                       std::span<const int> inputs) const {
    return region_gradient_(body, outputs, inputs);
  }

 private:
  Values output_gradients_;
  std::vector<bool> wanted_;
  RegionGradient region_gradient_;
};

// How the ends of one region connect to the ports of its node: what passes need to see through If,
// Loop and Scan. Connected values have one dtype; their shapes may differ (Scan's slices).
struct RegionPorts {
  std::vector<int> inputs;   // of the node, one for each input of the body; -1: the op makes it
  std::vector<int> outputs;  // of the node, one for each output of the body; -1: none
  std::vector<int> next;  // of the body: the input that each output is in the next round; -1: none
};

// Strip functions of an elementwise op: out[i] = formula(in[0][i], ...), count a multiple of 16.
struct Elementwise {
  int arity = 0;                    // inputs of the formula
  bool folds = false;               // variadic: formula(formula(in[0], in[1]), in[2]), ...
  std::string_view text;            // the formula, for fusion reports and code generators
  std::string_view arguments;       // its argument list
  std::vector<double> when_absent;  // values of inputs that are not given
  // Strips of f32, with AVX2.
  void (*f32)(const void* op, const float* const* in, float* out, std::int64_t count) = nullptr;
  // The same with AVX-512; nullptr: not compiled.
  void (*f32_avx512)(const void* op, const float* const* in, float* out,
                     std::int64_t count) = nullptr;
  // The reference.
  void (*f64)(const void* op, const double* const* in, double* out, std::int64_t count) = nullptr;
  // Of integers, whose results are cut to the bits of their dtype; nullptr: not defined on them.
  void (*whole)(const void* op, const WideInteger* const* in, WideInteger* out,
                std::int64_t count) = nullptr;
};

// What a struct must have to be an op.
template <class T>
concept Op = requires(const T op, const Inference& in, AttributeVisitor& visitor, T& self) {
  { T::info } -> std::convertible_to<OpInfo>;
  { op.infer(in) } -> std::same_as<TensorTypes>;
  { T::kernels() } -> std::same_as<std::span<const Kernel>>;
  T::attributes(self, visitor);
};
// An op that tells its first output, a scalar or a list of whole numbers, where those of its inputs
// suffice.
template <class T>
concept NumbersOp = requires(const T op, const Inference& in) {
  { op.numbers(in) } -> std::same_as<std::optional<Shape>>;
};
// An op with a gradient: one value for each input, absent where there is none.
template <class T>
concept DifferentiableOp = requires(const T op, Gradient& g) {
  { op.gradient(g) } -> std::same_as<Values>;
};
// An op that says how simpler ops compute it: one value for each output.
template <class T>
concept CompositeOp = requires(const T op, Rewriting& r) {
  { op.decompose(r) } -> std::same_as<Values>;
};
// An op that counts its multiplications and additions, from the types of inputs and outputs.
template <class T>
concept CountedOp = requires(const T op, std::span<const TensorType> t) {
  { op.flops(t, t) } -> std::same_as<double>;
};
// An op that says how the ends of its regions connect to its ports.
template <class T>
concept RegionOp = requires(const T op, int inputs) {
  { op.region_ports(inputs) } -> std::same_as<std::vector<RegionPorts>>;  // one for each region
};
// An op with one formula for each element.
template <class T>
concept ElementwiseOp = requires {
  { T::elementwise() } -> std::same_as<Elementwise>;
};

// The type-erased op.
struct NG_API OpRecord {
  OpInfo info;                                       // as the op states them
  std::vector<Port> inputs, outputs;                 // parsed from the info
  std::span<const Kernel> (*kernels)() = nullptr;    // fastest first, the reference last
  Attributes (*make_default)() = nullptr;            // every attribute as the op initializes it
  Attributes (*clone)(const Attributes&) = nullptr;  // a copy of its own
  // Calls the visitor for each attribute.
  void (*visit)(void* attributes, AttributeVisitor& visitor) = nullptr;
  TensorTypes (*infer)(const void* attributes, const Inference&) = nullptr;  // throws UsageError
  // nullptr: it never tells.
  std::optional<Shape> (*numbers)(const void* attributes, const Inference&) = nullptr;
  Values (*gradient)(const void* attributes, Gradient&) = nullptr;    // nullptr: none
  Values (*decompose)(const void* attributes, Rewriting&) = nullptr;  // nullptr: none
  double (*flops)(const void* attributes, std::span<const TensorType> inputs,
                  std::span<const TensorType> outputs) = nullptr;  // nullptr: none
  // The region ports of a node with so many inputs; nullptr: its regions are closed to passes.
  std::vector<RegionPorts> (*region_ports)(const void* attributes, int inputs) = nullptr;
  std::optional<Elementwise> elementwise;  // nothing: it has no formula

  std::string full_name() const;             // "Conv", "ng.Fused"
  const Port& input_port(int index) const;   // the last variadic port serves all after it
  const Port& output_port(int index) const;  // as input_port()
};

// "x:T, b?:f32" as ports; throws InternalError when malformed.
NG_API std::vector<Port> parse_ports(std::string_view text);

// The record of T, made on first use. Its definition is in op.h, for sources that define T: all
// others take theirs. Two libraries may have one each: compare names.
template <Op T>
const OpRecord& record_of();

}  // namespace narrowgauge
