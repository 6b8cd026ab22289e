// SPDX-License-Identifier: Apache-2.0
// A chain of elementwise ops run in one pass over memory: strips of values are loaded to f32
// registers in L1, every instruction runs over the strip, results are stored in their dtype.
#pragma once

#include <string>
#include <vector>

#include "narrowgauge/graph.h"

namespace narrowgauge {

struct StripProgram {
  struct Instruction {
    const Elementwise* op;
    Attributes attributes;
    std::vector<int> inputs;  // registers
    int output;
  };
  // Registers: first one for each input, then constants, then results.
  int input_count = 0;
  std::vector<double> constants;
  std::vector<Instruction> instructions;
  std::vector<int> outputs;  // registers, one per output
  std::string reason;        // why there is no program; "" when there is one

  // Computes one op from these registers, one per input or missing one; returns the register of the
  // result. Registers of results count on from `next`.
  int append(const Elementwise& op, const Attributes& attributes, std::vector<int> registers,
             int& next);
  static StripProgram of_single(const Request& request);
  // The body of a fused group: elementwise ops and scalar constants only.
  static StripProgram of_body(const Graph& body);
};

// Runs the program over the request's operands; declines dtypes and storages it cannot take.
Offer offer_strip_program(const Request& request, StripProgram program);

}  // namespace narrowgauge
