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

}  // namespace narrowgauge::cpu::onednn
