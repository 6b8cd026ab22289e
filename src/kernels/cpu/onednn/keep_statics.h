// SPDX-License-Identifier: Apache-2.0
// oneDNN has its static objects destroyed at the end of a program, among them code that primitives
// run and tables that new primitives are made from. Whoever computes after that, in a destructor of
// a static object or in a thread that still runs, would use what is no longer there.
#pragma once

namespace narrowgauge::cpu::onednn {

// From now on the end of a program leaves oneDNN's static objects as they are; only unloading
// destroys them. Changes one entry of the table by which oneDNN's library calls libc. Where that
// table is of another form, all stays as it is.
void keep_statics();

// A call into oneDNN. What it made when it was loaded ends with it all the same, last of all at the
// end of a program: that waits for the calls under way, and who calls in another thread then stays
// there until the process is gone.
class InUse {
 public:
  InUse();
  ~InUse();
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;
};

}  // namespace narrowgauge::cpu::onednn
