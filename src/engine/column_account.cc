#include "gpusched/engine/column_account.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "gpusched/base/quantity.h"
#include "gpusched/engine/explain.h"

namespace gpusched {
namespace {

using Column = FitColumns::Column;
using Flag = FitColumns::Flag;
using Bits = std::uint64_t;  // a set of nodes of one word

// A filter that compares one amount.
struct Comparison {
  Column free = Column::kCpuFree;
  Column capacity = Column::kCpuCapacity;
  std::int32_t need = 0;
  // With how much a node that lacks this is nearer than the nearest so far, and with how much as
  // near.
  std::int32_t nearer = 0;
  std::int32_t as_near = 0;
};

// The nodes that one filter refuses.
struct Refused {
  Reason reason = Reason::kNone;
  Bits all = 0;
  Bits never = 0;                      // of these
  const Comparison* amount = nullptr;  // null: it gives no numbers, which is to lack all
};

class Account {
 public:
  Account(const FitColumns& columns, const ClusterState& state, const Shape& shape)
      : columns_(columns),
        state_(state),
        shape_(shape),
        test_(FitColumns::DeviceTestOf(shape)),
        divides_(columns.Divides(shape.models)),
        never_offered_(shape.asks_gpu() && (shape.wants() & (kOfferWhole | kOfferShare)) == 0) {
    cpu_.need = static_cast<std::int32_t>(std::max<std::int64_t>(0, shape.cpu_milli));
    memory_.free = Column::kMemFree;
    memory_.capacity = Column::kMemCapacity;
    memory_.need = static_cast<std::int32_t>(std::max<std::int64_t>(0, shape.mem_mib));
    devices_.free = test_.free;
    devices_.capacity = test_.capacity;
    devices_.need = test_.bound;
    device_memory_.free = Column::kMostDeviceMem;
    device_memory_.capacity = Column::kLargestDeviceMem;
    device_memory_.need = static_cast<std::int32_t>(
        std::clamp<std::int64_t>(shape.gpu_mem_mib, 0, FitColumns::kMost));
  }

  Refusal Run() {
    for (std::size_t word = 0; word < columns_.words(); ++word) AddWord(word);
    return {.nodes_by_reason = counts_,
            .outcome = all_never_ ? Outcome::kNever : Outcome::kWait,
            .nearest = builder_.nearest(),
            .shortfall = builder_.nearest_shortfall()};
  }

 private:
  // Of the devices there are three answers, of which a node gets one.
  static constexpr std::size_t kFilters = 7;
  // A node without an allowed device is not asked about devices.
  static constexpr std::size_t kMostFailing = 4;
  struct Judged {
    std::array<Refused, kFilters> filters;
    Bits never = 0;  // any of them says so
  };

  void AddWord(std::size_t word) {
    const Bits live = columns_.Word(Flag::kLive, word);
    if (live == 0) return;
    const Bits allowed =
        shape_.asks_gpu() ? live & columns_.WithModel(shape_.models, word) : Bits{0};
    const Bits asked = allowed & Unsure(word);
    const Bits told = live & ~asked;
    const Judged judged = Judge(word, told, allowed & told);
    for (const Refused& refused : judged.filters) {
      if (refused.all == 0) continue;
      counts_[static_cast<std::size_t>(refused.reason)] +=
          static_cast<std::uint32_t>(std::popcount(refused.all));
    }
    if ((told & ~judged.never) != 0) all_never_ = false;

    // The others in node order, which decides between nodes that are as near.
    Bits left = Near(word, judged) | asked;
    while (left != 0) {
      const auto first = static_cast<std::size_t>(std::countr_zero(left));
      left &= left - 1;
      const bool counts = ((asked >> first) & 1) != 0;
      const bool found_nearer = Ask(columns_.slot(word * FitColumns::kWord + first), counts);
      if (found_nearer) left &= Near(word, judged) | asked;
    }
  }

  // Of the nodes with an allowed device, those of which the columns don't tell what devices they
  // have.
  Bits Unsure(std::size_t word) const {
    if (!shape_.asks_gpu()) return 0;
    Bits unsure = columns_.Word(Flag::kNotPlain, word);
    // A device that has nothing to give may be one that is shared in the right way.
    if (never_offered_) return unsure | columns_.Word(Flag::kOutOfService, word);
    if (!test_.exists || shape_.gpu_mem_mib >= FitColumns::kMost) return ~Bits{0};
    if (divides_) unsure |= columns_.Word(Flag::kSeveralModels, word);
    if (shape_.gpu_mem_mib > 0) {
      // One device may have the memory and another the share; or be able to have them.
      const Bits lacking = ~Memory(Column::kLeastDeviceMem, word);
      unsure |= lacking & Memory(Column::kMostDeviceMem, word);
      unsure |= lacking & ~Memory(Column::kSmallestDeviceMem, word) &
                Memory(Column::kLargestDeviceMem, word);
    }
    return unsure;
  }

  // Nodes with the asked device memory, by the amount of a column.
  Bits Memory(Column column, std::size_t word) const {
    return columns_.AtLeast(column, word, device_memory_.need);
  }

  Judged Judge(std::size_t word, Bits told, Bits allowed) const {
    Judged judged;
    auto& [cordoned, model, cpu, memory, devices, device_memory, neither] = judged.filters;
    cordoned = {.reason = Reason::kCordoned, .all = told & columns_.Word(Flag::kCordoned, word)};
    cpu = Compare(word, told, cpu_, Reason::kInsufficientCpu);
    memory = Compare(word, told, memory_, Reason::kInsufficientMemory);
    if (shape_.asks_gpu()) {
      const Bits others = told & ~allowed;
      model = {.reason = Reason::kModelNotAllowed, .all = others, .never = others};
      if (never_offered_) {
        devices = {.reason = Reason::kSharingNotOffered, .all = allowed, .never = allowed};
      } else {
        Bits enough = allowed;
        if (allowed != 0 && device_memory_.need > 0) {
          enough = allowed & Memory(Column::kLeastDeviceMem, word);
          JudgeWithoutMemory(word, allowed & ~enough, device_memory, neither);
        }
        devices = Compare(word, enough, devices_, DevicesReason());
      }
    }
    for (const Refused& refused : judged.filters) judged.never |= refused.never;
    return judged;
  }

  // Nodes that have the asked memory on no device: with enough of them but for that, or without.
  // What they have of it, of those devices, is at most what the columns say.
  void JudgeWithoutMemory(std::size_t word, Bits nodes, Refused& lacks_memory,
                          Refused& lacks_both) const {
    if (nodes == 0) return;
    const Bits with_share = nodes & columns_.AtLeast(devices_.free, word, devices_.need);
    const Bits able = Memory(Column::kLargestDeviceMem, word) &
                      columns_.AtLeast(devices_.capacity, word, devices_.need);
    lacks_memory = {.reason = Reason::kInsufficientGpuMemory,
                    .all = with_share,
                    .never = with_share & ~able,
                    .amount = &device_memory_};
    lacks_both = {.reason = DevicesReason(),
                  .all = nodes & ~with_share,
                  .never = nodes & ~with_share & ~able,
                  .amount = &devices_};
  }

  Reason DevicesReason() const {
    return shape_.shares() ? Reason::kNoDeviceWithRoom : Reason::kTooFewWholeDevices;
  }

  Refused Compare(std::size_t word, Bits nodes, const Comparison& amount, Reason reason) const {
    if (nodes == 0 || amount.need == 0) return {};
    const Bits all = nodes & ~columns_.AtLeast(amount.free, word, amount.need);
    if (all == 0) return {};
    const Bits never = all & ~columns_.AtLeast(amount.capacity, word, amount.need);
    return {.reason = reason, .all = all, .never = never, .amount = &amount};
  }

  // The refused nodes that come nearer than the nearest so far, and some that may.
  Bits Near(std::size_t word, const Judged& judged) const {
    // by[n]: nodes that n filters or more refuse.
    std::array<Bits, kMostFailing + 2> by{};
    for (const Refused& refused : judged.filters) {
      if (refused.all == 0) continue;
      for (std::size_t n = kMostFailing; n > 1; --n) by[n] |= by[n - 1] & refused.all;
      by[1] |= refused.all;
    }
    const std::size_t fewest = builder_.nearest_failing();
    if (fewest == 0) return by[1];
    const Bits fewer = by[1] & ~by[fewest];
    const Bits as_few = by[fewest] & ~by[fewest + 1];
    if (as_few == 0) return fewer;
    // A node lacks as much as what it lacks most of; if something is lacking for ever, of that.
    Bits farther = 0;
    for (const Refused& refused : judged.filters) {
      if (refused.all == 0) continue;
      const Bits now = refused.all & as_few & ~judged.never;
      const Bits ever = refused.never & as_few;
      // Of nodes that lack as much, one that could take the task when empty is nearer.
      if (now != 0) farther |= now & ~Has(word, refused.amount, builder_.nearest_never());
      if (ever != 0) farther |= ever & ~Has(word, refused.amount, false);
    }
    return fewer | (as_few & ~farther);
  }

  // Nodes that lack less of the amount than the nearest so far lacks; or as much, if that will do.
  Bits Has(std::size_t word, const Comparison* amount, bool as_much_will_do) const {
    if (amount == nullptr) return as_much_will_do && nearest_has_nothing_ ? ~Bits{0} : Bits{0};
    return columns_.AtLeast(amount->free, word, as_much_will_do ? amount->as_near : amount->nearer);
  }

  // Asks the filters about a node, which may become the nearest: then says true.
  bool Ask(std::uint32_t slot, bool counts) {
    const NodeView node = state_.node(slot);
    const NodeId before = builder_.nearest();
    bool never = false;
    builder_.BeginNode(node.id());
    FitFilters().ForEach(node, shape_, [&](const Shortfall& shortfall) {
      builder_.Add(shortfall);
      if (shortfall.verdict.ok() || !counts) return;
      ++counts_[static_cast<std::size_t>(shortfall.verdict.reason)];
      never = never || shortfall.verdict.outcome == Outcome::kNever;
    });
    builder_.EndNode();
    if (counts && !never) all_never_ = false;
    if (builder_.nearest() == before) return false;
    const Shortfall& shortfall = builder_.nearest_shortfall();
    nearest_has_nothing_ = shortfall.have == 0;
    for (Comparison* const amount : {&cpu_, &memory_, &devices_, &device_memory_}) {
      SetNear(shortfall, *amount);
    }
    return true;
  }

  // Shares are compared exactly: (need − x) / need < (s.need − s.have) / s.need.
  static void SetNear(const Shortfall& shortfall, Comparison& amount) {
    const Wide all = shortfall.need == 0 ? 1 : shortfall.need;
    const Wide had = Wide{amount.need} * shortfall.have;
    amount.nearer = static_cast<std::int32_t>(had / all + 1);
    amount.as_near = static_cast<std::int32_t>((had + all - 1) / all);
  }

  const FitColumns& columns_;
  const ClusterState& state_;
  const Shape& shape_;
  const FitColumns::DeviceTest test_;
  const bool divides_;
  // What is asked can't be had of plain nodes, empty or not.
  const bool never_offered_;
  Comparison cpu_, memory_, devices_, device_memory_;

  std::array<std::uint32_t, kReasons> counts_{};
  bool all_never_ = true;
  RefusalBuilder builder_;  // knows the nearest, not the counts
  bool nearest_has_nothing_ = false;
};

}  // namespace

Refusal ExplainByColumns(FitColumns& columns, const ClusterState& state, const Shape& shape) {
  const bool narrow = shape.cpu_milli < FitColumns::kMost && shape.mem_mib < FitColumns::kMost;
  if (!narrow || state.node_count() == 0) {
    return ExplainNodes(state, shape, [](const NodeView&, const auto&) {});
  }
  columns.SynchroniseCapacity(state);
  return Account(columns, state, shape).Run();
}

}  // namespace gpusched
