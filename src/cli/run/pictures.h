// SPDX-License-Identifier: Apache-2.0
// Pictures in files as inputs of a model: in its colours, size and layout.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "narrowgauge/model.h"

namespace narrowgauge::cli {

struct InputFlags;
class Preprocess;

// Whether axes of an image or a batch of images [.., H, W, C] end in the channels, as far as what
// the input states tells: else the channels stand in front of height and width.
bool wants_channels_last(const ModelPort* port, std::int64_t channels);

// Whether a file begins as a picture does, whatever its name. Throws DataError for what is no file.
bool is_picture(const std::string& path);

// The picture as the input wants it: a batch of one where the input has four axes, the file's bytes
// where it is u8[n]. Says on stderr when it resizes. Throws UsageError for an input that cannot be
// a picture, DataError for the file.
Tensor read_picture(const std::string& path, const ModelPort* port, const InputFlags& flags,
                    const Preprocess& preprocess);

// Pictures one after another, as one batch. Throws UsageError unless they are of one size.
Tensor joined(const Tensor& batch, const Tensor& next, const std::string& input);

}  // namespace narrowgauge::cli
