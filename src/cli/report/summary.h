// SPDX-License-Identifier: Apache-2.0
// What a run is: network, data, format, optimizer, how far it came, and how it is repeated.
#pragma once

#include <optional>
#include <string>

#include "cli/report/curves.h"
#include "cli/task/run_folder.h"

namespace narrowgauge::cli {

struct RunFacts {
  const Run& run;
  std::string folder;    // as it was typed
  const Curves* curves;  // nullptr: there are none
  bool planned = false;  // whether the precision plan was edited
};

std::string summary_html(const RunFacts& facts);

}  // namespace narrowgauge::cli
