// NodeTable: the rows of the ledger that say what each node and device has and has given out.
#ifndef GPUSCHED_STATE_NODE_TABLE_H_
#define GPUSCHED_STATE_NODE_TABLE_H_

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "gpusched/base/device_mask.h"
#include "gpusched/base/id.h"
#include "gpusched/base/resources.h"
#include "gpusched/export.h"
#include "gpusched/spec/mig_instance.h"
#include "gpusched/spec/node_spec.h"
#include "gpusched/spec/task_kind.h"
#include "gpusched/state/change_log.h"
#include "gpusched/state/device_ledger.h"
#include "gpusched/state/mig_table.h"
#include "gpusched/state/shape.h"

namespace gpusched {

// What stays with a device while somebody is on it.
struct DeviceKind {
  std::uint32_t model = 0;
  std::int32_t replicas = 1;
  SharingMode sharing = SharingMode::kFraction;
  bool partition_on_demand = false;
};

// Parallel columns by node slot; the devices of a node are contiguous. Columns are capacity, used
// (by our tasks), held (promised to somebody), foreign (used by others than us); free is derived,
// device by device (FreeOf).
//
// A writer calls it through Transaction; everybody else sees it const. Unchecked: the caller has
// validated the amounts, and sums of them stay far inside 64 bits (kMaxQuantity).
class GPUSCHED_EXPORT NodeTable {
 public:
  // --- reading -------------------------------------------------------------------------------
  std::uint32_t slots() const { return static_cast<std::uint32_t>(live_.size()); }
  // Live slots in node order, which is the order of joining; ties between nodes break by it.
  std::span<const std::uint32_t> order() const { return order_; }
  bool live(std::uint32_t slot) const { return slot < live_.size() && live_[slot] != 0; }
  NodeId id(std::uint32_t slot) const { return {.slot = slot, .generation = generation_[slot]}; }
  bool Has(NodeId id) const { return live(id.slot) && generation_[id.slot] == id.generation; }

  const Resources& capacity(std::uint32_t slot) const { return capacity_[slot]; }
  const Resources& used(std::uint32_t slot) const { return used_[slot]; }
  const Resources& held(std::uint32_t slot) const { return held_[slot]; }
  const Resources& foreign(std::uint32_t slot) const { return foreign_[slot]; }
  const Resources& free(std::uint32_t slot) const { return free_[slot]; }

  std::span<const DeviceLedger> devices(std::uint32_t slot) const {
    return {device_ledger_.data() + hot_[slot].first_device, hot_[slot].device_count};
  }
  std::span<const DeviceFree> device_free(std::uint32_t slot) const {
    return {device_free_.data() + hot_[slot].first_device, hot_[slot].device_count};
  }
  // Devices that can be had as a whole.
  std::uint32_t whole_free(std::uint32_t slot) const { return hot_[slot].whole_free; }
  ModelMask models(std::uint32_t slot) const { return hot_[slot].models; }
  // Devices that the owner has described; those beyond are lost, and listed while a task is on one.
  std::uint32_t declared_devices(std::uint32_t slot) const { return hot_[slot].declared; }
  // Nothing new may come here.
  bool cordoned(std::uint32_t slot) const { return hot_[slot].cordoned; }
  // No device is shared in another way than by shares, and nobody has memory of one alone: what is
  // free is then told by gpu_milli and mem_mib.
  bool plain(std::uint32_t slot) const { return hot_[slot].special == 0; }
  const MigTable& mig() const { return mig_; }
  // Which rows have changed. Everything that a NodeView tells is covered.
  const ChangeLog& changes() const { return changes_; }
  // Counts the changes of what nodes there are and what they have, used or not.
  std::uint64_t capacity_version() const { return capacity_version_; }
  // Live nodes by this number are in node order; it is kept for the life of the node.
  std::uint64_t rank(std::uint32_t slot) const { return rank_[slot]; }
  std::uint32_t tasks(std::uint32_t slot, TaskKind kind) const {
    return tasks_[slot][static_cast<std::size_t>(kind)];
  }

  // --- writing (Transaction only) ------------------------------------------------------------
  // Adds a row with nothing used; `models` gives the index of each device's model.
  std::uint32_t Insert(const NodeSpec& spec, std::span<const std::uint32_t> models);
  // Takes a row out of the node order, at the position that it returns; it can be put back there.
  std::size_t Detach(std::uint32_t slot);
  void Reattach(std::uint32_t slot, std::size_t position);
  // Makes a detached slot free for another node and its handles stale.
  void Recycle(std::uint32_t slot);

  // What a task takes of its devices, or of those of its instances, if it has any.
  void Take(std::uint32_t slot, const Shape& shape, DeviceMask devices,
            std::span<const MigInstance> instances = {});
  void Give(std::uint32_t slot, const Shape& shape, DeviceMask devices,
            std::span<const MigInstance> instances = {});
  void SetForeign(std::uint32_t slot, const ForeignUsage& usage);
  // Replaces the capacity by what the spec says (its name is not read).
  void Update(std::uint32_t slot, const NodeSpec& spec, std::span<const std::uint32_t> models);
  // What the rows of the node are, lost devices included; and puts that back.
  std::vector<DeviceKind> RowKinds(std::uint32_t slot) const;
  void SetRowKinds(std::uint32_t slot, std::span<const DeviceKind> kinds);
  MigTable& mutable_mig() { return mig_; }
  void SetCordoned(std::uint32_t slot, bool cordoned) {
    hot_[slot].cordoned = cordoned;
    changes_.Note(slot);
  }
  // Moves what a task of this shape would take in (sign 1) or out of (−1) the held columns.
  void AddHeld(std::uint32_t slot, const Shape& shape, DeviceMask devices, std::int64_t sign,
               std::span<const MigInstance> instances = {});

 private:
  struct Hot {
    ModelMask models = 0;
    std::uint32_t first_device = 0;
    std::uint16_t device_count = 0;  // listed: declared ones, and lost ones with a task
    std::uint16_t declared = 0;
    std::uint16_t rows = 0;  // set aside in the device columns
    std::uint16_t whole_free = 0;
    std::uint16_t special = 0;  // devices that keep the node from being plain
    bool cordoned = false;
  };

  void SetCapacity(std::uint32_t slot, const NodeSpec& spec, std::span<const std::uint32_t> models);
  // Makes sure that there are rows for this many devices, moving the node's rows if need be.
  void ReserveDevices(std::uint32_t slot, std::size_t devices);
  // Lists lost devices while a task or hold is on them.
  void ListDevices(std::uint32_t slot, DeviceMask touched);
  // The columns of `used` or `held`.
  struct Column {
    DeviceAmounts DeviceLedger::*amounts;
    DeviceTenancy DeviceLedger::*tenancy;
  };
  void AddTo(Resources& sum, Column column, std::uint32_t slot, const Shape& shape,
             DeviceMask devices, std::span<const MigInstance> instances, std::int64_t sign);
  void AddToDevice(Resources& sum, Column column, std::uint32_t slot, std::uint32_t device,
                   const Shape& shape, const MigInstance* instance, std::int64_t sign);
  void RefreshDevice(std::uint32_t slot, std::uint32_t device);
  void RefreshNode(std::uint32_t slot);

  std::vector<std::uint32_t> order_;
  std::vector<std::uint8_t> live_;
  std::vector<std::uint32_t> generation_;
  std::vector<Resources> capacity_, used_, held_, foreign_, free_;
  std::vector<Hot> hot_;
  std::vector<std::array<std::uint32_t, kTaskKinds>> tasks_;
  std::vector<DeviceLedger> device_ledger_;
  std::vector<DeviceFree> device_free_;
  std::vector<std::uint8_t> device_special_;
  MigTable mig_;
  ChangeLog changes_;
  std::vector<std::uint64_t> rank_;
  std::uint64_t next_rank_ = 0;
  std::uint64_t capacity_version_ = 0;
  // Free slots with their device count: a slot is reused by a node with as many devices, so that
  // the device columns never move.
  std::vector<std::pair<std::uint16_t, std::uint32_t>> recycled_;
};

}  // namespace gpusched

#endif  // GPUSCHED_STATE_NODE_TABLE_H_
