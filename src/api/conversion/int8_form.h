// SPDX-License-Identifier: Apache-2.0
// Forms of a network on bytes: which contractions go back to wider formats, and what is computed
// beside the others in.
#pragma once

#include "api/conversion/engine_form.h"
#include "api/conversion/int8_conversion.h"

namespace narrowgauge {

// The network with contractions on bytes, as many as the budget allows: the most sensitive go back
// first. With EnginePrecision::automatic, those that bytes do not make faster go back too.
EngineForm int8_form(const Graph& f32, const Int8Conversion& conversion,
                     const ConvertOptions& options, const FormBudget& budget);

// A network that is quantized already.
EngineForm int8_form_as_given(const Graph& quantized, const FormBudget& budget);

// The form with all that does not compute on bytes in bf16, where the precision lists allow it. On
// machines with a unit for bf16 the functions above take it where a limited budget holds and
// predictions come clearly sooner.
EngineForm with_bf16_beside_bytes(const EngineForm& form, const FormBudget& budget);

}  // namespace narrowgauge
