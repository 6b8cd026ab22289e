// SPDX-License-Identifier: Apache-2.0
// Everything that decides how a run goes: from flags, from a resumed run, and from what suits a
// network. Kept in run.json.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/flags/hyperparameter_flags.h"
#include "cli/flags/run_precision.h"
#include "cli/flags/shape_flag.h"
#include "cli/flags/text_settings.h"
#include "cli/flags/watch_flags.h"
#include "cli/task/setting_rows.h"
#include "narrowgauge/optimizer.h"

namespace narrowgauge::cli {

// Flags as typed; empty where a flag was not given.
struct TrainFlags {
  std::optional<std::string> model, data;
  GivenSettings given;
  PrecisionFlags precision;
  HyperparameterFlags hyperparameters;  // of the optimizer
  TextFlags text;
  WatchFlags watch;
  std::vector<std::string> compare;
  std::optional<std::string> save_plan, output, resume, weights, weights_match;
  std::optional<std::string> device, trace, checkpoint_every, recompute;
  std::optional<std::string> file, quantize, loss_output, onnx;
  KnownInputFlags known;
  std::optional<double> tolerance;
  std::optional<std::int64_t> keep;
  bool batch_norm = false, json = false, quiet = false, report = false, keep_ranges = false;
};

// What a network from a file of ONNX is trained as.
struct OnnxSettings {
  std::string file;                         // "": the network is a built-in one
  std::string kept;                         // name of the copy in the folder of the run
  std::vector<std::string> shapes, values;  // of inputs, as --shape and --value state them
  std::string output;                       // that the loss is of; "": the first
  bool batch_norm = false;                  // whether BatchNormalization gets its form for training
  bool operator==(const OnnxSettings&) const = default;
};

// How a run judges its own progress.
struct WatchSettings {
  std::string metric = "loss";    // of the test set
  std::int64_t patience = 0;      // epochs without a better value that end the run; 0: none do
  double least_change = 0;        // by more than which a value is better, for patience
  double plateau = 0;             // factor of the rate after 10 such epochs; 0: none
  bool keeps_best = false;        // whether the best checkpoint stays
  std::int64_t most_skips = 100;  // steps in a row whose skipping ends the run
  bool operator==(const WatchSettings&) const = default;
};

// How data become samples.
struct DataSettings {
  std::string image;              // size of the network's input, "3x64x64"; "": the usual one
  std::string augment;            // random changes of images in training; "": none
  std::string layout;             // of images in arrays, nhwc or nchw; "": it is found
  double test_share = 0.2;        // of a set without a part for the test
  bool strict = false;            // whether damaged samples are errors
  std::string label;              // column of a table; "": it is found
  std::vector<std::string> skip;  // columns of a table that are passed over
  std::string table;              // what the columns of the run's table became (tables.h)
  bool operator==(const DataSettings&) const = default;
};

// The batch of most networks; where samples are few it is smaller (fitting_batch()).
inline constexpr std::int64_t usual_training_batch = 128;

struct Settings {
  std::string model, data = "glyphs";
  OnnxSettings onnx;
  TextSettings text;                   // of language models
  std::string loss;                    // "": softmax cross entropy
  std::vector<std::string> freeze;     // patterns of parameters that keep their values
  std::vector<std::string> groups;     // settings of parameters by pattern (parameter_groups.h)
  bool decays_vectors = true;          // whether weight decay is for biases and normalization too
  std::vector<float> mean, deviation;  // of images; none: those of the training set
  DataSettings samples;
  RunPrecision precision;
  std::int64_t epochs = 3, batch = usual_training_batch;
  std::int64_t accumulation = 1;  // equal parts of a batch, one after the other
  std::string optimizer = "sgd";
  double learning_rate = 0.05, clip = 0, clip_value = 0;
  double ema_decay = 0;  // of moving averages of the weights; 0: there are none
  UpdateRule rule;       // of the optimizer, with its hyperparameters
  std::string schedule = "cosine";
  std::int64_t warmup = -1;          // steps; -1: what suits network and length
  std::string loss_scale;            // "": dynamic for f16, off otherwise
  std::vector<std::string> metrics;  // that tests also measure
  WatchSettings watch;
  std::int64_t seed = 1;
  int threads = 0;  // 0: all
  bool deterministic = false;

  bool operator==(const Settings&) const = default;
};

// The usual settings for a network and an optimizer.
Settings usual_settings(const std::string& model, const std::string& optimizer);

// The batch for so many samples to train on, where that of the network is usual. The usual one of
// most networks becomes the largest power of two from 8 on that has 50 steps in an epoch. Where
// there are too few for 8 steps, or for one of a network's own batches, an epoch has 8.
std::int64_t fitting_batch(std::int64_t usual, std::int64_t samples);
// Makes the batch fit, in parts of equal size, unless it is given or a resumed run's.
void fit_batch(Settings& settings, std::int64_t samples, const TrainFlags& flags);

// Takes flags first, then the resumed run, or else the environment and the usual values. Throws
// UsageError and ModelError for unknown names.
Settings settle(const TrainFlags& flags, const std::optional<Settings>& resumed);

// Throws ModelError naming the networks there are.
void require_model(const std::string& name);
// Throws as require_model(), unless the network comes from a file.
void require_network(const Settings& settings);
// Throws DeviceError for anything but the CPU.
void require_device(const std::optional<std::string>& name);

Optimizer make_optimizer(const Settings& settings, std::int64_t steps_per_epoch);
// Throws UsageError naming the first setting that makes no sense.
void check_settings(const Settings& settings);

}  // namespace narrowgauge::cli
