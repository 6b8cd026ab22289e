// SPDX-License-Identifier: Apache-2.0
// What a run left on disk, read as one thing.
//
//   RUN/checkpoints/000042/    one checkpoint; the highest number is the newest
//     model.safetensors          parameters and running statistics, as other programs read them
//     state.safetensors          moments, counters, loss scale, place in the data
//     plan.txt, kernels.json     the precision plan; which kernels were chosen by measurement
//     ...                        CheckpointOptions::files; run.json, from the program
//     manifest.json              bytes and SHA-256 of each of these
//   RUN/latest                 link to the newest; RUN/model.safetensors, plan.txt and run.json are
//                              links into it
//   RUN/best                   link to that of the best evaluation (CheckpointOptions::best)
//   RUN/lock                   locked by the training that writes there
//
// A checkpoint is written under a temporary name, brought to disk and renamed: it exists as a whole
// or not at all. `latest` follows the rename and is for people and other programs. What another
// training left in RUN moves to RUN.1, or the next number that is free, with the first checkpoint.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "narrowgauge/safetensors.h"

namespace narrowgauge {

// The files of one checkpoint.
struct NG_API Checkpoint {
  std::string path;                          // of the folder that it was read from
  TensorFile model, state;                   // safetensors
  std::map<std::string, std::string> files;  // all others, by name
  // Further differences from the training at hand, as whoever read it found, for example in its
  // data. Trainer::resume() names these beside what it finds itself, and refuses.
  std::vector<std::string> differences{};
};

// The newest whole checkpoint of a run; `folder` may also be one of its checkpoints. A damaged one
// is named in a warning, and the one before it is read. Also reads the folders of earlier versions,
// whose files lie in RUN itself. Needs no lock. Throws DataError when none is whole.
NG_API Checkpoint read_checkpoint(const std::string& folder);

}  // namespace narrowgauge
