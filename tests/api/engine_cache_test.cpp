// SPDX-License-Identifier: Apache-2.0
// What engines keep beside their files: taken, shared, refused and made anew, and never believed.
#include "api/model/engine_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <sstream>
#include <thread>

#include "api/conversion/engine_implementation.h"
#include "api/model/model_implementation.h"
#include "base/hash/xxh64.h"
#include "io/files.h"
#include "narrowgauge/log.h"

namespace narrowgauge::engine_cache_test {
namespace {

using testing_files::TemporaryFolder;

// Collects warnings while it lives.
class Warnings {
 public:
  Warnings() {
    set_log_sink([this](LogLevel level, const std::string& message) {
      if (level == LogLevel::warning) lines.push_back(message);
    });
  }
  ~Warnings() { set_log_sink({}); }
  std::vector<std::string> lines;
};

BuildNetwork network(std::int64_t channels = 8) {
  return [channels](Network& net) {
    Value x = net.input("images", {net.batch(), 3, 16, 16});
    x = net.relu(net.conv(x, channels, {.stride = 2}, "first"));
    x = net.relu(net.conv(x, 8, {}, "second"));
    return net.linear(net.flatten(net.global_average_pool(x)), 10, "logits");
  };
}

Tensor images(std::int64_t count) {
  Tensor x(DType::f32, {count, 3, 16, 16});
  for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, static_cast<double>(i * 37 % 101) / 101);
  return x;
}

void save_engine(const std::string& path, EnginePrecision precision = EnginePrecision::int8,
                 std::int64_t channels = 8, CacheUse cache = CacheUse::make) {
  ConvertOptions options;
  options.precision = precision;
  if (precision == EnginePrecision::int8)
    options.calibration = std::make_shared<TensorSource>(std::vector{images(8)});
  convert(Model("small", network(channels)), options).save(path, cache);
}

Tensor answer(const std::string& path, CacheUse cache, std::int64_t batch = 1) {
  return Engine::open(path, cache).predict(images(batch));
}

EngineCacheContent content_of(const std::string& path) {
  return read_engine_cache(engine_cache_path(path), machine_text(), file_digest(path));
}

// A model as Engine::open() has it, to look inside.
Model model_of(const std::string& path, CacheUse use = CacheUse::read) {
  return open_engine(path, {}, use);
}

// Where the packed weights lie that a model runs an answer with.
std::vector<const std::byte*> packed_weights(Model& model, std::int64_t batch = 1) {
  const Tensor x = images(batch);
  model.predict(x);
  Model::Implementation& inside = ModelAccess::of(model);
  const Program::Lease executor = inside.prediction->executor_for(std::span(&x, 1));
  std::vector<const std::byte*> found;
  for (const PlanPacking& packing : executor->plan().packings)
    found.push_back(packing.states.empty() ? packing.made.get()
                                           : inside.store.packed(packing.name).get());
  return found;
}

// The inode of the file with this ending whose pages this process has at an address; "" for other
// memory.
std::string mapped_file(const std::byte* address, std::string_view ending = ".cache",
                        std::string_view wanted = "r--p") {
  std::istringstream maps(testing_files::read_file("/proc/self/maps"));
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string range, rights, offset, device, inode, path;
    words >> range >> rights >> offset >> device >> inode >> path;
    const auto begin = std::stoull(range, nullptr, 16);
    const auto end = std::stoull(range.substr(range.find('-') + 1), nullptr, 16);
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    if (at >= begin && at < end && path.ends_with(ending) && rights == wanted) return inode;
  }
  return "";
}

// Files of engines, whose weights are constants, and of a network, where they are states.
void for_all_kinds(
    const std::function<void(const std::string& path, const std::string& kind)>& test) {
  const TemporaryFolder folder;
  const std::string path = folder / "small.onnx";
  for (const EnginePrecision precision :
       {EnginePrecision::f32, EnginePrecision::bf16, EnginePrecision::int8}) {
    save_engine(path, precision);
    test(path, std::string(name(precision)));
  }
  Model("small", network()).to_onnx(path);
  make_engine_cache(path);
  test(path, "states");
}

TEST(engine_cache, answers_have_the_same_bits_with_and_without) {
  for_all_kinds([](const std::string& path, const std::string& kind) {
    ASSERT_TRUE(std::filesystem::exists(path + ".cache"));
    const Warnings warnings;
    for (const std::int64_t batch : {1, 5})
      EXPECT_TRUE(answer(path, CacheUse::read, batch).same_bits(answer(path, CacheUse::off, batch)))
          << kind << ' ' << batch;
    EXPECT_TRUE(warnings.lines.empty());
  });
}

TEST(engine_cache, an_opened_engine_packs_nothing_and_shares_the_pages) {
  for_all_kinds([](const std::string& path, const std::string& kind) {
    Model first = model_of(path), second = model_of(path);
    const auto weights = packed_weights(first), again = packed_weights(second);
    EXPECT_EQ(weights.size(), content_of(path).packed.size()) << kind;
    if (weights.empty()) return;  // the kernels here pack nothing ahead
    const std::string file = mapped_file(weights[0]);
    EXPECT_NE(file, "") << kind;
    for (const std::byte* const each : weights) EXPECT_EQ(mapped_file(each), file) << kind;
    for (const std::byte* const each : again) EXPECT_EQ(mapped_file(each), file) << kind;
  });
}

// Tensors of the network of at least a KiB: its states and constants.
std::vector<Tensor> large_tensors(Model& model) {
  std::vector<Tensor> found;
  const auto add = [&](const Tensor& tensor) {
    if (tensor.bytes() >= 1024) found.push_back(tensor);
  };
  for (const auto& [name, entry] : ModelAccess::of(model).store.entries())
    if (entry.role != Role::derived) add(entry.value);
  const Graph graph = model.graph(Mode::evaluate);
  for (const Node& node : graph.nodes())
    if (node.is<Constant>()) add(node.as<Constant>().value);
  return found;
}

TEST(engine_cache, weights_lie_in_the_pages_of_the_engine_s_file) {
  for_all_kinds([](const std::string& path, const std::string& kind) {
    Model mapped = model_of(path), copied = model_of(path, CacheUse::off);
    const auto weights = large_tensors(mapped), copies = large_tensors(copied);
    ASSERT_EQ(weights.size(), copies.size()) << kind;
    EXPECT_FALSE(kind != "int8" && weights.empty()) << kind;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      EXPECT_NE(mapped_file(weights[i].data(), ".onnx", "rw-p"), "") << kind << ' ' << i;
      EXPECT_TRUE(copies[i].owns_memory()) << kind << ' ' << i;
      EXPECT_TRUE(weights[i].same_bits(copies[i])) << kind << ' ' << i;
    }
  });
}

TEST(engine_cache, an_open_engine_stays_as_it_is_when_its_file_is_replaced) {
  const TemporaryFolder folder;
  const std::string path = folder / "small.onnx";
  save_engine(path, EnginePrecision::f32);
  const Engine engine = Engine::open(path);
  const Tensor before = answer(path, CacheUse::off);
  save_engine(path, EnginePrecision::int8);
  EXPECT_TRUE(engine.predict(images(1)).same_bits(before));
  EXPECT_FALSE(answer(path, CacheUse::off).same_bits(before));
}

TEST(engine_cache, threads_that_ask_at_once_get_the_answers_that_one_gets) {
  const TemporaryFolder folder;
  const std::string path = folder / "small.onnx";
  save_engine(path);
  const Tensor want[] = {answer(path, CacheUse::off, 1), answer(path, CacheUse::off, 4)};
  const Engine engine = Engine::open(path);
  std::vector<int> same(6, 0);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < same.size(); ++i)
    threads.emplace_back([&, i] {
      for (int k = 0; k < 10; ++k)
        same[i] += engine.predict(images(i % 2 == 0 ? 1 : 4)).same_bits(want[i % 2]);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(same, std::vector<int>(6, 10));
}

TEST(engine_cache, the_mapping_lives_as_long_as_a_plan_that_uses_it) {
  const TemporaryFolder folder;
  const std::string path = folder / "small.onnx";
  save_engine(path);
  const Tensor want = answer(path, CacheUse::off);
  Model model = model_of(path);
  packed_weights(model);
  ModelAccess::of(model).cache.reset();
  std::filesystem::remove(path + ".cache");
  EXPECT_TRUE(model.predict(images(1)).same_bits(want));
}

TEST(engine_cache, other_batches_share_what_is_packed_alike) {
  const TemporaryFolder folder;
  const std::string path = folder / "small.onnx";
  save_engine(path);
  Model model = model_of(path);
  const auto one = packed_weights(model, 1), nine = packed_weights(model, 9);
  if (one.empty()) GTEST_SKIP() << "the kernels here pack nothing ahead";
  EXPECT_TRUE(std::ranges::any_of(
      nine, [&](const std::byte* each) { return std::ranges::count(one, each) == 1; }));
}

TEST(engine_cache, weights_that_change_are_packed_anew) {
  const TemporaryFolder folder;
  const std::string path = folder / "small.onnx";
  Model("small", network()).to_onnx(path);
  make_engine_cache(path);
  Model cached = model_of(path), plain = Model::from_onnx(path);
  const Tensor before = cached.predict(images(2));
  for (Model* const model : {&cached, &plain})
    for (const std::string& state : model->state_names())
      if (model->state(state).dims().size() == 4)
        model->set_state(state, Tensor::full(DType::f32, model->state(state).dims(), 0.01));
  const Tensor after = cached.predict(images(2));
  EXPECT_FALSE(after.same_bits(before));
  EXPECT_TRUE(after.same_bits(plain.predict(images(2))));
}

TEST(engine_cache, choices_of_kernels_come_from_it) {
  const TemporaryFolder folder;
  const std::string path = folder / "small.onnx";
  setenv("NARROWGAUGE_KERNEL_CACHE", (folder / "kernels").c_str(), 1);
  save_engine(path, EnginePrecision::f32);
  EngineCacheContent content = content_of(path);
  for (auto& [key, record] : content.kernels) record.why = "as the engine's cache says";
  write_engine_cache(path + ".cache", machine_text(), content);
  setenv("NARROWGAUGE_KERNEL_CACHE", (folder / "other kernels").c_str(), 1);
  Model model = model_of(path);
  const Tensor x = images(1);
  model.predict(x);
  const Program::Lease executor = ModelAccess::of(model).prediction->executor_for(std::span(&x, 1));
  setenv("NARROWGAUGE_KERNEL_CACHE", "off", 1);
  const auto& steps = executor->plan().steps;
  EXPECT_EQ(std::ranges::count(steps, "as the engine's cache says", &PlanStep::why),
            std::ssize(content.kernels));
  if (content.kernels.empty()) GTEST_SKIP() << "too busy to measure, or one kernel alone";
  EXPECT_FALSE(std::filesystem::exists(folder / "other kernels"));
}

// What Engine::open() warns of, whose next answer is as it was and makes the cache anew.
std::string refusal(const std::string& path) {
  const Tensor want = answer(path, CacheUse::off);
  const Warnings warnings;
  const Engine engine = Engine::open(path);
  EXPECT_TRUE(engine.predict(images(1)).same_bits(want));
  EXPECT_TRUE(engine.predict(images(1)).same_bits(want));
  EXPECT_NO_THROW(content_of(path));
  const std::string first = warnings.lines.empty() ? "" : warnings.lines[0];
  answer(path, CacheUse::read);  // takes the new one
  EXPECT_EQ(warnings.lines.size(), 1U);
  return first;
}

TEST(engine_cache, one_of_another_machine_version_or_network_is_made_anew) {
  const TemporaryFolder folder;
  const std::string path = folder / "small.onnx", cache = path + ".cache";
  save_engine(path);
  const EngineCacheContent content = content_of(path);
  write_engine_cache(cache, "Another CPU, avx2, narrowgauge 0.0.1", content);
  EXPECT_EQ(refusal(path),
            cache + ": was written for Another CPU, avx2, narrowgauge 0.0.1; it is made anew");
  save_engine(path, EnginePrecision::int8, 12, CacheUse::off);
  EXPECT_EQ(refusal(path), cache + ": was written for another network; it is made anew");
  std::string bytes = testing_files::read_file(cache);
  bytes[8] = 2;
  testing_files::write_file(cache, bytes);
  EXPECT_EQ(refusal(path), cache + ": is of another version; it is made anew");
  testing_files::write_file(cache, "");
  EXPECT_EQ(refusal(path), cache + ": is damaged: it breaks off in its head; it is made anew");
  testing_files::write_file(cache, std::string(4096, 'x'));
  EXPECT_EQ(refusal(path), cache + ": is damaged: it is no cache of an engine; it is made anew");
  bytes[8] = 1;
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  testing_files::write_file(cache, bytes);
  EXPECT_TRUE(refusal(path).starts_with(cache + ": is damaged: "));
}

// The weights of another network that has the same names and shapes are never used, whatever the
// file says of the network that it is for.
TEST(engine_cache, packed_weights_of_others_are_not_used) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.onnx", other = folder / "b.onnx";
  for (const auto& [file, seed] : {std::pair(path, 1), std::pair(other, 2)})
    convert(Model("small", network(), static_cast<std::uint64_t>(seed)),
            {.precision = EnginePrecision::f32})
        .save(file);
  EngineCacheContent content = content_of(other);
  content.engine = file_digest(path);
  write_engine_cache(path + ".cache", machine_text(), content);
  EXPECT_TRUE(answer(path, CacheUse::read).same_bits(answer(path, CacheUse::off)));
}

TEST(engine_cache, what_it_lacks_is_added_where_it_is_to_be_made) {
  const TemporaryFolder folder;
  const std::string path = folder / "small.onnx";
  save_engine(path);
  EngineCacheContent content = content_of(path);
  const std::size_t blocks = content.packed.size();
  if (blocks == 0) GTEST_SKIP() << "the kernels here pack nothing ahead";
  const Tensor want = answer(path, CacheUse::off);
  content.packed.pop_back();
  write_engine_cache(path + ".cache", machine_text(), content);
  const std::string kept = testing_files::read_file(path + ".cache");
  EXPECT_TRUE(answer(path, CacheUse::read).same_bits(want));
  EXPECT_EQ(testing_files::read_file(path + ".cache"), kept);
  EXPECT_TRUE(answer(path, CacheUse::make).same_bits(want));
  EXPECT_EQ(content_of(path).packed.size(), blocks);
  const auto written = std::filesystem::last_write_time(path + ".cache");
  EXPECT_TRUE(answer(path, CacheUse::make).same_bits(want));
  EXPECT_EQ(std::filesystem::last_write_time(path + ".cache"), written);
}

class Damaged : public testing::Test {
 protected:
  Damaged() {
    save_engine(path_);
    digest_ = file_digest(path_);
    whole_ = testing_files::read_file(cache_);
  }
  bool is_refused() const {
    try {
      read_engine_cache(cache_, machine_text(), digest_);
    } catch (const DataError& error) {
      const std::string text = error.what();
      EXPECT_TRUE(text.starts_with(cache_ + ": ")) << text;
      EXPECT_EQ(text.find('\n'), std::string::npos) << text;
      return true;
    }
    return false;
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "small.onnx", cache_ = path_ + ".cache";
  std::string digest_, whole_;
};

TEST_F(Damaged, any_byte_that_is_changed_is_found) {
  ASSERT_FALSE(is_refused());
  const int file = open(cache_.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(file, 0);
  std::size_t accepted = 0;
  for (std::size_t at = 0; at < whole_.size(); at += at < 256 ? 1 : 7) {
    const char changed = static_cast<char>(whole_[at] ^ (1 << at % 8));
    ASSERT_EQ(pwrite(file, &changed, 1, static_cast<off_t>(at)), 1);
    accepted += is_refused() ? 0 : 1;
    ASSERT_EQ(pwrite(file, &whole_[at], 1, static_cast<off_t>(at)), 1);
  }
  close(file);
  EXPECT_EQ(accepted, 0U);
  EXPECT_FALSE(is_refused());
}

TEST_F(Damaged, any_length_but_its_own_is_found) {
  for (std::size_t length = 0; length < whole_.size(); length += length < 2048 ? 1 : 61) {
    std::filesystem::resize_file(cache_, length);
    EXPECT_TRUE(is_refused()) << length;
    testing_files::write_file(cache_, whole_);
  }
  testing_files::write_file(cache_, whole_ + std::string(64, '\0'));
  EXPECT_TRUE(is_refused());
}

// Changes the table as somebody would who also mends the head.
std::string with_table(std::string file, const std::string& old, const std::string& changed) {
  struct Head {
    std::uint64_t magic, version, length, hash, file_bytes;
  } head{};
  constexpr std::size_t begin = 64;
  std::memcpy(&head, file.data(), sizeof head);
  std::string table = file.substr(begin, head.length);
  const std::string blocks = file.substr(begin + head.length);
  table.replace(table.find(old), old.size(), changed);
  table.resize((table.size() + begin - 1) / begin * begin, ' ');
  head.length = table.size();
  head.hash = xxh64(std::as_bytes(std::span(table)));
  head.file_bytes = begin + table.size() + blocks.size();
  std::memcpy(file.data(), &head, sizeof head);
  return file.substr(0, begin) + table + blocks;
}

TEST(engine_cache, sizes_that_do_not_fit_the_file_are_refused) {
  const TemporaryFolder folder;
  const std::string cache = folder / "cache";
  const auto bytes = std::make_shared<Tensor>(Tensor::full(DType::u8, {100}, 7));
  const PackedBytes packed(bytes, bytes->data());
  write_engine_cache(cache, "here", {"engine", {}, {{{"w", 1, 100}, packed}}});
  const std::string whole = testing_files::read_file(cache);
  const auto error_with = [&](const std::string& old, const std::string& changed) -> std::string {
    testing_files::write_file(cache, with_table(whole, old, changed));
    try {
      read_engine_cache(cache, "here", "engine");
    } catch (const DataError& error) {
      return std::string(error.what()).substr(cache.size());
    }
    return "";
  };
  const std::string size = "\"bytes\": 100";
  EXPECT_EQ(error_with(size, size), "");
  for (const char* number : {"0", "-1", "129", "4096", "9223372036854775807"})
    EXPECT_EQ(error_with(size, concat("\"bytes\": ", number)),
              ": is damaged: a block is longer than the file")
        << number;
  EXPECT_EQ(error_with(size, "\"bytes\": 64"), ": is damaged: bytes follow its last block");
  EXPECT_EQ(error_with(size, "\"bytes\": 99"), ": is damaged: expected zeros behind a block");
  for (const char* number : {"1.5", "1e99", "\"x\"", "18446744073709551615"})
    EXPECT_TRUE(error_with(size, concat("\"bytes\": ", number))
                    .starts_with(": is damaged: expected a whole number as bytes"))
        << number;
  for (const char* sources : {"\"\"", "\"xyz\"", "\"11111111111111111\""})
    EXPECT_EQ(error_with("\"sources\": \"1\"", concat("\"sources\": ", sources)),
              ": is damaged: expected a hash")
        << sources;
  for (const char* key : {"engine", "packed", "hash", "name", "kernels", "machine"})
    EXPECT_TRUE(error_with(concat('"', key, '"'), "\"other\"").starts_with(": is damaged: "))
        << key;
}

TEST(engine_cache, a_folder_that_cannot_be_written_costs_a_warning) {
  const TemporaryFolder folder;
  const std::string path = folder / "small.onnx";
  save_engine(path, EnginePrecision::int8, 8, CacheUse::off);
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0555));
  const uid_t user = geteuid(), nobody = 65534;
  ASSERT_EQ(user == 0 ? seteuid(nobody) : 0, 0);  // root writes everywhere
  const Warnings warnings;
  EXPECT_TRUE(answer(path, CacheUse::make).same_bits(answer(path, CacheUse::off)));
  ASSERT_EQ(user == 0 ? seteuid(user) : 0, 0);
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  ASSERT_EQ(warnings.lines.size(), 1U);
  EXPECT_TRUE(warnings.lines[0].starts_with(path + ".cache: cannot be written"))
      << warnings.lines[0];
}

TEST(engine_cache, is_off_where_the_environment_says_so) {
  const TemporaryFolder folder;
  const std::string path = folder / "small.onnx";
  setenv("NARROWGAUGE_ENGINE_CACHE", "off", 1);
  save_engine(path);
  answer(path, CacheUse::make);
  unsetenv("NARROWGAUGE_ENGINE_CACHE");
  EXPECT_FALSE(std::filesystem::exists(path + ".cache"));
  answer(path, CacheUse::read);
  EXPECT_FALSE(std::filesystem::exists(path + ".cache"));
  answer(path, CacheUse::make);
  EXPECT_TRUE(std::filesystem::exists(path + ".cache"));
}

}  // namespace
}  // namespace narrowgauge::engine_cache_test
