#include "gpusched/state/node_table.h"

#include <algorithm>
#include <cstddef>

#include "gpusched/base/quantity.h"

namespace gpusched {

std::uint32_t NodeTable::Insert(const NodeSpec& spec, std::span<const std::uint32_t> models) {
  const auto device_count = static_cast<std::uint16_t>(spec.devices.size());
  const auto reusable = std::find_if(recycled_.begin(), recycled_.end(), [&](const auto& entry) {
    return entry.first == device_count;
  });
  std::uint32_t slot = slots();
  if (reusable != recycled_.end()) {
    slot = reusable->second;
    recycled_.erase(reusable);
  } else {
    live_.push_back(0);
    generation_.push_back(0);
    for (auto* column : {&capacity_, &used_, &held_, &foreign_, &free_}) column->emplace_back();
    hot_.emplace_back();
    tasks_.emplace_back();
    rank_.emplace_back();
    changes_.Fit(slots());
  }
  rank_[slot] = next_rank_++;

  SetCapacity(slot, spec, models);
  live_[slot] = 1;
  order_.push_back(slot);
  return slot;
}

void NodeTable::Update(std::uint32_t slot, const NodeSpec& spec,
                       std::span<const std::uint32_t> models) {
  SetCapacity(slot, spec, models);
}

void NodeTable::SetCapacity(std::uint32_t slot, const NodeSpec& spec,
                            std::span<const std::uint32_t> models) {
  ++capacity_version_;
  ReserveDevices(slot, spec.devices.size());
  Hot& hot = hot_[slot];
  hot.declared = static_cast<std::uint16_t>(spec.devices.size());
  Resources& capacity = capacity_[slot];
  capacity = {};
  capacity[ResourceKind::kCpuMilli] = spec.cpu_milli;
  capacity[ResourceKind::kMemMib] = spec.mem_mib;
  hot.models = 0;
  for (std::uint32_t i = 0; i < hot.rows; ++i) {
    const std::uint32_t row = hot.first_device + i;
    DeviceLedger& ledger = device_ledger_[row];
    if (i < hot.declared) {
      device_free_[row].model = static_cast<std::uint8_t>(models[i]);
      gpusched::SetCapacity(spec.devices[i], mig_.geometry(models[i]), ledger);
      hot.models |= ModelMask{1} << models[i];
    } else {
      ledger.capacity = {};
    }
    capacity[ResourceKind::kGpuMilli] += ledger.capacity.gpu_milli;
    capacity[ResourceKind::kGpuMemMib] += ledger.capacity.mem_mib;
    RefreshDevice(slot, i);
  }
  ListDevices(slot, {});
  RefreshNode(slot);
}

std::vector<DeviceKind> NodeTable::RowKinds(std::uint32_t slot) const {
  std::vector<DeviceKind> kinds;
  for (std::uint32_t i = 0; i < hot_[slot].rows; ++i) {
    const std::uint32_t row = hot_[slot].first_device + i;
    const DeviceLedger& ledger = device_ledger_[row];
    kinds.push_back({.model = device_free_[row].model,
                     .replicas = ledger.replicas,
                     .sharing = ledger.sharing,
                     .partition_on_demand = ledger.partition_on_demand});
  }
  return kinds;
}

void NodeTable::SetRowKinds(std::uint32_t slot, std::span<const DeviceKind> kinds) {
  for (std::uint32_t i = 0; i < kinds.size(); ++i) {
    const std::uint32_t row = hot_[slot].first_device + i;
    DeviceLedger& ledger = device_ledger_[row];
    device_free_[row].model = static_cast<std::uint8_t>(kinds[i].model);
    ledger.replicas = kinds[i].replicas;
    ledger.sharing = kinds[i].sharing;
    ledger.partition_on_demand = kinds[i].partition_on_demand;
    RefreshDevice(slot, i);
  }
  ++capacity_version_;
  changes_.Note(slot);
}

void NodeTable::ReserveDevices(std::uint32_t slot, std::size_t devices) {
  Hot& hot = hot_[slot];
  if (devices <= hot.rows) return;
  // The rows of one node are contiguous, so it moves to the end of the columns. Its former rows are
  // not used again; a node that grows is rare, and grows to 64 devices at most.
  const std::size_t first = device_ledger_.size();
  device_ledger_.resize(first + devices);
  device_free_.resize(first + devices);
  device_special_.resize(first + devices);
  for (std::size_t i = 0; i < hot.rows; ++i) {
    device_ledger_[first + i] = device_ledger_[hot.first_device + i];
    device_free_[first + i] = device_free_[hot.first_device + i];
    device_special_[first + i] = device_special_[hot.first_device + i];
  }
  hot.first_device = static_cast<std::uint32_t>(first);
  hot.rows = static_cast<std::uint16_t>(devices);
}

void NodeTable::ListDevices(std::uint32_t slot, DeviceMask touched) {
  Hot& hot = hot_[slot];
  hot.device_count = std::max(hot.device_count, hot.declared);
  for (; !touched.empty(); touched.DropFirst()) {
    hot.device_count = std::max(hot.device_count, static_cast<std::uint16_t>(touched.First() + 1));
  }
  const auto idle = [&](std::uint32_t device) {
    const DeviceLedger& ledger = device_ledger_[hot.first_device + device];
    return !ledger.in_use();
  };
  while (hot.device_count > hot.declared && idle(hot.device_count - 1U)) --hot.device_count;
}

std::size_t NodeTable::Detach(std::uint32_t slot) {
  const auto it = std::lower_bound(
      order_.begin(), order_.end(), rank_[slot],
      [&](std::uint32_t other, std::uint64_t rank) { return rank_[other] < rank; });
  const auto position = static_cast<std::size_t>(it - order_.begin());
  order_.erase(it);
  live_[slot] = 0;
  ++capacity_version_;
  changes_.Note(slot);
  return position;
}

void NodeTable::Reattach(std::uint32_t slot, std::size_t position) {
  order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(position), slot);
  live_[slot] = 1;
  ++capacity_version_;
  changes_.Note(slot);
}

void NodeTable::Recycle(std::uint32_t slot) {
  ++generation_[slot];
  for (auto* column : {&capacity_, &used_, &held_, &foreign_, &free_}) (*column)[slot] = {};
  Hot& hot = hot_[slot];
  tasks_[slot] = {};
  for (std::uint32_t i = 0; i < hot.rows; ++i) {
    device_ledger_[hot.first_device + i] = {};
    device_free_[hot.first_device + i] = {};
    device_special_[hot.first_device + i] = 0;
  }
  hot = {.first_device = hot.first_device, .rows = hot.rows};
  recycled_.emplace_back(hot.rows, slot);
}

void NodeTable::Take(std::uint32_t slot, const Shape& shape, DeviceMask devices,
                     std::span<const MigInstance> instances) {
  AddTo(used_[slot], {&DeviceLedger::used, &DeviceLedger::used_by}, slot, shape, devices, instances,
        1);
  ++tasks_[slot][static_cast<std::size_t>(shape.kind())];
}

void NodeTable::Give(std::uint32_t slot, const Shape& shape, DeviceMask devices,
                     std::span<const MigInstance> instances) {
  AddTo(used_[slot], {&DeviceLedger::used, &DeviceLedger::used_by}, slot, shape, devices, instances,
        -1);
  --tasks_[slot][static_cast<std::size_t>(shape.kind())];
}

void NodeTable::AddHeld(std::uint32_t slot, const Shape& shape, DeviceMask devices,
                        std::int64_t sign, std::span<const MigInstance> instances) {
  AddTo(held_[slot], {&DeviceLedger::held, &DeviceLedger::held_by}, slot, shape, devices, instances,
        sign);
}

void NodeTable::AddTo(Resources& sum, Column column, std::uint32_t slot, const Shape& shape,
                      DeviceMask devices, std::span<const MigInstance> instances,
                      std::int64_t sign) {
  sum[ResourceKind::kCpuMilli] += sign * shape.cpu_milli;
  sum[ResourceKind::kMemMib] += sign * shape.mem_mib;
  DeviceMask touched = devices;
  int highest = -1;
  for (const MigInstance& instance : instances) {
    highest = std::max(highest, instance.device);
    touched.Insert(instance.device);
    AddToDevice(sum, column, slot, static_cast<std::uint32_t>(instance.device), shape, &instance,
                sign);
  }
  if (instances.empty()) {
    for (; !devices.empty(); devices.DropFirst()) {
      highest = devices.First();
      AddToDevice(sum, column, slot, static_cast<std::uint32_t>(highest), shape, nullptr, sign);
    }
  }
  if (highest >= hot_[slot].declared) ListDevices(slot, touched);
  RefreshNode(slot);
}

void NodeTable::AddToDevice(Resources& sum, Column column, std::uint32_t slot, std::uint32_t device,
                            const Shape& shape, const MigInstance* instance, std::int64_t sign) {
  if (device >= hot_[slot].rows) ReserveDevices(slot, device + std::size_t{1});
  const std::uint32_t row = hot_[slot].first_device + device;
  DeviceLedger& ledger = device_ledger_[row];
  DeviceAmounts& amounts = ledger.*column.amounts;
  const DeviceAmounts before = amounts;
  if (instance == nullptr && !shape.asks_profile() && SharedByFraction(ledger)) {
    AddShare(shape, sign, amounts, ledger.*column.tenancy);
  } else {
    const MigGeometry* const geometry = mig_.geometry(device_free_[row].model);
    AddTake(TakeOf(ledger, geometry, shape, instance), ledger, geometry, sign, amounts,
            ledger.*column.tenancy);
  }
  sum[ResourceKind::kGpuMilli] += amounts.gpu_milli - before.gpu_milli;
  sum[ResourceKind::kGpuMemMib] += amounts.mem_mib - before.mem_mib;
  RefreshDevice(slot, device);
}

void NodeTable::SetForeign(std::uint32_t slot, const ForeignUsage& usage) {
  Resources& foreign = foreign_[slot];
  foreign = {};
  foreign[ResourceKind::kCpuMilli] = usage.cpu_milli;
  foreign[ResourceKind::kMemMib] = usage.mem_mib;
  for (std::uint32_t i = 0; i < hot_[slot].device_count; ++i) {
    const std::int64_t milli = i < usage.device_milli.size() ? usage.device_milli[i] : 0;
    device_ledger_[hot_[slot].first_device + i].foreign.gpu_milli = milli;
    foreign[ResourceKind::kGpuMilli] += milli;
    RefreshDevice(slot, i);
  }
  RefreshNode(slot);
}

void NodeTable::RefreshDevice(std::uint32_t slot, std::uint32_t device) {
  Hot& hot = hot_[slot];
  const std::uint32_t row = hot.first_device + device;
  const DeviceLedger& ledger = device_ledger_[row];
  const DeviceFree before = device_free_[row];
  const DeviceFree after = SharedByFraction(ledger)
                               ? FreeOfShared(ledger, before.model)
                               : FreeOf(ledger, before.model, mig_.geometry(before.model));
  const auto counted = [](std::int64_t mem) { return mem == DeviceFree::kUntracked ? 0 : mem; };
  const auto whole = [](const DeviceFree& free) {
    return (free.offers & kOfferWhole) != 0 ? 1 : 0;
  };
  hot.whole_free = static_cast<std::uint16_t>(hot.whole_free + whole(after) - whole(before));
  free_[slot][ResourceKind::kGpuMilli] += after.gpu_milli - before.gpu_milli;
  free_[slot][ResourceKind::kGpuMemMib] += counted(after.mem_mib) - counted(before.mem_mib);
  // Beyond the declared ones nothing is offered, so it does not matter what they are.
  const bool memory_alone = ledger.in_use() && after.gpu_milli == kMilli;
  const bool special = device < hot.declared && (ledger.sharing != SharingMode::kFraction ||
                                                 ledger.partition_on_demand || memory_alone);
  hot.special = static_cast<std::uint16_t>(hot.special + (special ? 1 : 0) - device_special_[row]);
  device_special_[row] = special ? 1 : 0;
  device_free_[row] = after;
}

void NodeTable::RefreshNode(std::uint32_t slot) {
  // GPU columns are kept by RefreshDevice: a sum of device remainders is not the remainder of sums
  // once a device is over-used.
  for (const ResourceKind kind : {ResourceKind::kCpuMilli, ResourceKind::kMemMib}) {
    free_[slot][kind] = std::max<std::int64_t>(
        0, capacity_[slot][kind] - used_[slot][kind] - held_[slot][kind] - foreign_[slot][kind]);
  }
  changes_.Note(slot);
}

}  // namespace gpusched
