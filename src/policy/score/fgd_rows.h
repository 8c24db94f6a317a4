// FgdRows: Fgd asked about many shapes on one node.
#ifndef GPUSCHED_SRC_POLICY_SCORE_FGD_ROWS_H_
#define GPUSCHED_SRC_POLICY_SCORE_FGD_ROWS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "gpusched/base/device_mask.h"
#include "gpusched/policy/row_scorer.h"
#include "gpusched/policy/score/fgd.h"

namespace gpusched {

// Usable GPU of a node is a sum over its devices (FragmentTable::ByAmounts), so after a placement
// it is the sum for the CPU that is then left, with the terms of the taken devices exchanged. Terms
// are tables by row of the FragmentTable and by what is left, in steps that all requests are
// multiples of; sums are shared by shapes that ask as much CPU.
class FgdRows final : public RowScorer {
 public:
  explicit FgdRows(Fgd score);

  void SetLane(std::size_t lane, const Shape& shape) override;
  void ScoreRow(const NodeView& node, const LaneMask& asked, Score* out) override;
  NodeChoice Best(const NodeView& node, std::size_t at, DeviceOrder order) override;
  bool shares_work() const override { return true; }

 private:
  struct Lane {
    std::int64_t taken = 0;       // milli × total weight
    std::int32_t amount = 0;      // steps of one device, or whole devices
    std::uint32_t cpu_class = 0;  // in classes_
  };
  // Shapes that ask as much CPU, as scores count it; and the node with that taken.
  struct CpuClass {
    std::int64_t cpu_milli = 0;
    std::int64_t quanta = 0;              // cpu_milli in quanta of the FragmentTable
    std::int64_t rest = 0;                // and what is beside them
    const std::int64_t* part = nullptr;   // by steps left
    const std::int64_t* whole = nullptr;  // by wholly free devices
    std::int64_t parts = 0;               // Σ part over devices in part free
    bool shared = false;                  // some of its shapes ask a part of a device
  };
  // A device that could be shared: its steps left; as many of them are counted in CpuClass::parts;
  // and the wholly free devices beside it.
  struct Left {
    std::int32_t steps = 0;
    std::int32_t counted = 0;
    std::uint32_t whole = 0;
  };

  // Looks at the devices of another node, or of the same one anew. False: it is none that the
  // tables tell.
  bool Begin(const NodeView& node);
  CpuClass ClassOf(std::int64_t cpu_milli) const;
  void With(CpuClass& c) const;
  // Usable GPU after a task that takes something of that device, without what is then left of it.
  static std::int64_t Without(const CpuClass& after, const Left& left) {
    return after.parts + after.whole[left.whole] - after.part[left.counted];
  }
  // Makes the tables for another step; a divisor of the present one.
  void SetStep(std::int32_t milli);
  std::size_t steps() const { return static_cast<std::size_t>(kMilli / step_); }

  Fgd score_;
  std::vector<Lane> lanes_;
  std::vector<Shape> shapes_;
  std::vector<CpuClass> classes_;
  LaneMask shares_;  // lanes that ask a part of a device, and nothing else of it
  LaneMask wholes_;  // lanes that ask whole devices, or none
  std::int32_t step_ = 0;
  std::array<std::uint16_t, kMilli + 1> steps_of_{};  // by milli, rounded down
  // [row][steps left], beginning at −steps(): of what is less than nothing there is so little that
  // it loses against anything.
  std::vector<std::int64_t> part_;
  std::vector<std::int64_t> whole_;  // [row][wholly free devices]

  std::vector<std::int64_t> without_;  // [class][choice]

  std::size_t first_row_ = 0;
  std::int64_t cpu_quanta_ = 0;
  std::int64_t cpu_rest_ = 0;
  // What is left on devices that are neither full nor wholly free, then on a wholly free one; room
  // for one more, so that gathering them needs no branch.
  std::array<Left, kMaxDevicesPerNode + 2> lefts_{};
  std::size_t parts_ = 0;
  std::size_t choices_ = 0;  // parts_ + 1 if a device is wholly free
  std::uint32_t whole_free_ = 0;
};

}  // namespace gpusched

#endif  // GPUSCHED_SRC_POLICY_SCORE_FGD_ROWS_H_
