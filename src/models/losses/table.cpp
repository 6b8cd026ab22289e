// SPDX-License-Identifier: Apache-2.0
#include "models/losses/table.h"

#include "narrowgauge/error.h"

namespace narrowgauge {

std::vector<std::string> loss_names() { return names_of(losses()); }

Loss parse_loss(std::string_view text) {
  const std::string_view name = text.substr(0, text.find('('));
  const NamedLoss* const found = find_record(losses(), name);
  require(found, "loss: expected one of ", listed_names(losses()), ", got '", text, '\'');
  LossArguments arguments(name, text.substr(name.size()));
  Loss loss = found->make(arguments);
  arguments.require_all_taken();
  return loss;
}

}  // namespace narrowgauge
