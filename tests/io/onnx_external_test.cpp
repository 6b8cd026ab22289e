// SPDX-License-Identifier: Apache-2.0
// Tensors whose bytes are in files beside the model.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "io/files.h"
#include "io/onnx/write.h"
#include "io/onnx_wire.h"

namespace narrowgauge::onnx::onnx_external_test {
namespace {

namespace fs = std::filesystem;
using namespace testing_support;
using testing_files::TemporaryFolder;
using testing_files::write_file;

std::string entry(const std::string& name, const std::string& value) {
  return field(13, field(1, name) + field(2, value));
}
// A model with one tensor u8[4] that says where its bytes are.
std::string model_file(const std::string& entries) {
  const std::string tensor = field(1, 4) + field(2, 2) + field(8, "w") + entries + field(14, 1);
  return model_with(field(5, tensor));
}
std::string location(const std::string& path) { return entry("location", path); }

class OnnxExternal : public ::testing::Test {
 protected:
  std::string refusal(const std::string& entries) {
    write_file(folder / "m.onnx", model_file(entries));
    const std::string error = error_of([&] { read_model(folder / "m.onnx"); });
    const std::string where = folder / "m.onnx: tensor 'w': ";
    EXPECT_TRUE(error.empty() || error.starts_with(where)) << error;
    return error.substr(std::min(error.size(), where.size()));
  }
  double second(const std::string& entries) {
    write_file(folder / "m.onnx", model_file(entries));
    return tensor_of(read_model(folder / "m.onnx").graph.initializers.at(0)).at(1);
  }

  TemporaryFolder folder;
};

TEST_F(OnnxExternal, bytes_are_found_in_the_folder_of_the_model) {
  write_file(folder / "w.bin", "0123456789");
  EXPECT_EQ(second(location("w.bin")), '1');
  EXPECT_EQ(second(location("w.bin") + entry("offset", "6") + entry("length", "4")), '7');
  EXPECT_EQ(second(location("./w.bin") + entry("checksum", "ignored")), '1');
  fs::create_directory(folder / "inner");
  write_file(folder / "inner/w.bin", "abcd");
  EXPECT_EQ(second(location("inner/w.bin")), 'b');
  fs::create_symlink("inner/w.bin", folder / "link.bin");
  EXPECT_EQ(second(location("link.bin")), 'b');
}

TEST_F(OnnxExternal, a_model_named_without_its_folder_has_its_files_beside_it) {
  write_file(folder / "w.bin", "abcd");
  write_file(folder / "m.onnx", model_file(location("w.bin")));
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  EXPECT_EQ(error_of([&] { read_model("m.onnx"); }), "");
  fs::current_path(before);
}

TEST_F(OnnxExternal, paths_that_lead_out_of_the_folder_are_refused) {
  const TemporaryFolder other;
  write_file(other / "w.bin", "abcd");
  fs::create_symlink(other / "w.bin", folder / "link.bin");
  fs::create_directory_symlink(other.path(), folder / "inner");
  const auto outside = [](const std::string& path) {
    return "external data '" + path + "': expected a path inside of the model's folder";
  };
  const std::string absolute = other / "w.bin";
  EXPECT_EQ(refusal(location(absolute)), outside(absolute));
  const std::string up = "../" + fs::path(other.path()).filename().string() + "/w.bin";
  EXPECT_EQ(refusal(location(up)), outside(up));
  EXPECT_EQ(refusal(location("inner/../w.bin")), outside("inner/../w.bin"));
  EXPECT_EQ(refusal(location("")), outside(""));
  EXPECT_EQ(refusal(location(std::string("w\0.bin", 6))), outside("w\\x00.bin"));
  EXPECT_EQ(refusal(location("link.bin")),
            "external data 'link.bin': leads out of the model's folder");
  EXPECT_EQ(refusal(location("inner/w.bin")),
            "external data 'inner/w.bin': leads out of the model's folder");
}

TEST_F(OnnxExternal, a_folder_whose_name_begins_like_the_model_s_is_outside) {
  const std::string beside = folder.path() + "-beside";
  fs::create_directory(beside);
  write_file(beside + "/w.bin", "abcd");
  fs::create_symlink(beside + "/w.bin", folder / "link.bin");
  EXPECT_EQ(refusal(location("link.bin")),
            "external data 'link.bin': leads out of the model's folder");
  fs::remove_all(beside);
}

TEST_F(OnnxExternal, what_is_no_file_is_refused_at_once) {
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  fs::create_directory(folder / "inner");
  fs::create_symlink("loop", folder / "loop");
  const std::string real = fs::canonical(folder.path()).string();
  EXPECT_EQ(refusal(location("pipe")), real + "/pipe: expected a file, found a device or pipe");
  EXPECT_EQ(refusal(location("inner")), real + "/inner: expected a file, found a folder");
  EXPECT_EQ(refusal(location(".")), real + ": expected a file, found a folder");
  EXPECT_EQ(refusal(location("none")), "external data 'none': No such file or directory");
  EXPECT_EQ(refusal(location("loop")), "external data 'loop': Too many levels of symbolic links");
}

TEST_F(OnnxExternal, bytes_that_the_file_lacks_are_refused) {
  write_file(folder / "w.bin", "0123456789");
  const std::string file = location("w.bin");
  EXPECT_EQ(refusal(file + entry("offset", "7")),
            "external data 'w.bin': expected 4 bytes at offset 7, the file has 10");
  EXPECT_EQ(
      refusal(file + entry("offset", "9223372036854775807")),
      "external data 'w.bin': expected 4 bytes at offset 9223372036854775807, the file has 10");
  EXPECT_EQ(refusal(file + entry("length", "5")),
            "expected 4 bytes of external data, its length is 5");
  for (const std::string number : {"-1", "", "4x", " 4", "0x4", "99999999999999999999"})
    EXPECT_EQ(refusal(file + entry("length", number)),
              "expected a number of bytes as length of its external data, found '" + number + "'");
  EXPECT_EQ(refusal(entry("offset", "0")), "its external data have no location");
  EXPECT_EQ(refusal(file + field(9, "abcd")), "expected external data or raw bytes, found both");
  write_file(folder / "empty.bin", "");
  EXPECT_EQ(refusal(location("empty.bin")),
            "external data 'empty.bin': expected 4 bytes at offset 0, the file has 0");
}

TEST_F(OnnxExternal, a_model_from_memory_has_no_files) {
  const std::string bytes = model_file(location("../../w.bin"));
  const Model model = model_of(bytes);
  EXPECT_EQ(serialized(model), bytes);
  EXPECT_EQ(error_of([&] { tensor_of(model.graph.initializers[0]); }),
            "tensor 'w': its data are in a file beside the model, which was read from memory");
}

Model two_tensors() {
  Model model;
  model.graph.name = "g";
  for (const std::int64_t size : {100, 3, 5000}) {
    const Tensor tensor = Tensor::full(DType::u8, {size}, static_cast<double>(size % 256));
    model.graph.initializers.push_back(tensor_data_of(tensor, "w" + std::to_string(size)));
  }
  return model;
}

void expect_same_tensors(const Model& read, const Model& model) {
  ASSERT_EQ(read.graph.initializers.size(), model.graph.initializers.size());
  for (std::size_t i = 0; i < model.graph.initializers.size(); ++i)
    EXPECT_TRUE(
        tensor_of(read.graph.initializers[i]).same_bits(tensor_of(model.graph.initializers[i])));
}

TEST_F(OnnxExternal, large_tensors_are_written_beside_the_model) {
  const Model model = two_tensors();
  write_model(folder / "m.onnx", model, {.external_from = 100});
  const Model read = read_model(folder / "m.onnx");
  expect_same_tensors(read, model);
  EXPECT_EQ(fs::file_size(folder / "m.onnx.data"), 4096u + 5000u);
  EXPECT_EQ(read.graph.initializers[0].data_location, DataLocation::external);
  EXPECT_EQ(read.graph.initializers[1].data_location, DataLocation::inside);
  const Entries& entries = read.graph.initializers[2].external_data;
  EXPECT_EQ(entries.at(0).value + " " + entries.at(1).value + " " + entries.at(2).value,
            "m.onnx.data 4096 5000");
}

TEST_F(OnnxExternal, lists_of_numbers_go_outside_as_raw_bytes) {
  const std::string integers = field(1, 3) + field(2, 7) + field(7, "\x05" + varint(300) + "\x07");
  const std::string strings =
      field(1, 3) + field(2, 8) + field(6, "a") + field(6, "") + field(6, "");
  const Model model = model_of(model_with(field(5, integers) + field(5, strings)));
  write_model(folder / "m.onnx", model, {.external_from = 24});
  const Model read = read_model(folder / "m.onnx");
  EXPECT_EQ(fs::file_size(folder / "m.onnx.data"), 24u);
  EXPECT_EQ(tensor_of(read.graph.initializers[0]).at(1), 300);
  EXPECT_TRUE(read.graph.initializers[0].int64_data.wire.empty());
  EXPECT_EQ(read.graph.initializers[1], model.graph.initializers[1]);
}

TEST_F(OnnxExternal, tensors_come_along_where_a_model_is_written_anew) {
  const Model model = two_tensors();
  write_model(folder / "m.onnx", model, {.external_from = 100});
  const Model outside = read_model(folder / "m.onnx");
  write_model(folder / "inside.onnx", outside);
  EXPECT_EQ(read_model(folder / "inside.onnx"), model);
  write_model(folder / "m.onnx", outside, {.external_from = 1});  // over what is mapped
  expect_same_tensors(outside, model);
  expect_same_tensors(read_model(folder / "m.onnx"), model);
  fs::create_directory(folder / "inner");
  write_model(folder / "inner/n.onnx", outside, {.external_from = 5000});
  expect_same_tensors(read_model(folder / "inner/n.onnx"), model);
}

TEST_F(OnnxExternal, no_file_is_made_for_no_tensors) {
  const Model model = two_tensors();
  write_model(folder / "m.onnx", model, {.external_from = 5001});
  EXPECT_FALSE(fs::exists(folder / "m.onnx.data"));
  EXPECT_EQ(read_model(folder / "m.onnx"), model);
}

TEST_F(OnnxExternal, a_model_of_two_gibibytes_is_refused_before_it_takes_memory) {
  Model model = two_tensors();
  // The same bytes again and again: they are only counted.
  for (int i = 0; i < 450'000; ++i) model.graph.initializers.push_back(model.graph.initializers[2]);
  const std::string error = error_of([&] { write_model(folder / "m.onnx", model); });
  EXPECT_EQ(error,
            "onnx: expected a file of less than 2 GiB, it would have 2250005103 bytes: "
            "large tensors belong beside the model");
  EXPECT_FALSE(fs::exists(folder / "m.onnx"));
}

TEST_F(OnnxExternal, a_file_that_cannot_be_read_is_named) {
  EXPECT_EQ(error_of([&] { read_model(folder / "none.onnx"); }),
            folder / "none.onnx: No such file or directory");
  EXPECT_EQ(error_of([&] { read_model(folder.path()); }),
            folder.path() + ": expected a file, found a folder");
  write_file(folder / "empty.onnx", "");
  EXPECT_EQ(error_of([&] { read_model(folder / "empty.onnx"); }),
            folder / "empty.onnx: a model without a graph");
}

}  // namespace
}  // namespace narrowgauge::onnx::onnx_external_test
