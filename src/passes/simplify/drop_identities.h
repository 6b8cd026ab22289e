// SPDX-License-Identifier: Apache-2.0
// Identity changes nothing that is computed. Before an output it tells a precision plan that what
// comes before it need not keep the output's format; once the plan is applied, it is not needed.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

// Whatever reads an Identity of a computed value reads the value itself, in regions too. Next
// values of states keep theirs, and so do inputs, states and constants that are read through one:
// a state may change in place while its old value is still to be read.
Graph drop_identities(const Graph& graph);

// Drops Identities as drop_identities() does, but for those that make an output themselves, as an
// import leaves them.
Graph keep_identities_of_outputs(const Graph& graph);

}  // namespace narrowgauge
