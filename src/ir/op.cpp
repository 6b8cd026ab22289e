// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "ir/ports.h"
#include "narrowgauge/graph.h"
#include "narrowgauge/op_record.h"

namespace narrowgauge {

std::string_view name(PrecisionClass precision) {
  constexpr std::array<std::string_view, 5> names{"unlisted", "allow", "infer", "clear", "deny"};
  return names.at(static_cast<std::size_t>(precision));
}

std::string OpRecord::full_name() const {
  return info.domain.empty() ? std::string(info.name) : concat(info.domain, '.', info.name);
}

namespace {

const Port& port_at(const std::vector<Port>& ports, int index, const OpRecord& op) {
  const auto place = static_cast<std::size_t>(index);
  if (place < ports.size()) return ports[place];
  require<InternalError>(!ports.empty() && ports.back().variadic, op.full_name(), ": has no port ",
                         index);
  return ports.back();
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

Port parse_port(std::string_view text) {
  const std::size_t colon = text.find(':');
  require<InternalError>(colon != std::string_view::npos, "port '", text, "' has no type");
  std::string_view port_name = trim(text.substr(0, colon));
  std::string_view type = trim(text.substr(colon + 1));
  Port port;
  if (port_name.ends_with('?')) port.optional = true;
  if (port_name.ends_with('*')) port.variadic = true;
  if (port.optional || port.variadic) port_name.remove_suffix(1);
  if (type.starts_with("any")) port.format = PortFormat::as_it_comes;
  constexpr std::string_view marks = "!~^";
  for (; !type.empty() && marks.find(type.back()) != marks.npos; type.remove_suffix(1)) {
    if (type.back() == '!') port.differentiable = false;
    if (type.back() == '~') port.plain = true;
    if (type.back() == '^') port.format = PortFormat::as_it_comes;
  }
  if (type == "T") port.format = PortFormat::chosen;
  port.name = port_name;
  port.type = type;
  return port;
}

}  // namespace

void Attributes::refuse_empty() {
  throw UsageError("attributes: hold no op, as none was given or they were moved from");
}

const Port& OpRecord::input_port(int index) const { return port_at(inputs, index, *this); }
const Port& OpRecord::output_port(int index) const { return port_at(outputs, index, *this); }

std::vector<Port> parse_ports(std::string_view text) {
  std::vector<Port> ports;
  while (!trim(text).empty()) {
    const std::size_t comma = text.find(',');
    ports.push_back(parse_port(text.substr(0, comma)));
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  }
  return ports;
}

bool is_type_variable(std::string_view type) {
  return !type.empty() && type[0] >= 'A' && type[0] <= 'Z';
}

namespace {

bool class_contains(std::string_view type_class, DType dtype) {
  if (type_class == "float") return is_floating(dtype) && !is_storage_only(dtype);
  if (type_class == "wide") return dtype == DType::f32 || dtype == DType::f64;
  if (type_class == "integer") return is_integer(dtype);
  if (type_class == "number") return class_contains("float", dtype) || is_integer(dtype);
  if (type_class == "unsigned") return is_unsigned(dtype);
  if (type_class == "byte") return dtype == DType::u8 || dtype == DType::i8;
  if (type_class == "index") return dtype == DType::i64 || dtype == DType::i32;
  throw InternalError(concat("unknown class of types '", type_class, "'"));
}

}  // namespace

std::string_view class_of_variable(const OpRecord& op, std::string_view variable) {
  std::string_view text = op.info.types;
  while (!trim(text).empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view entry = trim(text.substr(0, comma));
    const std::size_t colon = entry.find(':');
    if (entry.substr(0, colon) == variable) return entry.substr(colon + 1);
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  }
  return {};
}

bool port_accepts(const OpRecord& op, const Port& port, DType dtype) {
  if (port.type == "any") return true;
  if (!is_type_variable(port.type)) return name(dtype) == port.type;
  const std::string_view type_class = class_of_variable(op, port.type);
  return type_class.empty() || class_contains(type_class, dtype);
}

namespace {

void check_dtype(const OpRecord& op, const Port& port, DType dtype,
                 std::vector<std::pair<std::string, DType>>& variables) {
  if (!is_type_variable(port.type)) {
    require(port_accepts(op, port, dtype), op.full_name(), ": input '", port.name, "' must be ",
            port.type, ", got ", dtype);
    return;
  }
  require(port_accepts(op, port, dtype), op.full_name(), ": input '", port.name, "' must be of a ",
          class_of_variable(op, port.type), " type, got ", dtype);
  for (const auto& [variable, bound] : variables)
    if (variable == port.type)
      require(bound == dtype, op.full_name(), ": input '", port.name, "' must be ", bound,
              " like the others, got ", dtype);
  variables.emplace_back(port.type, dtype);
}

}  // namespace

void check_inputs(const OpRecord& op, const Inference& in) {
  const std::size_t declared = op.inputs.size();
  const bool variadic = declared > 0 && op.inputs.back().variadic;
  require(variadic || in.count() <= std::ssize(op.inputs), op.full_name(), ": takes at most ",
          declared, " inputs, got ", in.count());
  std::vector<std::pair<std::string, DType>> variables;
  for (int i = 0; i < std::max(in.count(), static_cast<int>(declared)); ++i) {
    const Port& port = op.input_port(i);
    if (in.has(i)) {
      check_dtype(op, port, in.dtype(i), variables);
    } else {
      const bool ended = port.variadic && i >= in.count();
      require(port.optional || ended, op.full_name(), ": input ", i, " '", port.name,
              "' is missing");
    }
  }
}

Inference::Inference(const OpRecord& op, std::vector<std::optional<TensorType>> types,
                     std::vector<const Tensor*> constants, std::vector<const Shape*> numbers)
    : op_(op),
      types_(std::move(types)),
      constants_(std::move(constants)),
      numbers_(std::move(numbers)) {}

bool Inference::has(int input) const {
  return input < count() && types_[static_cast<std::size_t>(input)].has_value();
}

const TensorType& Inference::type(int input) const {
  require(has(input), op_.full_name(), ": input ", input, " is missing");
  return *types_[static_cast<std::size_t>(input)];
}

const Tensor* Inference::constant(int input) const {
  return input < count() ? constants_[static_cast<std::size_t>(input)] : nullptr;
}

const Tensor& Inference::known(int input, std::string_view port) const {
  const Tensor* const value = constant(input);
  require<UnknownValueError>(value, op_name(), ": ", port, " must be constant");
  return *value;
}

const Shape* Inference::numbers(int input) const {
  return input < std::ssize(numbers_) ? numbers_[static_cast<std::size_t>(input)] : nullptr;
}

std::string_view Inference::op_name() const { return op_.info.name; }

const TensorType& Rewriting::type(Value value) const { return graph_.type(value); }

Value Rewriting::constant(Tensor tensor) { return graph_.constant(std::move(tensor)); }

Value Rewriting::scalar(double value, DType dtype) {
  return constant(Tensor::scalar(dtype, value));
}

}  // namespace narrowgauge
