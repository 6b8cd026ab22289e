// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/onednn/keep_statics.h"

#include <dlfcn.h>
#include <link.h>
#include <oneapi/dnnl/dnnl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/unloading.h"

namespace narrowgauge::cpu::onednn {
namespace {

using AtExit = int (*)(void (*destroy)(void*), void* object, void* library);

struct Destruction {
  void (*destroy)(void*);
  void* object;
  void* library;
};

struct Destructions final : UnloadStep {
  void unload(bool program_ends) override;

  std::mutex mutex;
  std::vector<Destruction> wanted;    // in the order of construction
  const link_map* library = nullptr;  // oneDNN's
  void** entry = nullptr;             // in its table, and what stood there
  AtExit libc = nullptr;
};

Destructions& destructions() {
  static auto& kept = *new Destructions;
  return kept;
}

// What oneDNN's library calls in the place of __cxa_atexit.
int keep(void (*destroy)(void*), void* object, void* library) {
  Destructions& all = destructions();
  const std::lock_guard lock(all.mutex);
  all.wanted.push_back({destroy, object, library});
  return 0;
}

// The tables by which the loader has bound a library, as in the System V ABI for x86-64.
struct Dynamic {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  std::span<const ElfW(Rela)> calls;
};

Dynamic dynamic_of(const link_map& library) {
  Dynamic dynamic;
  const ElfW(Rela)* calls = nullptr;
  std::size_t bytes = 0;
  for (const ElfW(Dyn)* entry = library.l_ld; entry->d_tag != DT_NULL; ++entry) {
    // The loader has moved addresses to where the library lies, on most systems.
    const auto told = entry->d_un.d_ptr;
    const auto address = told < library.l_addr ? told + library.l_addr : told;
    if (entry->d_tag == DT_SYMTAB) dynamic.symbols = reinterpret_cast<const ElfW(Sym)*>(address);
    if (entry->d_tag == DT_STRTAB) dynamic.names = reinterpret_cast<const char*>(address);
    if (entry->d_tag == DT_JMPREL) calls = reinterpret_cast<const ElfW(Rela)*>(address);
    if (entry->d_tag == DT_PLTRELSZ) bytes = entry->d_un.d_val;
  }
  if (dynamic.symbols && dynamic.names && calls)
    dynamic.calls = {calls, bytes / sizeof(ElfW(Rela))};
  return dynamic;
}

// Where the library keeps the address of a function that it calls; nullptr if it calls none of this
// name.
void** entry_of(const link_map& library, std::string_view function) {
  const Dynamic dynamic = dynamic_of(library);
  for (const ElfW(Rela) & call : dynamic.calls) {
    const ElfW(Sym)& symbol = dynamic.symbols[ELF64_R_SYM(call.r_info)];
    if (ELF64_R_TYPE(call.r_info) == R_X86_64_JUMP_SLOT &&
        dynamic.names + symbol.st_name == function)
      return reinterpret_cast<void**>(library.l_addr + call.r_offset);
  }
  return nullptr;
}

// The part of a library that the loader has made read-only once it was bound.
struct ReadOnly {
  ElfW(Addr) library, begin = 0, end = 0;
  bool holds(const void* place) const {
    const auto address = reinterpret_cast<ElfW(Addr)>(place);
    return begin <= address && address < end;
  }
};

ReadOnly read_only_part_of(const link_map& library) {
  ReadOnly part{library.l_addr};
  dl_iterate_phdr(
      [](dl_phdr_info* each, std::size_t, void* data) {
        auto& found = *static_cast<ReadOnly*>(data);
        if (each->dlpi_addr != found.library) return 0;
        for (const auto& header : std::span(each->dlpi_phdr, each->dlpi_phnum))
          if (header.p_type == PT_GNU_RELRO) {
            found.begin = found.library + header.p_vaddr;
            found.end = found.begin + header.p_memsz;
          }
        return 1;
      },
      &part);
  return part;
}

bool write_entry(const link_map& library, void** entry, void* function) {
  const auto page = static_cast<ElfW(Addr)>(sysconf(_SC_PAGESIZE));
  void* const begin = reinterpret_cast<void*>(reinterpret_cast<ElfW(Addr)>(entry) & ~(page - 1));
  const bool read_only = read_only_part_of(library).holds(entry);
  if (read_only && mprotect(begin, page, PROT_READ | PROT_WRITE) != 0) return false;
  __atomic_store_n(entry, function, __ATOMIC_RELEASE);
  if (read_only) mprotect(begin, page, PROT_READ);
  return true;
}

const link_map* onednn_library() {
  Dl_info ignored{};
  void* map = nullptr;
  void* const function = dlsym(RTLD_DEFAULT, "dnnl_engine_create");
  if (!function || dladdr1(function, &ignored, &map, RTLD_DL_LINKMAP) == 0) return nullptr;
  return static_cast<const link_map*>(map);
}

// Others may go on to use oneDNN, which then ends as it would have without us.
void Destructions::unload(bool program_ends) {
  write_entry(*library, entry, reinterpret_cast<void*>(libc));
  if (program_ends) return;
  for (const Destruction& each : wanted) libc(each.destroy, each.object, each.library);
  delete this;
}

// Lets no other thread into oneDNN once the program has ended.
struct Gate final : UnloadStep {
  void unload(bool program_ends) override {
    if (!program_ends) return;
    keeper = pthread_self();
    closed = true;
    constexpr int most_waits = 10'000;  // a second
    for (int i = 0; i < most_waits && calls.load() > 0; ++i) usleep(100);
  }

  std::atomic<int> calls = 0;
  std::atomic<bool> closed = false;
  pthread_t keeper{};
};
constinit Gate gate;

}  // namespace

InUse::InUse() {
  ++gate.calls;
  if (!gate.closed.load() || pthread_equal(gate.keeper, pthread_self())) return;
  --gate.calls;
  while (true) pause();
}

InUse::~InUse() { --gate.calls; }

void keep_statics() {
  at_the_end_of_unloading(gate);
  const link_map* const library = onednn_library();
  void** const entry = library ? entry_of(*library, "__cxa_atexit") : nullptr;
  if (!entry) return;
  Destructions& all = destructions();
  all.library = library;
  all.entry = entry;
  all.libc = reinterpret_cast<AtExit>(dlsym(RTLD_DEFAULT, "__cxa_atexit"));
  if (all.libc && write_entry(*library, entry, reinterpret_cast<void*>(keep))) at_unloading(all);
}

}  // namespace narrowgauge::cpu::onednn
