// SPDX-License-Identifier: Apache-2.0
// The file beside an engine that keeps which kernels are fastest and weights as these kernels pack
// them: a head of 64 bytes, the records of kernel_cache.h as JSON with a table of the blocks, and
// the blocks, which are mapped and used where they lie.
//
//   head: "NGCACHE\n", then as u64 in little-endian: the version of the format, the length of the
//   JSON, its XXH64, the length of the file, and zeros. JSON and blocks begin at multiples of 64
//   bytes, the JSON ends in blanks, and behind blocks are zeros up to the next one.
#pragma once

#include <string>
#include <vector>

#include "api/programs/kernel_cache.h"
#include "compile/packed_memory.h"

namespace narrowgauge {

struct PackedBlock {
  PackedKey key;
  PackedBytes bytes;  // of a file that was read: holds on to the mapping
};

struct EngineCacheContent {
  std::string engine;  // tells the engine apart: file_digest() of its file
  KernelRecords kernels;
  std::vector<PackedBlock> packed;
};

// The length and XXH64 of a file. Tensors in files of their own are not in it: PackedKey::sources
// tells these apart. Throws DataError.
std::string file_digest(const std::string& path);

// Maps the file; processes that do so share its pages. Throws DataError for a file that is damaged
// in any byte, or was written for another machine (any text) or another engine.
EngineCacheContent read_engine_cache(const std::string& path, const std::string& machine,
                                     const std::string& engine);
// Throws DataError.
void write_engine_cache(const std::string& path, const std::string& machine,
                        const EngineCacheContent& content);

}  // namespace narrowgauge
