// SPDX-License-Identifier: Apache-2.0
#include "ops/control/prepared_regions.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <utility>

#include "base/enumerate.h"
#include "base/random.h"
#include "ir/attributes.h"
#include "ops/composition/prepared_graph.h"
#include "ops/control/control_flow.h"

namespace narrowgauge {

namespace {

// Rounds over which packing what they share is worth its time.
constexpr std::int64_t least_rounds_to_pack_for = 8;

// A region made ready, once for each call that runs at the same time.
class PreparedRegion {
 public:
  // The last `lasting` inputs of the region are the same in all rounds of a call.
  PreparedRegion(Region region, const Request& request, std::string_view stream,
                 std::size_t lasting)
      : region_(std::move(region)),
        lasting_(lasting),
        target_(request.target),
        deterministic_(request.deterministic),
        stream_(stream.empty() ? request.name : stream),
        is_random_(std::ranges::any_of(region_->nodes(),
                                       [](const Node& node) { return is_random(node); })) {
    idle_.push_back(make());
  }

  void get_ready() { idle_.front()->get_ready(); }

  std::unique_ptr<PreparedGraph> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<PreparedGraph> graph = std::move(idle_.back());
        idle_.pop_back();
        return graph;
      }
      idle_.reserve(++all_);
    }
    std::unique_ptr<PreparedGraph> graph = make();
    graph->get_ready();
    return graph;
  }
  // Called from a destructor: takes no memory.
  void give_back(std::unique_ptr<PreparedGraph> graph) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(graph));
  }

  // What random numbers of a round depend on; as RegionCall::run() has it.
  RunContext context(const RunContext& outer, std::int64_t round) const {
    if (!is_random_) return outer;
    return {outer.seed, stable_hash(concat(stream_, '/', round), outer.step)};
  }

 private:
  std::unique_ptr<PreparedGraph> make() const {
    return std::make_unique<PreparedGraph>(*region_, target_, deterministic_, lasting_);
  }

  Region region_;
  std::size_t lasting_;
  Target target_;
  bool deterministic_;
  std::string stream_;
  bool is_random_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<PreparedGraph>> idle_;
  std::size_t all_ = 1;  // that may come back, for which there is room
};

// A graph of a region, lent for one call.
class Lent {
 public:
  explicit Lent(PreparedRegion& region) : region_(region), graph_(region.take()) {}
  ~Lent() { region_.give_back(std::move(graph_)); }
  Lent(const Lent&) = delete;
  PreparedGraph* operator->() { return graph_.get(); }
  PreparedGraph& operator*() { return *graph_; }

 private:
  PreparedRegion& region_;
  std::unique_ptr<PreparedGraph> graph_;
};

std::string reason_against(const Request& request) {
  for (const auto operands : {request.inputs, request.outputs})
    for (const Operand& operand : operands)
      if (operand.present &&
          (!operand.storage.is_plain() || operand.strides != dense_strides(operand.dims)))
        return "an operand is not dense";
  if (request.math != Math::none) return "the region has contractions under one math";
  return "";
}

std::int64_t bytes_of(const Operand& operand) {
  return element_count(operand.dims) * bits(operand.dtype) / 8;
}

// Makes the offer of a kernel from what it does in a call with its regions, unless one is refused.
// The last `lasting` inputs of a region are the same in all rounds of a call.
template <class Run>
Offer offer_regions(const Request& request, const std::vector<Region>& regions,
                    std::string_view stream, std::size_t lasting, Run run) {
  if (std::string reason = reason_against(request); !reason.empty())
    return Offer::decline(std::move(reason));
  auto prepared = std::make_shared<std::vector<std::unique_ptr<PreparedRegion>>>();
  try {
    for (const Region& region : regions)
      prepared->push_back(std::make_unique<PreparedRegion>(region, request, stream, lasting));
  } catch (const UsageError& error) {
    return Offer::decline(error.what());
  }
  Offer offer;
  offer.implementation = "prepared";
  offer.prepare = [prepared, run = std::move(run)](Offer& ready) {
    for (const auto& region : *prepared) region->get_ready();
    ready.run = [prepared, run](const KernelCall& call) { run(*prepared, call); };
  };
  return offer;
}

// Memory of no bytes may be nowhere, which memcpy does not allow.
void copy_bytes(std::byte* to, const void* from, std::int64_t bytes) {
  std::copy_n(static_cast<const std::byte*>(from), bytes, to);
}

void copy(const void* from, const View& to, std::int64_t bytes, std::int64_t offset = 0) {
  if (to.data) copy_bytes(to.as<std::byte>() + offset, from, bytes);
}

// Values that go from round to round, in memory of their own.
class Carried {
 public:
  void add(const void* first, std::int64_t bytes) {
    values_.emplace_back(DType::u8, Dims{bytes});
    copy_bytes(values_.back().data(), first, bytes);
  }
  std::size_t size() const { return values_.size(); }
  const Tensor& operator[](std::size_t i) const { return values_[i]; }
  // Takes the outputs of a round, the first of which is output `first`. An output may be another
  // value's memory, so that all are read before any is written.
  void take(PreparedGraph& graph, std::size_t first) {
    next_.resize(values_.size());
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (next_[i].bytes() != values_[i].bytes()) next_[i] = Tensor(DType::u8, values_[i].dims());
      copy_bytes(next_[i].data(), graph.output(first + i), next_[i].bytes());
    }
    std::swap(values_, next_);
  }

 private:
  std::vector<Tensor> values_, next_;
};

}  // namespace

Offer offer_prepared_if(const Request& request) {
  const auto& op = request.as<If>();
  return offer_regions(request, {op.then_branch, op.else_branch}, op.stream, 0,
                       [](auto& branches, const KernelCall& call) {
                         PreparedRegion& branch =
                             *branches[*call.input(0).template as<const bool>() ? 0 : 1];
                         std::vector<const void*> inputs;
                         for (std::size_t i = 1; i < call.inputs.size(); ++i)
                           inputs.push_back(call.inputs[i].data);
                         Lent graph(branch);
                         graph->run(inputs, branch.context(call.context, 0));
                         for (std::size_t o = 0; o < call.outputs.size(); ++o)
                           copy(graph->output(o), call.outputs[o], graph->output_bytes(o));
                       });
}

Offer offer_prepared_scan(const Request& request) {
  const auto& op = request.as<Scan>();
  const auto states =
      static_cast<std::size_t>(op.state_count(static_cast<int>(request.inputs.size())));
  const auto scans = static_cast<std::size_t>(op.num_scan_inputs);
  const std::int64_t length = request.inputs[states].dims[0];
  std::vector<std::int64_t> bytes;
  for (const Operand& operand : request.inputs) bytes.push_back(bytes_of(operand));
  const auto is_backwards = [](const Dims& directions, std::size_t i) {
    return i < directions.size() && directions[i] == 1;
  };
  const auto lasting =
      length >= least_rounds_to_pack_for ? static_cast<std::size_t>(op.captured) : 0;
  return offer_regions(
      request, {op.body}, op.stream, lasting, [=](auto& regions, const KernelCall& call) {
        Carried carried;
        std::vector<const void*> inputs;
        for (const View& view : call.inputs) inputs.push_back(view.data);
        for (std::size_t s = 0; s < states; ++s) carried.add(inputs[s], bytes[s]);
        Lent body(*regions[0]);
        body->pack(inputs);
        for (std::int64_t t = 0; t < length; ++t) {
          for (std::size_t s = 0; s < states; ++s) inputs[s] = carried[s].data();
          for (std::size_t s = states; s < states + scans; ++s) {
            const std::int64_t at =
                is_backwards(op.scan_input_directions, s - states) ? length - 1 - t : t;
            inputs[s] = call.inputs[s].template as<std::byte>() + at * (bytes[s] / length);
          }
          body->run(inputs,
                    regions[0]->context(call.context, op.stream_backwards ? length - 1 - t : t));
          for (std::size_t o = states; o < call.outputs.size(); ++o) {
            const std::int64_t at =
                is_backwards(op.scan_output_directions, o - states) ? length - 1 - t : t;
            copy(body->output(o), call.outputs[o], body->output_bytes(o),
                 at * body->output_bytes(o));
          }
          carried.take(*body, 0);
        }
        for (std::size_t s = 0; s < states; ++s)
          copy(carried[s].data(), call.outputs[s], carried[s].bytes());
      });
}

Offer offer_prepared_loop(const Request& request) {
  const auto& op = request.as<Loop>();
  const auto kept = static_cast<std::size_t>(op.carried);
  std::vector<std::int64_t> bytes;
  for (const Operand& operand : request.inputs)
    bytes.push_back(operand.present ? bytes_of(operand) : 0);
  const bool stacks = request.outputs.size() > kept;
  const std::int64_t length = stacks ? request.outputs[kept].dims[0] : 0;
  return offer_regions(request, {op.body}, "", 0, [=](auto& regions, const KernelCall& call) {
    const auto value = [&](std::size_t i) {
      return i < call.inputs.size() ? call.inputs[i].data : nullptr;
    };
    const std::int64_t trips = value(0) ? *static_cast<const std::int64_t*>(value(0))
                                        : std::numeric_limits<std::int64_t>::max();
    bool going = !value(1) || *static_cast<const bool*>(value(1));
    Carried carried;
    for (std::size_t i = 0; i < kept; ++i) carried.add(value(i + 2), bytes[i + 2]);
    std::int64_t round = 0;
    const bool on = true;
    std::vector<const void*> inputs{&round, &on};
    for (std::size_t i = 2; i < call.inputs.size(); ++i) inputs.push_back(call.inputs[i].data);
    Lent body(*regions[0]);
    for (; round < trips && going; ++round) {
      for (std::size_t i = 0; i < kept; ++i) inputs[i + 2] = carried[i].data();
      body->run(inputs, regions[0]->context(call.context, round));
      going = *static_cast<const bool*>(body->output(0));
      require(!stacks || round < length, "a loop of ", length, " iterations went on");
      for (std::size_t o = kept; o < call.outputs.size(); ++o)
        copy(body->output(o + 1), call.outputs[o], body->output_bytes(o + 1),
             round * body->output_bytes(o + 1));
      carried.take(*body, 1);
    }
    require(!stacks || round == length, "a loop of ", length, " iterations ended after ", round);
    for (std::size_t i = 0; i < kept; ++i)
      copy(carried[i].data(), call.outputs[i], carried[i].bytes());
  });
}

}  // namespace narrowgauge
