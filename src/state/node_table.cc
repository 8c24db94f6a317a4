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
    hot_.push_back({.first_device = static_cast<std::uint32_t>(device_ledger_.size()),
                    .device_count = device_count});
    tasks_.emplace_back();
    device_ledger_.resize(device_ledger_.size() + device_count);
    device_free_.resize(device_free_.size() + device_count);
  }

  Resources& capacity = capacity_[slot];
  capacity[ResourceKind::kCpuMilli] = spec.cpu_milli;
  capacity[ResourceKind::kMemMib] = spec.mem_mib;
  for (std::uint32_t i = 0; i < device_count; ++i) {
    const DeviceSpec& device = spec.devices[i];
    const std::uint32_t row = hot_[slot].first_device + i;
    DeviceLedger& ledger = device_ledger_[row];
    ledger.capacity = {.gpu_milli = device.gpu_milli, .mem_mib = device.gpu_mem_mib.value_or(0)};
    ledger.mem_tracked = device.gpu_mem_mib.has_value();
    device_free_[row].model = models[i];
    hot_[slot].models |= ModelMask{1} << models[i];
    capacity[ResourceKind::kGpuMilli] += ledger.capacity.gpu_milli;
    capacity[ResourceKind::kGpuMemMib] += ledger.capacity.mem_mib;
    RefreshDevice(slot, i);
  }
  RefreshNode(slot);
  live_[slot] = 1;
  order_.push_back(slot);
  return slot;
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
  hot.models = 0;
  hot.whole_free = 0;
  tasks_[slot] = {};
  for (std::uint32_t i = 0; i < hot.device_count; ++i) {
    device_ledger_[hot.first_device + i] = {};
    device_free_[hot.first_device + i] = {};
  }
  recycled_.emplace_back(hot.device_count, slot);
}

void NodeTable::Take(std::uint32_t slot, const Shape& shape, DeviceMask devices) {
  AddUsed(slot, shape, devices, 1);
  ++tasks_[slot][static_cast<std::size_t>(shape.kind())];
}

void NodeTable::Give(std::uint32_t slot, const Shape& shape, DeviceMask devices) {
  AddUsed(slot, shape, devices, -1);
  --tasks_[slot][static_cast<std::size_t>(shape.kind())];
}

void NodeTable::AddUsed(std::uint32_t slot, const Shape& shape, DeviceMask devices,
                        std::int64_t sign) {
  Resources& used = used_[slot];
  used[ResourceKind::kCpuMilli] += sign * shape.cpu_milli;
  used[ResourceKind::kMemMib] += sign * shape.mem_mib;
  for (; !devices.empty(); devices.DropFirst()) {
    const auto device = static_cast<std::uint32_t>(devices.First());
    DeviceLedger& ledger = device_ledger_[hot_[slot].first_device + device];
    const std::int64_t mem = ledger.mem_tracked ? sign * shape.gpu_mem_mib : 0;
    ledger.used.gpu_milli += sign * shape.gpu_milli;
    ledger.used.mem_mib += mem;
    used[ResourceKind::kGpuMilli] += sign * shape.gpu_milli;
    used[ResourceKind::kGpuMemMib] += mem;
    RefreshDevice(slot, device);
  }
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
