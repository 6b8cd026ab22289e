// SPDX-License-Identifier: Apache-2.0
// What an engine keeps beside its file, so that it need not be found out or packed again: which
// kernels are fastest, and packed weights, which are mapped.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "api/model/engine_cache_file.h"
#include "narrowgauge/engine.h"

namespace narrowgauge {

// The content of ENGINE.cache. Plans and stores hold on to it, and so to the mapping, for as long
// as they use it. What the file lacks is packed once for all plans that live at a time.
class EngineCache : public PackedMemory {
 public:
  // Takes what the file has. A file that is refused costs a warning, and save() makes it anew; for
  // CacheUse::make it also makes a file that is not there.
  EngineCache(const std::string& engine, CacheUse use);
  // A cache that save() makes anew, whatever the file has.
  explicit EngineCache(const std::string& engine);

  PackedBytes find(const PackedKey& key) override;
  void keep(const PackedKey& key, const PackedBytes& packed) override;
  KernelChoices& kernels() { return kernels_; }  // of plans that are made one after another

  // Writes what the plans that live use if the file is to be made, or, for CacheUse::make, adds
  // what it lacks. Later calls do nothing. Where it cannot be written that costs a warning.
  void save();

 private:
  EngineCacheContent content() const;
  bool lacks(const EngineCacheContent& content) const;

  std::string engine_, path_;
  KernelChoices kernels_;
  std::mutex mutex_;
  std::map<PackedKey, PackedBytes> mapped_;
  std::size_t read_kernels_ = 0;  // how many of the choices are from the file
  std::map<PackedKey, std::weak_ptr<const std::byte>> made_;
  bool is_to_be_made_ = true, grows_ = false;
};

// The path of the cache of an engine.
std::string engine_cache_path(const std::string& engine);

// The model of a file with its cache, whose tensors lie in the pages of the file. CacheUse::off,
// also by NARROWGAUGE_ENGINE_CACHE, maps neither. Models that are planned anew for each shape have
// no cache. Throws as Model::from_onnx() does.
Model open_engine(const std::string& engine, const KnownInputs& known, CacheUse use);

// Makes the cache of an engine by a prediction for zeros, for a batch of 1 where that is open.
// Nothing where other sizes are open, or for what is no file. Throws nothing: what hinders it is a
// warning.
void make_engine_cache(const std::string& engine);

}  // namespace narrowgauge
