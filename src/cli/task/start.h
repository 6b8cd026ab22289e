// SPDX-License-Identifier: Apache-2.0
// The program behind main().
#pragma once

namespace narrowgauge::cli {

// Runs the command that the words name. The exit code is one of ExitCode, also where it fails.
int start(int argc, char** argv);

}  // namespace narrowgauge::cli
