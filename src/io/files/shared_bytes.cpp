// SPDX-License-Identifier: Apache-2.0
#include "io/files/shared_bytes.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/files/memory.h"
#include "base/files/open_file.h"
#include "narrowgauge/error.h"

namespace narrowgauge {

SharedBytes map_file(const std::string& path, Mapping mapping) {
  const Descriptor file = open_regular_file(path);
  struct stat status {};
  const bool known = fstat(file.get(), &status) == 0;
  const auto size = static_cast<std::size_t>(status.st_size);
  const bool changes = mapping == Mapping::change_copy;
  const int access = changes ? PROT_READ | PROT_WRITE : PROT_READ;
  const int flags = changes ? MAP_PRIVATE | MAP_NORESERVE : MAP_PRIVATE;
  void* const memory =
      known && size > 0 ? mmap(nullptr, size, access, flags, file.get(), 0) : MAP_FAILED;
  const int error = errno;
  if (known && size == 0) return {};  // nothing can be mapped of an empty file
  if (memory == MAP_FAILED && error == ENOMEM)
    refuse_memory({path, {{"", static_cast<std::int64_t>(size)}}}, obtainable_memory());
  require<DataError>(memory != MAP_FAILED, path, ": ", std::strerror(error));
  std::shared_ptr<void> owner(memory, [size](void* mapped) { munmap(mapped, size); });
  const std::span bytes(static_cast<char*>(memory), size);
  if (changes) return SharedBytes::changeable(std::move(owner), bytes);
  return {std::move(owner), {bytes.data(), bytes.size()}};
}

}  // namespace narrowgauge
