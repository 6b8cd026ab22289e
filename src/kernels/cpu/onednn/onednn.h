// SPDX-License-Identifier: Apache-2.0
// oneDNN behind a light header: owning handles, errors as DeviceError, the ISA cap respected.
// Argument numbers are DNNL_ARG_*.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/cpu/core/view.h"

struct dnnl_engine;
struct dnnl_memory_desc;
struct dnnl_primitive;
struct dnnl_primitive_attr;
struct dnnl_primitive_desc;

namespace narrowgauge::cpu::onednn {

// Whether a call of oneDNN returned 0; std::bad_alloc where it lacked memory.
bool succeeds(int status);
// Throws DeviceError "<call>: <status>" unless a call succeeds.
void check(int status, const char* call);

struct Release {
  void operator()(dnnl_primitive_desc* description) const;
};
using PrimitiveDescription = std::unique_ptr<dnnl_primitive_desc, Release>;

// A memory format: strides, or one of oneDNN's own.
using Format = std::shared_ptr<const dnnl_memory_desc>;

Format strided_format(const View& view);            // f32, bf16, u8, i8 and i32
Format free_format(DType dtype, const Dims& dims);  // oneDNN's choice
bool same_format(const Format& a, const Format& b);
std::int64_t format_bytes(const Format& format);
std::string format_text(const Format& format);  // equal for equal formats alone

// The CPU engine, created under the cap of base/machine/cpu.h. Lives as long as the process.
dnnl_engine* engine();
const dnnl_primitive_attr* user_scratchpad();  // attributes: the scratchpad is the caller's

struct Argument {
  int number;
  void* data;
};

// oneDNN reports the kernel it chose, and its instructions, only as text.
std::string implementation_of(const PrimitiveDescription& description);  // "brgconv:avx512_core"
std::optional<Isa> isa_named_in(std::string_view implementation);

// Runs in the one thread that executes it; several threads may execute it at once. Its description
// must be made under OneOpenMpThread too.
class Primitive {
 public:
  // `arguments` are the numbers of the arguments it takes.
  Primitive(const PrimitiveDescription& description, std::span<const int> arguments);

  const std::string& implementation() const { return implementation_; }
  std::int64_t scratchpad_bytes() const { return scratchpad_ ? format_bytes(scratchpad_) : 0; }
  const Format& format(int argument) const;
  void execute(std::span<const Argument> arguments, void* scratchpad) const;

 private:
  class Memories;
  struct Idle;
  struct Port {
    int number;
    Format format;
  };

  std::unique_ptr<Memories> take_memories() const;

  std::shared_ptr<dnnl_primitive> primitive_;
  std::string implementation_;
  std::vector<Port> ports_;
  Format scratchpad_;  // empty when none is needed
  std::shared_ptr<Idle> idle_;
};

}  // namespace narrowgauge::cpu::onednn
