// SPDX-License-Identifier: Apache-2.0
// What a run writes step by step costs as much after a long time as at its beginning.
#include <gtest/gtest.h>

#include "api/runs/checkpoint_folder.h"
#include "io/files.h"
#include "narrowgauge/csv_log.h"
#include "narrowgauge/event_file.h"
#include "support/bytes_moved.h"

namespace narrowgauge::long_run_test {
namespace {

using testing_files::TemporaryFolder;
using testing_support::bytes_moved_by;
using testing_support::BytesMoved;

TEST(long_run, a_row_and_an_event_cost_their_own_bytes) {
  const TemporaryFolder folder;
  CsvLog log(folder / "metrics.csv");
  EventFile events(folder / "events");
  log.add(1000, {{"loss", 0.5}, {"rate", 0.25}});  // begins the file
  const auto step = [&](std::int64_t number) {
    return bytes_moved_by([&] {
      log.add(number, {{"loss", 0.5}, {"rate", 0.25}});
      events.scalar("loss", number, 0.5);
    });
  };
  const BytesMoved first = step(1001);
  for (std::int64_t number = 1002; number < 4000; ++number) step(number);
  const BytesMoved last = step(4000);
  EXPECT_EQ(first.read, 0);
  EXPECT_EQ(last.read, 0);
  EXPECT_EQ(last.written, first.written);
}

Checkpoint small_checkpoint() {
  Checkpoint content;
  content.state.metadata = {{"run", "this"}, {"steps", "1"}, {"epoch", "1"}};
  return content;
}

TEST(long_run, a_checkpoint_beside_many_costs_as_much_as_beside_few) {
  const TemporaryFolder folder;
  CheckpointFolder checkpoints(folder / "run");
  const auto add = [&] {
    return bytes_moved_by([&] { checkpoints.add(small_checkpoint(), 1000); });
  };
  for (int i = 0; i < 10; ++i) add();
  const BytesMoved few = add();
  for (int i = 0; i < 89; ++i) add();
  const BytesMoved many = add();
  EXPECT_LE(many.read, few.read + 64);  // numbers have more digits
  EXPECT_LE(many.written, few.written + 64);
}

TEST(long_run, checkpoints_of_another_run_go_as_before) {
  const TemporaryFolder folder;
  {
    CheckpointFolder checkpoints(folder / "run");
    for (int i = 0; i < 3; ++i) checkpoints.add(small_checkpoint(), 1000);
  }
  CheckpointFolder checkpoints(folder / "run");
  Checkpoint other = small_checkpoint();
  other.state.metadata["run"] = "other";
  checkpoints.add(other, 1000);
  const std::string last = checkpoints.add(other, 1000);
  int kept = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "run/checkpoints"))
    kept += entry.is_directory();
  EXPECT_EQ(kept, 2);
  EXPECT_TRUE(std::filesystem::exists(last));
}

}  // namespace
}  // namespace narrowgauge::long_run_test
