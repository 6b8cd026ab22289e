// SPDX-License-Identifier: Apache-2.0
// A chain of elementwise ops in one pass over memory: strips of values are loaded into f32
// registers in L1, every instruction runs over the strip, and results are stored in their dtype.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
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
  bool takes_bytes = false;  // as whole numbers in f32: a body dequantises and quantises them

  // Appends one op on these registers, one per input (with missing ones); returns the result's
  // register. Registers of results are numbered from `next` on.
  int append(const Elementwise& op, const Attributes& attributes, std::vector<int> registers,
             int& next);
  static StripProgram of_single(const Request& request);
  // The program of a fused group's body, which has only elementwise ops and scalar constants; and
  // perhaps a node whose result another kernel computes, which is the last input then.
  static StripProgram of_body(const Graph& body, int given = -1);
};

// A program made ready for operands, which whoever has it runs part by part: elements [begin, end)
// of the outputs in the order of memory. An output may be the memory of an input of its layout.
struct StripParts {
  std::string reason;  // why there is none; "" when there is one
  std::function<void(const KernelCall& call, std::int64_t begin, std::int64_t end)> run;
  std::int64_t total = 0;       // elements
  std::string implementation;   // what will run, for people
  std::optional<Isa> isa = {};  // of its widest instructions
};
StripParts prepare_strips(const Request& request, StripProgram program);

// Runs the program over the request's operands; declines dtypes and storages it cannot take.
Offer offer_strip_program(const Request& request, StripProgram program);

}  // namespace narrowgauge
