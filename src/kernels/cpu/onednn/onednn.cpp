// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/onednn/onednn.h"

#include <oneapi/dnnl/dnnl.h>
#include <oneapi/dnnl/dnnl_debug.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

#include "base/machine/cpu.h"
#include "base/machine/openmp.h"
#include "base/unloading.h"
#include "kernels/cpu/onednn/keep_statics.h"
#include "narrowgauge/error.h"

namespace narrowgauge::cpu::onednn {
namespace {

dnnl_data_type_t data_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return dnnl_f32;
    case DType::bf16:
      return dnnl_bf16;
    case DType::u8:
      return dnnl_u8;
    case DType::i8:
      return dnnl_s8;
    case DType::i32:
      return dnnl_s32;
    default:
      NG_INVARIANT(false);
      return dnnl_data_type_undef;
  }
}

Format own(dnnl_memory_desc_t format) {
  return Format(format, [](dnnl_memory_desc_t held) { dnnl_memory_desc_destroy(held); });
}

Format copy_of(const_dnnl_memory_desc_t format) {
  dnnl_memory_desc_t copy = nullptr;
  check(dnnl_memory_desc_clone(&copy, format), "dnnl_memory_desc_clone");
  return own(copy);
}

dnnl_cpu_isa_t library_isa(Isa isa) {
  switch (isa) {
    case Isa::avx2:
      return dnnl_cpu_isa_avx2;
    case Isa::avx512:
      return dnnl_cpu_isa_avx512_core;
    case Isa::vnni:
      return dnnl_cpu_isa_avx512_core_vnni;
    case Isa::bf16:
      return dnnl_cpu_isa_avx512_core_bf16;
    case Isa::amx:
      return dnnl_cpu_isa_default;
  }
  NG_INVARIANT(false);
  return dnnl_cpu_isa_default;
}

// oneDNN accepts a cap only before its first use, which the host program may have made already.
void cap_isa() {
  if (isa() == Isa::amx) return;
  const dnnl_cpu_isa_t wanted = library_isa(isa());
  if (dnnl_set_max_cpu_isa(wanted) == dnnl_success) return;
  const dnnl_cpu_isa_t effective = dnnl_get_effective_cpu_isa();
  require<DeviceError>((effective & ~wanted) == 0 || isa() == detected_isa(),
                       "dnnl_set_max_cpu_isa: oneDNN is in use without the cap ", name(isa()),
                       "; set ONEDNN_MAX_CPU_ISA too");
}

}  // namespace

bool succeeds(int status) {
  if (status == dnnl_out_of_memory) throw std::bad_alloc();
  return status == dnnl_success;
}

void check(int status, const char* call) {
  require<DeviceError>(succeeds(status), call, ": ",
                       dnnl_status2str(static_cast<dnnl_status_t>(status)));
}

void Release::operator()(dnnl_primitive_desc* description) const {
  dnnl_primitive_desc_destroy(description);
}

Format strided_format(const View& view) {
  dnnl_memory_desc_t format = nullptr;
  check(dnnl_memory_desc_create_with_strides(&format, static_cast<int>(view.dims.size()),
                                             view.dims.data(), data_type(view.dtype),
                                             view.strides.data()),
        "dnnl_memory_desc_create_with_strides");
  return own(format);
}

Format free_format(DType dtype, const Dims& dims) {
  dnnl_memory_desc_t format = nullptr;
  check(dnnl_memory_desc_create_with_tag(&format, static_cast<int>(dims.size()), dims.data(),
                                         data_type(dtype), dnnl_format_tag_any),
        "dnnl_memory_desc_create_with_tag");
  return own(format);
}

bool same_format(const Format& a, const Format& b) {
  return dnnl_memory_desc_equal(a.get(), b.get()) != 0;
}

std::int64_t format_bytes(const Format& format) {
  return static_cast<std::int64_t>(dnnl_memory_desc_get_size(format.get()));
}

std::string format_text(const Format& format) {
  const auto number = [&](dnnl_query_t what) {
    int value = 0;
    check(dnnl_memory_desc_query(format.get(), what, &value), "dnnl_memory_desc_query");
    return value;
  };
  const auto list = [&](dnnl_query_t what, int count) {
    const std::int64_t* values = nullptr;
    check(dnnl_memory_desc_query(format.get(), what, &values), "dnnl_memory_desc_query");
    std::string text;
    for (int i = 0; i < count; ++i) text += concat(i == 0 ? " " : ",", values[i]);
    return text;
  };
  const int axes = number(dnnl_query_ndims_s32);
  dnnl_data_type_t type = dnnl_data_type_undef;
  check(dnnl_memory_desc_query(format.get(), dnnl_query_data_type, &type),
        "dnnl_memory_desc_query");
  const int blocks = number(dnnl_query_inner_nblks_s32);
  return concat(dnnl_dt2str(type), list(dnnl_query_dims, axes), list(dnnl_query_padded_dims, axes),
                list(dnnl_query_strides, axes), list(dnnl_query_inner_blks, blocks),
                list(dnnl_query_inner_idxs, blocks));
}

dnnl_engine* engine() {
  struct Destroy {
    void operator()(dnnl_engine_t engine) const { dnnl_engine_destroy(engine); }
  };
  using Owner = std::unique_ptr<dnnl_engine, Destroy>;
  static const auto& created = immortal<Owner>([] {
    keep_statics();
    cap_isa();
    dnnl_engine_t engine = nullptr;
    check(dnnl_engine_create(&engine, dnnl_cpu, 0), "dnnl_engine_create");
    return Owner(engine);
  }());
  return created.get();
}

const dnnl_primitive_attr* user_scratchpad() {
  struct Destroy {
    void operator()(dnnl_primitive_attr_t held) const { dnnl_primitive_attr_destroy(held); }
  };
  using Owner = std::unique_ptr<dnnl_primitive_attr, Destroy>;
  static const auto& created = immortal<Owner>([] {
    dnnl_primitive_attr_t attributes = nullptr;
    check(dnnl_primitive_attr_create(&attributes), "dnnl_primitive_attr_create");
    Owner owner(attributes);
    check(dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user),
          "dnnl_primitive_attr_set_scratchpad_mode");
    return owner;
  }());
  return created.get();
}

std::string implementation_of(const PrimitiveDescription& description) {
  const char* text = nullptr;
  check(dnnl_primitive_desc_query(description.get(), dnnl_query_impl_info_str, 0,
                                  static_cast<void*>(&text)),
        "dnnl_primitive_desc_query");
  return text;
}

std::optional<Isa> isa_named_in(std::string_view implementation) {
  constexpr std::pair<std::string_view, Isa> words[] = {{"amx", Isa::amx},
                                                        {"avx512_core_bf16", Isa::bf16},
                                                        {"vnni", Isa::vnni},
                                                        {"avx512", Isa::avx512},
                                                        {"avx2", Isa::avx2}};
  for (const auto& [word, isa] : words)
    if (implementation.find(word) != std::string_view::npos) return isa;
  return std::nullopt;
}

// One memory object for each port and the scratchpad, and the stream that an execution names: they
// take longer to make than a small primitive to run, so that those of an earlier execution are used
// again.
class Primitive::Memories {
 public:
  Memories() {
    check(dnnl_stream_create(&stream_, engine(), dnnl_stream_default_flags), "dnnl_stream_create");
  }
  Memories(const Memories&) = delete;
  Memories& operator=(const Memories&) = delete;
  ~Memories() {
    for (const dnnl_exec_arg_t& argument : arguments_) dnnl_memory_destroy(argument.memory);
    dnnl_stream_destroy(stream_);
  }

  void add(int number, const Format& format) {
    dnnl_memory_t memory = nullptr;
    arguments_.push_back({number, nullptr});  // first, so that nothing is lost where it fails
    check(dnnl_memory_create(&memory, format.get(), engine(), DNNL_MEMORY_NONE),
          "dnnl_memory_create");
    arguments_.back() = {number, memory};
  }
  void set(int number, void* data) {
    const auto at = std::ranges::find(arguments_, number, &dnnl_exec_arg_t::arg);
    NG_INVARIANT(at != arguments_.end());
    check(dnnl_memory_set_data_handle(at->memory, data), "dnnl_memory_set_data_handle");
  }
  std::span<const dnnl_exec_arg_t> arguments() const { return arguments_; }
  dnnl_stream_t stream() const { return stream_; }

 private:
  std::vector<dnnl_exec_arg_t> arguments_;
  dnnl_stream_t stream_ = nullptr;
};

// The memories that no execution uses now.
struct Primitive::Idle {
  std::mutex mutex;
  std::vector<std::unique_ptr<Memories>> memories;
};

Primitive::Primitive(const PrimitiveDescription& description, std::span<const int> arguments)
    : idle_(std::make_shared<Idle>()) {
  const InUse in_use;
  const OneOpenMpThread one_thread;
  implementation_ = implementation_of(description);
  for (const int number : arguments)
    ports_.push_back({number, copy_of(dnnl_primitive_desc_query_md(
                                  description.get(), dnnl_query_exec_arg_md, number))});
  scratchpad_ =
      copy_of(dnnl_primitive_desc_query_md(description.get(), dnnl_query_scratchpad_md, 0));
  if (format_bytes(scratchpad_) == 0) scratchpad_.reset();
  dnnl_primitive_t primitive = nullptr;
  check(dnnl_primitive_create(&primitive, description.get()), "dnnl_primitive_create");
  primitive_ = std::shared_ptr<dnnl_primitive>(primitive, [](dnnl_primitive_t held) {
    const InUse destroying;
    dnnl_primitive_destroy(held);
  });
}

const Format& Primitive::format(int argument) const {
  const auto port = std::find_if(ports_.begin(), ports_.end(),
                                 [&](const Port& each) { return each.number == argument; });
  NG_INVARIANT(port != ports_.end());
  return port->format;
}

std::unique_ptr<Primitive::Memories> Primitive::take_memories() const {
  {
    const std::lock_guard lock(idle_->mutex);
    if (!idle_->memories.empty()) {
      auto taken = std::move(idle_->memories.back());
      idle_->memories.pop_back();
      return taken;
    }
  }
  auto memories = std::make_unique<Memories>();
  for (const Port& port : ports_) memories->add(port.number, port.format);
  if (scratchpad_) memories->add(DNNL_ARG_SCRATCHPAD, scratchpad_);
  return memories;
}

void Primitive::execute(std::span<const Argument> arguments, void* scratchpad) const {
  const InUse in_use;
  std::unique_ptr<Memories> memories = take_memories();
  for (const Argument& argument : arguments) memories->set(argument.number, argument.data);
  if (scratchpad_) memories->set(DNNL_ARG_SCRATCHPAD, scratchpad);
  const OneOpenMpThread one_thread;
  const dnnl_stream_t stream = memories->stream();
  check(dnnl_primitive_execute(primitive_.get(), stream,
                               static_cast<int>(memories->arguments().size()),
                               memories->arguments().data()),
        "dnnl_primitive_execute");
  check(dnnl_stream_wait(stream), "dnnl_stream_wait");
  const std::lock_guard lock(idle_->mutex);
  idle_->memories.push_back(std::move(memories));
}

}  // namespace narrowgauge::cpu::onednn
