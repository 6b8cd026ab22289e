// SPDX-License-Identifier: Apache-2.0
// The numbers that `narrowgauge formats --histogram` looks at: the tensors of a file, or the
// weights of a run and the gradients of a batch there.
#pragma once

#include <string>
#include <vector>

#include "cli/formats/formats.h"
#include "narrowgauge/safetensors.h"

namespace narrowgauge::cli {

struct ValueSet {
  std::string name;  // "tensors", "weights", "gradients", "gradients x 65536"
  std::vector<NamedTensor> tensors;
  double scale = 1;  // that the values are taken times
};

struct Values {
  std::string source;  // said above the tables
  std::vector<ValueSet> sets;
};

// Throws DataError for a file or run that cannot be read or has no numbers.
Values read_values(const FormatsFlags& flags);

}  // namespace narrowgauge::cli
