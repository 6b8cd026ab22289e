// SPDX-License-Identifier: Apache-2.0
// The command that trains a run again.
#pragma once

#include <string>

#include "cli/task/run_folder.h"

namespace narrowgauge::cli {

// The command of the run as a shell takes it, into the folder of the run with "-again" behind its
// name. Flags whose values are the usual ones are left out. `planned`: the precision plan was
// edited, so that it is named.
std::string repeat_command(const Run& run, bool planned);

// The word in quotes where a shell would read it otherwise.
std::string shell_word(const std::string& word);

}  // namespace narrowgauge::cli
