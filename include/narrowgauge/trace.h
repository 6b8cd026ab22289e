// SPDX-License-Identifier: Apache-2.0
// What ran when, and where the time of training steps went, or that of predictions
// (answer_profile.h):
//
//   trainer.enable_profile(true);
//   ...  // some steps
//   trainer.disable_profile();
//   std::ofstream("trace.json") << chrome_trace(trainer.kernels(), trainer.kernel_runs());
//   for (const ProfileRow& row : profile_rows(trainer.kernels(), steps))
//     std::cout << row.op << ' ' << row.kernel << ' ' << row.milliseconds << " ms a step\n";
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "narrowgauge/export.h"
#include "narrowgauge/model.h"

namespace narrowgauge {

// JSON in the Trace Event Format, which ui.perfetto.dev and chrome://tracing open: a slice for each
// step and, within it, for each run of a kernel, with op, phase, kernel and the reason for it, math
// mode, bytes, GB/s and Gflop/s, and whether it ran on the matrix unit. Kernels run one after
// another, each on all threads, so that there is one track. `round` is what one run of the whole
// plan is called in it: a step, or a prediction.
NG_API std::string chrome_trace(const std::vector<Trainer::KernelChoice>& kernels,
                                const std::vector<Trainer::KernelRun>& runs,
                                std::string_view round = "step");

// Whether a kernel multiplies on the CPU's matrix unit (AMX); nothing for a kernel that is no
// contraction, or does not tell its instructions.
NG_API std::optional<bool> on_matrix_unit(const Trainer::KernelChoice& kernel);

// What the kernels of one kind took together.
struct NG_API ProfileRow {
  std::string op, kernel;             // names; the kernel's is for people
  Math math = Math::none;             // of contractions
  std::int64_t nodes = 0;             // of the plan
  double milliseconds = 0;            // of a step, or a prediction
  double share = 0;                   // of the time of all kernels
  double gigabytes_per_second = 0;    // operands, each read or written once
  double gigaflops_per_second = 0;    // multiplications and additions of contractions
  std::optional<bool> matrix_unit{};  // see on_matrix_unit()
};
// Rows by op, kernel and math, those that take longest first, of a profile of so many steps or
// predictions.
NG_API std::vector<ProfileRow> profile_rows(const std::vector<Trainer::KernelChoice>& kernels,
                                            std::int64_t rounds);

}  // namespace narrowgauge
