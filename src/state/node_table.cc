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
  }

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
      const DeviceSpec& device = spec.devices[i];
      ledger.capacity = {.gpu_milli = device.gpu_milli, .mem_mib = device.gpu_mem_mib.value_or(0)};
      ledger.mem_tracked = device.gpu_mem_mib.has_value();
      device_free_[row].model = models[i];
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

std::vector<std::uint32_t> NodeTable::RowModels(std::uint32_t slot) const {
  std::vector<std::uint32_t> models;
  for (std::uint32_t i = 0; i < hot_[slot].rows; ++i) {
    models.push_back(device_free_[hot_[slot].first_device + i].model);
  }
  return models;
}

void NodeTable::SetRowModels(std::uint32_t slot, std::span<const std::uint32_t> models) {
  for (std::size_t i = 0; i < models.size(); ++i) {
    device_free_[hot_[slot].first_device + i].model = models[i];
  }
}

void NodeTable::ReserveDevices(std::uint32_t slot, std::size_t devices) {
  Hot& hot = hot_[slot];
  if (devices <= hot.rows) return;
  // The rows of one node are contiguous, so it moves to the end of the columns. Its former rows are
  // not used again; a node that grows is rare, and grows to 64 devices at most.
  const std::size_t first = device_ledger_.size();
  device_ledger_.resize(first + devices);
  device_free_.resize(first + devices);
  for (std::size_t i = 0; i < hot.rows; ++i) {
    device_ledger_[first + i] = device_ledger_[hot.first_device + i];
    device_free_[first + i] = device_free_[hot.first_device + i];
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
    return ledger.used == DeviceAmounts{} && ledger.held == DeviceAmounts{};
  };
  while (hot.device_count > hot.declared && idle(hot.device_count - 1U)) --hot.device_count;
}

std::size_t NodeTable::Detach(std::uint32_t slot) {
  const auto it = std::find(order_.begin(), order_.end(), slot);
  const auto position = static_cast<std::size_t>(it - order_.begin());
  order_.erase(it);
  live_[slot] = 0;
  return position;
}

void NodeTable::Reattach(std::uint32_t slot, std::size_t position) {
  order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(position), slot);
  live_[slot] = 1;
}

void NodeTable::Recycle(std::uint32_t slot) {
  ++generation_[slot];
  for (auto* column : {&capacity_, &used_, &held_, &foreign_, &free_}) (*column)[slot] = {};
  Hot& hot = hot_[slot];
  tasks_[slot] = {};
  for (std::uint32_t i = 0; i < hot.rows; ++i) {
    device_ledger_[hot.first_device + i] = {};
    device_free_[hot.first_device + i] = {};
  }
  hot = {.first_device = hot.first_device, .rows = hot.rows};
  recycled_.emplace_back(hot.rows, slot);
}

void NodeTable::Take(std::uint32_t slot, const Shape& shape, DeviceMask devices) {
  AddTo(used_[slot], &DeviceLedger::used, slot, shape, devices, 1);
  ++tasks_[slot][static_cast<std::size_t>(shape.kind())];
}

void NodeTable::Give(std::uint32_t slot, const Shape& shape, DeviceMask devices) {
  AddTo(used_[slot], &DeviceLedger::used, slot, shape, devices, -1);
  --tasks_[slot][static_cast<std::size_t>(shape.kind())];
}

void NodeTable::AddHeld(std::uint32_t slot, const Shape& shape, DeviceMask devices,
                        std::int64_t sign) {
  AddTo(held_[slot], &DeviceLedger::held, slot, shape, devices, sign);
}

void NodeTable::AddTo(Resources& sum, DeviceAmounts DeviceLedger::*column, std::uint32_t slot,
                      const Shape& shape, DeviceMask devices, std::int64_t sign) {
  sum[ResourceKind::kCpuMilli] += sign * shape.cpu_milli;
  sum[ResourceKind::kMemMib] += sign * shape.mem_mib;
  const DeviceMask touched = devices;
  int highest = -1;
  for (; !devices.empty(); devices.DropFirst()) {
    highest = devices.First();
    const auto device = static_cast<std::uint32_t>(highest);
    if (device >= hot_[slot].rows) ReserveDevices(slot, device + std::size_t{1});
    DeviceAmounts& amounts = device_ledger_[hot_[slot].first_device + device].*column;
    amounts.gpu_milli += sign * shape.gpu_milli;
    amounts.mem_mib += sign * shape.gpu_mem_mib;
    sum[ResourceKind::kGpuMilli] += sign * shape.gpu_milli;
    sum[ResourceKind::kGpuMemMib] += sign * shape.gpu_mem_mib;
    RefreshDevice(slot, device);
  }
  if (highest >= hot_[slot].declared) ListDevices(slot, touched);
  RefreshNode(slot);
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
  const DeviceLedger& ledger = device_ledger_[hot.first_device + device];
  DeviceFree& free = device_free_[hot.first_device + device];
  const auto left = [&](std::int64_t DeviceAmounts::*amount) {
    return std::max<std::int64_t>(0, ledger.capacity.*amount - ledger.used.*amount -
                                         ledger.held.*amount - ledger.foreign.*amount);
  };
  const std::int64_t gpu_milli = left(&DeviceAmounts::gpu_milli);
  const std::int64_t mem_mib =
      ledger.mem_tracked ? left(&DeviceAmounts::mem_mib) : DeviceFree::kUntracked;
  const auto counted = [](std::int64_t mem) { return mem == DeviceFree::kUntracked ? 0 : mem; };
  if (free.gpu_milli == kMilli) --hot.whole_free;
  if (gpu_milli == kMilli) ++hot.whole_free;
  free_[slot][ResourceKind::kGpuMilli] += gpu_milli - free.gpu_milli;
  free_[slot][ResourceKind::kGpuMemMib] += counted(mem_mib) - counted(free.mem_mib);
  free.gpu_milli = static_cast<std::int32_t>(gpu_milli);
  free.mem_mib = mem_mib;
}

void NodeTable::RefreshNode(std::uint32_t slot) {
  // GPU columns are kept by RefreshDevice: a sum of device remainders is not the remainder of sums
  // once a device is over-used.
  for (const ResourceKind kind : {ResourceKind::kCpuMilli, ResourceKind::kMemMib}) {
    free_[slot][kind] = std::max<std::int64_t>(
        0, capacity_[slot][kind] - used_[slot][kind] - held_[slot][kind] - foreign_[slot][kind]);
  }
}

}  // namespace gpusched
