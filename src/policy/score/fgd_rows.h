// FgdRows: Fgd asked about many shapes on one node.
#ifndef GPUSCHED_SRC_POLICY_SCORE_FGD_ROWS_H_
#define GPUSCHED_SRC_POLICY_SCORE_FGD_ROWS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gpusched/base/device_mask.h"
#include "gpusched/policy/row_scorer.h"
#include "gpusched/policy/score/fgd.h"

namespace gpusched {

// Usable GPU of a node is a sum over its devices (FragmentTable::ByAmounts), so after a placement it
// is the sum for the CPU that is then left, with the terms of the taken devices exchanged. The sums
// are kept by CPU request; most shapes share one with others.
class FgdRows final : public RowScorer {
 public:
  explicit FgdRows(Fgd score) : score_(std::move(score)) {}

  void SetLane(std::size_t lane, const Shape& shape) override;
  void ScoreRow(const NodeView& node, const LaneMask& asked, Score* out) override;
  NodeChoice Best(const NodeView& node, std::size_t lane, DeviceOrder order) override;
  bool shares_work() const override { return true; }

 private:
  struct Lane {
    Shape shape;
    std::uint32_t cpu_class = 0;
    std::int64_t taken = 0;  // milli × total weight
  };
  // The node with this much CPU taken.
  struct CpuClass {
    std::int64_t cpu_milli = 0;
    std::uint64_t epoch = 0;  // of the node that the rest is of
    std::size_t row = 0;
    std::int64_t parts = 0;  // Σ Part over devices in part free
  };
  // Devices of the node that have as much left, but are not wholly free.
  struct Part {
    std::int32_t left = 0;
    std::int32_t count = 0;
  };

  // Looks at the devices of another node, or of the same one anew.
  void Begin(const NodeView& node);
  const CpuClass& At(std::uint32_t cpu_class);
  // The change of usable GPU, if the lane's task takes a part of a device with so much left, or
  // what else it asks.
  std::int64_t ChangeOnPart(const CpuClass& after, std::int64_t left, const Lane& lane) const;
  std::int64_t Change(const CpuClass& after, const Lane& lane) const;

  Fgd score_;
  std::vector<Lane> lanes_;
  std::vector<CpuClass> classes_;

  std::uint64_t epoch_ = 0;
  std::uint32_t model_ = 0;
  std::int64_t cpu_free_ = 0;
  std::array<Part, kMaxDevicesPerNode> parts_{};
  std::size_t part_count_ = 0;
  std::size_t whole_ = 0;
  std::int64_t before_ = 0;  // usable GPU now
};

}  // namespace gpusched

#endif  // GPUSCHED_SRC_POLICY_SCORE_FGD_ROWS_H_
