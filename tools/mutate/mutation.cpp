// SPDX-License-Identifier: Apache-2.0
// The state of mutation.h, from the environment, before any other static object: the change to run,
// and the file of one byte for each change, which all processes of a test share.
#include "mutation.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

namespace mutation {

State state;

namespace {

__attribute__((constructor(101))) void read_environment() {
  if (const char* id = std::getenv("NG_MUTATION")) state.active = std::atoi(id);
  const char* path = std::getenv("NG_MUTATION_REACHED");
  const int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (file < 0) return;
  struct stat facts {};
  fstat(file, &facts);
  void* const bytes = mmap(nullptr, static_cast<std::size_t>(facts.st_size), PROT_READ | PROT_WRITE,
                           MAP_SHARED, file, 0);
  if (bytes != MAP_FAILED) state.reached = static_cast<unsigned char*>(bytes);
  close(file);
}

}  // namespace
}  // namespace mutation
