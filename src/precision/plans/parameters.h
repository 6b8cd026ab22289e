// SPDX-License-Identifier: Apache-2.0
// Parameters that a network sees in a narrow format, and that without masters are kept in it.
#pragma once

#include <map>
#include <string>

#include "precision/vertices/vertices.h"

namespace narrowgauge {

// Whether the vertex is a f32 parameter: its line in a plan may name f16 or bf16.
bool is_parameter(const PrecisionVertex& vertex);

// Gives the lines of the parameters that all of their readers but the update read in one narrow
// format that format; an override by the name of a parameter decides before.
void keep_parameters_narrow(PrecisionPlan& plan, const Graph& f32_graph,
                            const PrecisionRequest& wanted);

// Keeps all parameters narrow but, if it is wanted, those of BatchNormalization, whoever reads
// them: as apex casts a network.
void cast_parameters(PrecisionPlan& plan, const Graph& f32_graph, const PrecisionRequest& wanted);

// The parameters that a plan keeps without masters, by name, with their formats.
std::map<std::string, DType, std::less<>> kept_formats(const PrecisionPlan& plan);

}  // namespace narrowgauge
