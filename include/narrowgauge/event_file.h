// SPDX-License-Identifier: Apache-2.0
// Files that TensorBoard reads: numbers and histograms over the steps of a training.
//
//   EventFile events("runs/lenet/events");
//   for (std::int64_t step = 1; step <= 1000; ++step) {
//     const StepResult result = trainer.step(batch);
//     events.scalar("train/loss", step, result.loss);
//   }
//
// The format is TFRecord's framing (length and payload, each with a masked CRC-32C) of Event
// protocol buffers (tensorflow/core/util/event.proto).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "narrowgauge/export.h"
#include "narrowgauge/held.h"
#include "narrowgauge/tensor.h"

namespace narrowgauge {

// Adds a file events.out.tfevents.* to a folder; each call writes one whole record, so that whoever
// reads while the training runs, or after it was killed, finds all up to there. All members throw
// DataError naming the file where it cannot be written. Belongs to one thread at a time.
class NG_API EventFile {
 public:
  explicit EventFile(const std::string& folder);  // makes the folder
  ~EventFile();
  EventFile(EventFile&&) noexcept;             // the other throws UsageError when it is used
  EventFile& operator=(EventFile&&) noexcept;  // the same

  // A number at a step; tags with one prefix before "/" stand together on the page.
  void scalar(std::string_view tag, std::int64_t step, double value);
  // How the elements of a real tensor are spread, in buckets that grow by a tenth as TensorFlow's
  // do. Infinities and NaN are left out, and counted as the scalar "TAG/not_finite" where there are
  // any.
  void histogram(std::string_view tag, std::int64_t step, const Tensor& values);
  // Says that the training begins at this step again: readers drop what earlier files of the folder
  // have from there on.
  void restart(std::int64_t step);
  const std::string& path() const;  // of the file

 private:
  struct Implementation;
  Held<"event file", std::unique_ptr<Implementation>> implementation_;
};

}  // namespace narrowgauge
