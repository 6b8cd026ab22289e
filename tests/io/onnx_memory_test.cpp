// SPDX-License-Identifier: Apache-2.0
// What reading a model takes of the heap, counted where memory is asked for.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdlib>
#include <new>

#include "io/files.h"
#include "io/onnx_wire.h"

namespace {

std::size_t held = 0, most_held = 0;  // bytes, as malloc rounds them

}  // namespace

void* operator new(std::size_t size) {
  void* const memory = std::malloc(size);
  if (!memory) throw std::bad_alloc();
  held += malloc_usable_size(memory);
  most_held = std::max(most_held, held);
  return memory;
}
void operator delete(void* memory) noexcept {
  held -= malloc_usable_size(memory);
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

namespace narrowgauge::onnx::onnx_memory_test {
namespace {

using namespace testing_support;

// The most that was held while a model was read, beyond its own bytes; it may be refused.
std::size_t taken_for(const std::string& bytes) {
  const auto shared = SharedBytes::holding(bytes);
  const std::size_t before = held;
  most_held = held;
  error_of([&] { read_model(shared, "m.onnx"); });
  return most_held - before;
}

std::string repeated(const std::string& part, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += part;
  return all;
}

constexpr std::size_t for_the_error = 4096;  // bytes

TEST(onnx_memory, what_is_made_of_small_parts_takes_a_known_multiple_of_them) {
  constexpr int count = 200'000;
  const auto attribute = [](const std::string& value) {
    return field(1, field(4, "Op") + field(5, field(1, "a") + value));
  };
  const std::vector<std::string> graphs{
      repeated(field(1, ""), count),             // nodes
      repeated(field(5, ""), count),             // tensors
      repeated(field(11, ""), count),            // values
      repeated(field(11, field(2, "")), count),  // values with a type
      repeated(field(16, ""), count),            // metadata
      field(1, repeated(field(1, ""), count)),   // names
      field(1, repeated(field(1, std::string(16, 'x')), count)),
      field(1, repeated(field(5, ""), count)),        // attributes
      attribute(repeated(field(11, ""), count)),      // graphs
      attribute(repeated(field(8, 1), count)),        // integers, one by one
      attribute(field(8, std::string(count, '\1'))),  // integers, packed
      attribute(repeated(field(8, "\1"), count)),     // integers, packed one by one
      attribute(repeated(field(9, ""), count)),       // strings
      field(5, repeated(field(1, 1), count)),         // dims
      field(5, repeated(key(4, 5) + "1234", count)),  // numbers, one by one
      field(11, field(2, field(1, field(2, repeated(field(1, ""), count)))))};
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    const std::string bytes = model_with(graphs[i]);
    EXPECT_LE(taken_for(bytes), (reading_factor + 2) * bytes.size() + for_the_error) << i;
  }
}

TEST(onnx_memory, sizes_that_nothing_fills_take_none) {
  const std::string dims = field(1, std::int64_t{1} << 41) + field(2, 2);
  EXPECT_LE(taken_for(model_with(field(5, dims))), for_the_error);
  EXPECT_LE(taken_for(model_with(field(5, dims + field(9, "a")))), for_the_error);
  EXPECT_LE(taken_for(model_with(key(5, 2) + varint(std::uint64_t{1} << 40))), for_the_error);
}

TEST(onnx_memory, payloads_take_none) {
  const std::string tensor =
      field(1, 10'000'000) + field(2, 2) + field(9, std::string(10'000'000, 'x'));
  EXPECT_LE(taken_for(model_with(field(5, tensor))), for_the_error);
}

}  // namespace
}  // namespace narrowgauge::onnx::onnx_memory_test
