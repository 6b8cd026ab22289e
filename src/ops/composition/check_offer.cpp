// SPDX-License-Identifier: Apache-2.0
#include "ops/composition/check_offer.h"

#include <algorithm>

#include "ops/table.h"

namespace narrowgauge {

namespace {

class OfferCheck {
 public:
  OfferCheck(const Request& request, const Offer& offer) : request_(request), offer_(offer) {}

  void run() const {
    check(offer_.run || !offer_.aliases.empty(), "it has no run function");
    check(offer_.workspace >= 0, "its workspace is ", offer_.workspace, " bytes");
    for (const InPlace& pair : offer_.in_place) check_ports(pair, "in_place names");
    for (const InPlace& pair : offer_.aliases) check_alias(pair);
    if (!offer_.aliases.empty()) check_all_are_aliases();
    check(offer_.packing.bytes <= 0 || offer_.packing.run, "its packing has no run function");
    for (const int input : offer_.packing.inputs)
      check(has(request_.inputs, input), "its packing names input ", input, ", which it lacks");
  }

 private:
  template <class... Parts>
  void check(bool holds, const Parts&... message) const {
    require(holds, "node '", request_.name, "': kernel '", offer_.implementation, "' of ",
            request_.op.full_name(), " made a wrong offer: ", message...);
  }

  static bool has(std::span<const Operand> operands, int port) {
    return port >= 0 && port < std::ssize(operands) &&
           operands[static_cast<std::size_t>(port)].present;
  }

  void check_ports(const InPlace& pair, std::string_view what) const {
    const bool known = pair.input >= 0 && pair.input < std::ssize(request_.inputs) &&
                       pair.output >= 0 && pair.output < std::ssize(request_.outputs);
    check(known, "its ", what, " input ", pair.input, " and output ", pair.output, ", of ",
          request_.inputs.size(), " and ", request_.outputs.size());
  }

  static std::int64_t bytes_of(const Operand& operand) {
    return bytes_for(stored_elements(operand.dims, operand.storage), operand.dtype);
  }

  void check_alias(const InPlace& pair) const {
    check_ports(pair, "aliases name");
    check(has(request_.inputs, pair.input), "its aliases name input ", pair.input,
          ", which is absent");
    const std::int64_t from = bytes_of(request_.input(pair.input));
    const std::int64_t to = bytes_of(request_.output(pair.output));
    check(from == to, "output ", pair.output, " of ", to, " bytes is to be input ", pair.input,
          ", which has ", from);
  }

  // Nothing is run for a node with aliases.
  void check_all_are_aliases() const {
    for (int o = 0; o < std::ssize(request_.outputs); ++o)
      check(!request_.output(o).present ||
                std::ranges::count(offer_.aliases, o, &InPlace::output) == 1,
            "its aliases must name each output once, and output ", o, " is not");
  }

  const Request& request_;
  const Offer& offer_;
};

}  // namespace

void check_offer(const Request& request, const Offer& offer) {
  if (!is_built_in(request.op)) OfferCheck(request, offer).run();
}

}  // namespace narrowgauge
