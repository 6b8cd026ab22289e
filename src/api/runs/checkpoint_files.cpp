// SPDX-License-Identifier: Apache-2.0
#include "api/runs/checkpoint_files.h"

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/files/atomic_folder.h"
#include "base/hash/sha256.h"
#include "base/text/json_reading.h"
#include "base/text/json_writing.h"
#include "io/arrays/safetensors_stream.h"

namespace narrowgauge {
namespace {

using Json = nlohmann::json;
constexpr int checkpoint_version = 1;

// A file that knows the digest of what was read of it.
class SummedFile : public InputFile {
 public:
  explicit SummedFile(const std::string& path) : InputFile(path), file_(open_file(path)) {}
  std::size_t read(std::span<std::byte> bytes) override {
    const std::size_t got = file_->read(bytes);
    sum_.update(bytes.first(got));
    return got;
  }
  std::int64_t largest_size() const override { return file_->largest_size(); }
  bool is_packed() const override { return false; }
  std::string sha256() const { return sum_.hex(); }

 private:
  std::unique_ptr<InputFile> file_;
  Sha256 sum_;
};

std::string read_text(InputFile& file) {
  std::string text(static_cast<std::size_t>(file.largest_size()), '\0');
  text.resize(file.read(std::as_writable_bytes(std::span(text))));
  return text;
}

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

JsonDocument<Json> read_manifest(const std::string& path) {
  const std::string name = path_in(path, manifest_file);
  try {
    auto json = parse_json<Json>(read_text(*open_file(name)), name);
    const auto version = whole_number<int>(json, "version", name);
    require<DataError>(version == checkpoint_version, name, ": is of version ", version,
                       ", this program reads ", checkpoint_version);
    return json;
  } catch (const Json::exception& error) {
    throw DataError(concat(name, ": is damaged: ", error.what()));
  }
}

void read_file(const std::string& path, const std::string& name, const Json& record,
               Checkpoint& checkpoint) {
  require<DataError>(std::filesystem::path(name).filename() == name, path,
                     ": the manifest names a file in another folder");
  SummedFile file(path_in(path, name));
  const auto wanted = whole_number<std::int64_t>(record, "bytes", path_in(path, manifest_file));
  require<DataError>(file.largest_size() == wanted, file.path(), ": has ", file.largest_size(),
                     " bytes, ", manifest_file, " says ", wanted);
  if (name == model_file)
    checkpoint.model = read_safetensors(file);
  else if (name == state_file)
    checkpoint.state = read_safetensors(file);
  else
    checkpoint.files[name] = read_text(file);
  const auto digest = record.at("sha256").get<std::string>();
  require<DataError>(file.sha256() == digest, file.path(), ": is damaged: its SHA-256 is ",
                     file.sha256(), ", ", manifest_file, " says ", digest);
}

std::string manifest_text(const Checkpoint& content, const std::vector<AtomicFolder::File>& files) {
  const auto& facts = content.state.metadata;
  std::string text =
      concat("{\n \"format\": \"narrowgauge checkpoint\",\n \"version\": ", checkpoint_version,
             ",\n \"run\": ", json_text<Json>(facts.at("run")));
  for (const char* key : {"steps", "epoch"})
    text += concat(",\n \"", key, "\": ", std::stoll(facts.at(key)));
  text += concat(",\n \"best\": ", facts.contains(best_key) ? "true" : "false", ",\n \"files\": {");
  for (const char* comma = ""; const AtomicFolder::File& file : files) {
    text += concat(comma, "\n  ", json_text<Json>(file.name), ": {\n   \"bytes\": ", file.bytes,
                   ",\n   \"sha256\": \"", file.sha256, "\"\n  }");
    comma = ",";
  }
  return text + "\n }\n}\n";
}

}  // namespace

std::string path_in(const std::string& folder, const std::string& file) {
  return (std::filesystem::path(folder) / file).string();
}

void write_checkpoint(const std::string& path, const Checkpoint& content) {
  AtomicFolder folder(path);
  const auto write_text = [&](const std::string& name, const std::string& text) {
    AtomicFile file(folder, name);
    file.announce(text.size());
    file.write(text);
    file.commit();
  };
  AtomicFile model(folder, model_file), state(folder, state_file);
  write_safetensors(model, content.model);
  write_safetensors(state, content.state);
  for (const auto& [name, text] : content.files) write_text(name, text);
  write_text(manifest_file, manifest_text(content, folder.files()));
  folder.commit();
}

Checkpoint read_whole_checkpoint(const std::string& path) {
  const auto json = read_manifest(path);
  Checkpoint checkpoint;
  checkpoint.path = path;
  try {
    const Json& files = json.at("files");
    for (const char* name : {model_file, state_file})
      require<DataError>(files.contains(name), path_in(path, manifest_file), ": names no ", name);
    for (const auto& [name, record] : files.items()) read_file(path, name, record, checkpoint);
  } catch (const Json::exception& error) {
    throw DataError(concat(path_in(path, manifest_file), ": is damaged: ", error.what()));
  }
  return checkpoint;
}

std::string run_of_checkpoint(const std::string& path) try {
  return read_manifest(path).at("run").get<std::string>();
} catch (const std::bad_alloc&) {
  throw;
} catch (const std::exception&) {
  return "";
}

std::int64_t step_of_checkpoint(const std::string& path) try {
  return whole_number<std::int64_t>(read_manifest(path), "steps", path);
} catch (const std::bad_alloc&) {
  throw;
} catch (const std::exception&) {
  return -1;
}

bool is_best_checkpoint(const std::string& path) try {
  return read_manifest(path).value("best", false);
} catch (const std::bad_alloc&) {
  throw;
} catch (const std::exception&) {
  return false;
}

namespace {

std::string digest_of(const TensorFile& file) {
  Sha256 hash;
  for (const NamedTensor& entry : file.tensors) {
    hash.update(std::as_bytes(std::span(entry.name)));
    hash.update(std::span(entry.tensor.data(), static_cast<std::size_t>(entry.tensor.bytes())));
  }
  return hash.hex();
}

// The state at `path` if it is whole and belongs to weights of this digest.
std::optional<TensorFile> matching_state(const std::string& path, const std::string& digest) try {
  TensorFile file = read_safetensors(path);
  if (file.metadata["weights"] != digest) return std::nullopt;
  return file;
} catch (const DataError&) {
  return std::nullopt;
}

// The new state waited as state.safetensors.next while the weights were replaced, so one of the two
// belongs to the weights that are there.
TensorFile read_earlier_state(const std::string& folder, const TensorFile& model) {
  const std::string path = path_in(folder, state_file), digest = digest_of(model);
  if (auto next = matching_state(path_in(folder, next_state_file), digest)) return *next;
  if (!exists(path)) return {};
  TensorFile file = read_safetensors(path);
  require<DataError>(file.metadata["weights"] == digest, path, ": is of other weights than ",
                     path_in(folder, model_file));
  return file;
}

}  // namespace

Checkpoint read_earlier_form(const std::string& folder) {
  Checkpoint checkpoint;
  checkpoint.path = folder;
  checkpoint.model = read_safetensors(path_in(folder, model_file));
  checkpoint.state = read_earlier_state(folder, checkpoint.model);
  for (const std::string name : {plan_file, kernels_file, "run.json"})
    if (exists(path_in(folder, name)))
      checkpoint.files[name] = read_text(*open_file(path_in(folder, name)));
  return checkpoint;
}

}  // namespace narrowgauge
