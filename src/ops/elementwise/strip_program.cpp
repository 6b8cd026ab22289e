// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/strip_program.h"

#include <algorithm>
#include <map>
#include <memory>

#include "base/enumerate.h"
#include "base/indexed_vector.h"
#include "base/machine/cpu.h"
#include "base/machine/stack_room.h"
#include "base/threads/parallel.h"
#include "ops/elementwise/strip_operand.h"

namespace narrowgauge {

namespace {

double value_when_absent(const Elementwise& op, int input) {
  return op.when_absent.at(static_cast<std::size_t>(input));
}

}  // namespace

int StripProgram::append(const Elementwise& op, const Attributes& attributes,
                         std::vector<int> registers, int& next) {
  const auto rest = registers.begin() + op.arity;
  instructions.push_back({&op, attributes, {registers.begin(), rest}, next});
  for (auto further = rest; further != registers.end(); ++further, ++next)
    instructions.push_back({&op, attributes, {next, *further}, next + 1});
  return next++;
}

StripProgram StripProgram::of_single(const Request& request) {
  const Elementwise& elementwise = *request.op.elementwise;
  StripProgram program;
  program.input_count = static_cast<int>(request.inputs.size());
  std::vector<int> registers;
  int next = program.input_count;
  for (int i = 0; i < std::max(elementwise.arity, program.input_count); ++i) {
    const bool given = i < program.input_count && request.input(i).present;
    registers.push_back(given ? i : next);
    if (given) continue;
    program.constants.push_back(value_when_absent(elementwise, i));
    ++next;
  }
  program.outputs = {program.append(elementwise, request.attributes, std::move(registers), next)};
  return program;
}

namespace {

int add_constant(StripProgram& program, double value) {
  program.constants.push_back(value);
  return program.input_count + static_cast<int>(program.constants.size()) - 1;
}

// Gives every value of the body a register; constants precede results, so they are counted first.
class BodyTranslator {
 public:
  BodyTranslator(const Graph& body, int given) : body_(body), given_(given) {
    program_.input_count = static_cast<int>(body.inputs().size());
    for (std::size_t i = 0; i < body.inputs().size(); ++i)
      registers_[body.inputs()[i]] = static_cast<int>(i);
    if (given >= 0) registers_[{given, 0}] = program_.input_count++;
  }

  StripProgram translate() {
    for (const Node& node : body_.nodes())
      if (!place_constants(node)) return std::move(program_);
    int next = program_.input_count + static_cast<int>(program_.constants.size());
    for (int i = 0; i < static_cast<int>(body_.nodes().size()); ++i)
      if (body_.node(i).op->elementwise) translate_node(i, next);
    for (const GraphOutput& output : body_.outputs())
      program_.outputs.push_back(registers_.at(output.value));
    return std::move(program_);
  }

 private:
  bool place_constants(const Node& node) {
    const int index = static_cast<int>(&node - body_.nodes().data());
    if (node.is<Input>() || index == given_) return true;
    if (node.is<Constant>()) {
      const Tensor& value = node.as<Constant>().value;
      if (value.size() != 1) return fail(node, "a constant of more than one element");
      registers_[{index, 0}] = add_constant(program_, value.at(0));
      return true;
    }
    if (!node.op->elementwise) return fail(node, "not elementwise");
    const Elementwise& elementwise = *node.op->elementwise;
    for (int i = 0; i < elementwise.arity; ++i)
      if (i >= std::ssize(node.inputs) || node.input(i).is_absent())
        absent_[{index, i}] = add_constant(program_, value_when_absent(elementwise, i));
    return true;
  }

  void translate_node(int index, int& next) {
    const Node& node = body_.node(index);
    std::vector<int> registers;
    for (int i = 0; i < std::max(node.op->elementwise->arity, static_cast<int>(node.inputs.size()));
         ++i) {
      const auto missing = absent_.find({index, i});
      registers.push_back(missing != absent_.end() ? missing->second
                                                   : registers_.at(node.input(i)));
    }
    registers_[{index, 0}] =
        program_.append(*node.op->elementwise, node.attributes, std::move(registers), next);
  }

  bool fail(const Node& node, std::string_view why) {
    program_.reason = concat("node '", node.full_name(), "' (", node.op->full_name(), ") is ", why);
    return false;
  }

  const Graph& body_;
  int given_;
  StripProgram program_;
  std::map<Value, int> registers_;
  std::map<std::pair<int, int>, int> absent_;
};

}  // namespace

StripProgram StripProgram::of_body(const Graph& body, int given) {
  StripProgram program = BodyTranslator(body, given).translate();
  program.takes_bytes = true;
  return program;
}

namespace {

constexpr std::int64_t strip = 512;  // values per register: 2 KiB, so that a chain stays in L1
constexpr std::int64_t piece = 16 * strip;
constexpr int most_registers = 32;

// Maps the program's registers to few buffers. A buffer is free after its last reader, except those
// of constants and of `kept` inputs, which are filled once a piece.
IndexedVector<int, int> assign_buffers(const StripProgram& program,
                                       const IndexedVector<int, bool>& kept, int& buffer_count) {
  const int loaded = program.input_count + static_cast<int>(program.constants.size());
  const int end = static_cast<int>(program.instructions.size());
  const int registers = loaded + end;
  IndexedVector<int, int> last_use(registers, -1), buffer(registers, -1);
  for (const auto& [i, instruction] : enumerate(program.instructions))
    for (const int r : instruction.inputs) last_use[r] = i;
  for (const int r : program.outputs) last_use[r] = end;
  std::vector<int> free;
  buffer_count = 0;
  const auto take = [&] {
    if (free.empty()) return buffer_count++;
    const int taken = free.back();
    free.pop_back();
    return taken;
  };
  for (int r = 0; r < loaded; ++r) buffer[r] = take();
  for (const auto& [i, instruction] : enumerate(program.instructions)) {
    buffer[instruction.output] = take();
    for (int r = 0; r < registers; ++r) {
      const bool stays = r < kept.size() ? kept[r] : r < loaded;
      if (!stays && last_use[r] == i && buffer[r] >= 0) free.push_back(buffer[r]);
    }
  }
  return buffer;
}

struct PreparedStrips {
  StripProgram program;
  IndexedVector<int, StripOperand> inputs;
  std::vector<StripOperand> outputs;
  IndexedVector<int, bool> input_present;
  IndexedVector<int, bool> input_kept;  // one value for all elements: loaded once a piece
  std::vector<bool> output_present;
  IndexedVector<int, int> buffer;  // per register
  std::int64_t total = 0;
  bool avx512 = false;
};

class PieceRunner {
 public:
  PieceRunner(const PreparedStrips& prepared, const KernelCall& call) : p_(prepared), call_(call) {
    registers_.reserve(static_cast<std::size_t>(p_.buffer.size()));
    for (int r = 0; r < p_.buffer.size(); ++r) registers_.push_back(buffer_of(r));
    for (std::size_t c = 0; c < p_.program.constants.size(); ++c) {
      float* registers = buffer_of(p_.program.input_count + static_cast<int>(c));
      std::fill_n(registers, strip, static_cast<float>(p_.program.constants[c]));
    }
    for (int i = 0; i < p_.inputs.size(); ++i)
      if (p_.input_kept[i]) load_input(i, 0, std::min(strip, p_.total));
  }

  void run(std::int64_t begin, std::int64_t end) {
    for (; begin < end; begin += strip) run_strip(begin, std::min(strip, end - begin));
    for (std::size_t i = 0; i < flushed_.size(); ++i)
      if (std::int64_t* total = call_.flushed_at(i); total && flushed_[i] != 0)
        __atomic_fetch_add(total, flushed_[i], __ATOMIC_RELAXED);
  }

 private:
  float* buffer_of(int r) { return buffers_ + strip * p_.buffer[r]; }
  const float*& at(int r) { return registers_[static_cast<std::size_t>(r)]; }

  void run_strip(std::int64_t begin, std::int64_t count) {
    for (int i = 0; i < p_.inputs.size(); ++i)
      if (p_.input_present[i] && !p_.input_kept[i]) load_input(i, begin, count);
    const std::int64_t padded = (count + 15) / 16 * 16;
    const float* in[8];
    for (const auto& instruction : p_.program.instructions) {
      for (std::size_t k = 0; k < instruction.inputs.size(); ++k) in[k] = at(instruction.inputs[k]);
      float* out = destination(instruction, begin, count);
      const auto function = p_.avx512 ? instruction.op->f32_avx512 : instruction.op->f32;
      function(instruction.attributes.get(), in, out, padded);
      at(instruction.output) = out;
    }
    for (std::size_t i = 0; i < p_.outputs.size(); ++i)
      if (p_.output_present[i])
        p_.outputs[i].store(at(p_.program.outputs[i]), call_.outputs[i].data, begin, count,
                            call_.flushed_at(i) ? &flushed_[i] : nullptr);
  }

  void load_input(int i, std::int64_t begin, std::int64_t count) {
    at(i) = p_.inputs[i].load(call_.input(i).data, begin, count, buffer_of(i));
  }

  // The last instruction may write directly to an f32 output. Earlier ones may not, since an output
  // may share memory with an input that is still to be read.
  float* destination(const StripProgram::Instruction& instruction, std::int64_t begin,
                     std::int64_t count) {
    const bool last = &instruction == &p_.program.instructions.back();
    if (last && p_.program.outputs.size() == 1 && p_.program.outputs[0] == instruction.output)
      if (float* direct = p_.outputs[0].direct(call_.outputs[0].data, begin, count)) return direct;
    return buffer_of(instruction.output);
  }

  const PreparedStrips& p_;
  const KernelCall& call_;
  StackRoom<1024> room_;
  std::pmr::vector<const float*> registers_{&room_};
  std::pmr::vector<std::int64_t> flushed_{p_.outputs.size(), &room_};
  alignas(64) float buffers_[most_registers * strip];
};

std::string prepare_operands(const Request& request, bool bytes, PreparedStrips& prepared) {
  std::string reason = check_strip_operands(request, bytes);
  if (!reason.empty()) return reason;
  const IterationSpace space(request);
  for (const Operand& input : request.inputs) {
    prepared.inputs.add(space.operand(input));
    prepared.input_present.add(input.present);
    prepared.input_kept.add(input.present && prepared.inputs.back().is_one_value());
  }
  for (const Operand& output : request.outputs) {
    prepared.outputs.push_back(space.operand(output));
    prepared.output_present.push_back(output.present);
  }
  prepared.total = space.total();
  return {};
}

}  // namespace

StripParts prepare_strips(const Request& request, StripProgram program) {
  StripParts parts;
  auto prepared = std::make_shared<PreparedStrips>();
  parts.reason = program.reason;
  if (parts.reason.empty())
    parts.reason = prepare_operands(request, program.takes_bytes, *prepared);
  if (!parts.reason.empty()) return parts;
  int buffers = 0;
  prepared->buffer = assign_buffers(program, prepared->input_kept, buffers);
  if (buffers > most_registers) {
    parts.reason = concat("needs ", buffers, " strip registers, has ", most_registers);
    return parts;
  }
  prepared->program = std::move(program);
  // The plan goes by the target; what runs, by this CPU too.
  const bool wide = request.target.isa >= Isa::avx512;
  prepared->avx512 = wide && isa() >= Isa::avx512;
  parts.total = prepared->total;
  parts.implementation = wide ? "strips:avx512" : "strips:avx2";
  parts.isa = wide ? Isa::avx512 : Isa::avx2;
  parts.run = [prepared](const KernelCall& call, std::int64_t begin, std::int64_t end) {
    PieceRunner(*prepared, call).run(begin, end);
  };
  return parts;
}

Offer offer_strip_program(const Request& request, StripProgram program) {
  StripParts parts = prepare_strips(request, std::move(program));
  if (!parts.reason.empty()) return Offer::decline(std::move(parts.reason));
  Offer offer;
  offer.implementation = std::move(parts.implementation);
  offer.facts.isa = parts.isa;
  offer.in_place = in_place_pairs(request);
  offer.run = [run = std::move(parts.run), total = parts.total](const KernelCall& call) {
    parallel_for(total, piece,
                 [&](std::int64_t begin, std::int64_t end) { run(call, begin, end); });
  };
  return offer;
}

}  // namespace narrowgauge
