// SPDX-License-Identifier: Apache-2.0
#include "cli/task/data_facts.h"

#include <filesystem>

#include "base/hash/sha256.h"
#include "base/threads/parallel.h"
#include "cli/common/text.h"
#include "narrowgauge/error.h"

namespace narrowgauge::cli {
namespace {

// The digests of pieces, so that all cores take part. The size of a piece is part of the result.
void add_bytes(Sha256& sum, const Tensor& tensor) {
  constexpr std::int64_t piece = 1 << 20;
  std::vector<std::string> digests(static_cast<std::size_t>((tensor.bytes() + piece - 1) / piece));
  parallel_for(tensor.bytes(), piece, [&](std::int64_t begin, std::int64_t end) {
    digests[static_cast<std::size_t>(begin / piece)] = sha256_hex(
        std::span<const std::byte>(tensor.data() + begin, static_cast<std::size_t>(end - begin)));
  });
  for (const std::string& digest : digests) sum.update(digest);
}

DataFacts::Part data_part(const DataSet& set) {
  Sha256 sum;
  for (const auto* arrays : {&set.inputs, &set.targets})
    for (const NamedTensor& array : *arrays) {
      sum.update(concat(array.name, ' ', array.tensor.type(), '\n'));
      add_bytes(sum, array.tensor);
    }
  return {set.size(), sum.hex()};
}

// The path of a file in a folder, and its size.
std::string file_text(const std::string& file, const std::string& folder) {
  std::error_code ignored;
  return concat(std::filesystem::path(file).lexically_relative(folder).string(), '\t',
                std::filesystem::file_size(file, ignored), '\t');
}

DataFacts::Part data_part(const std::vector<ImageFile>& files, const ImageFolder& folder) {
  Sha256 sum;
  const auto class_of = [&](const ImageFile& file) {
    return folder.classes.empty() ? "" : folder.classes[static_cast<std::size_t>(file.label)];
  };
  for (const ImageFile& file : files)
    sum.update(concat(file_text(file.path, folder.path), class_of(file), '\n'));
  return {std::ssize(files), sum.hex()};
}

DataFacts::Part data_part(const std::vector<MaskedImage>& pairs, const SegmentationFolder& folder) {
  Sha256 sum;
  for (const MaskedImage& pair : pairs)
    sum.update(concat(file_text(pair.path, folder.path), file_text(pair.mask, folder.path), '\n'));
  return {std::ssize(pairs), sum.hex()};
}

std::string part_text(const DataFacts::Part& part, const std::string& name) {
  constexpr std::size_t digits = 12;  // enough to tell two apart by eye
  return concat(grouped(part.samples), " of ", name, " (SHA-256 ", part.sha256.substr(0, digits),
                "..)");
}

}  // namespace

DataFacts facts_of(const Data& data) {
  if (const auto* const folder = std::get_if<ImageFolder>(&data))
    return {data_part(folder->training, *folder), data_part(folder->test, *folder)};
  if (const auto* const masked = std::get_if<SegmentationFolder>(&data))
    return {data_part(masked->training, *masked), data_part(masked->test, *masked)};
  const auto& split = std::get<DataSplit>(data);
  return {data_part(split.train), data_part(split.test)};
}

std::vector<std::string> differences(const NamedData& run, const NamedData& here) {
  std::vector<std::string> found;
  const auto compare = [&](const char* what, DataFacts::Part DataFacts::*part) {
    const DataFacts::Part &then = run.facts.*part, &now = here.facts.*part;
    if (then != now)
      found.push_back(concat("the ", what, " samples are ", part_text(then, run.name), ", here ",
                             part_text(now, here.name)));
  };
  compare("training", &DataFacts::training);
  compare("test", &DataFacts::test);
  return found;
}

}  // namespace narrowgauge::cli
