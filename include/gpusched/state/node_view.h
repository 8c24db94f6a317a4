// NodeView: one node as a policy sees it.
#ifndef GPUSCHED_STATE_NODE_VIEW_H_
#define GPUSCHED_STATE_NODE_VIEW_H_

#include <cstdint>
#include <span>

#include "gpusched/base/resources.h"
#include "gpusched/state/node_table.h"

namespace gpusched {

// A const look at one live row; cheap to copy, valid until the state changes. "Free" is what can be
// given out now, after use, holds and foreign use.
class NodeView {
 public:
  NodeView(const NodeTable& table, std::uint32_t slot) : table_(&table), slot_(slot) {}

  std::uint32_t slot() const { return slot_; }
  NodeId id() const { return table_->id(slot_); }

  std::int64_t cpu_free() const { return table_->free(slot_)[ResourceKind::kCpuMilli]; }
  std::int64_t mem_free() const { return table_->free(slot_)[ResourceKind::kMemMib]; }
  // Sum over devices.
  std::int64_t gpu_free_milli() const { return table_->free(slot_)[ResourceKind::kGpuMilli]; }
  const Resources& capacity() const { return table_->capacity(slot_); }

  // Those that the node has; lost ones on which a task still runs are not offered to anybody.
  std::span<const DeviceFree> devices() const {
    return table_->device_free(slot_).first(table_->declared_devices(slot_));
  }
  std::span<const DeviceLedger> device_ledgers() const {
    return table_->devices(slot_).first(table_->declared_devices(slot_));
  }
  // Devices that can be had as a whole.
  std::uint32_t whole_free() const { return table_->whole_free(slot_); }
  // See NodeTable::plain.
  bool plain() const { return table_->plain(slot_); }
  const MigTable& mig() const { return table_->mig(); }
  // The MIG geometry of one of the devices; null: it can't be partitioned.
  const MigGeometry* geometry(std::size_t device) const {
    return table_->mig().geometry(devices()[device].model);
  }
  // The models of its devices.
  ModelMask models() const { return table_->models(slot_); }
  // All of its devices are of one model, and it has some.
  bool one_model() const {
    const ModelMask mask = models();
    return mask != 0 && (mask & (mask - 1)) == 0;
  }
  // Nothing new may come here.
  bool cordoned() const { return table_->cordoned(slot_); }
  // How many of our tasks of a kind run here.
  std::uint32_t tasks(TaskKind kind) const { return table_->tasks(slot_, kind); }

 private:
  const NodeTable* table_;
  std::uint32_t slot_;
};

}  // namespace gpusched

#endif  // GPUSCHED_STATE_NODE_VIEW_H_
