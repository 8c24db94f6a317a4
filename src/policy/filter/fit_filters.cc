#include "gpusched/policy/filter/fit_filters.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "gpusched/base/quantity.h"
#include "gpusched/state/fit.h"

namespace gpusched {
namespace {

Shortfall Compare(std::int64_t have, std::int64_t capacity, std::int64_t need, Reason reason) {
  if (have >= need) return {};
  return {.verdict = capacity < need ? Verdict::Never(reason) : Verdict::Wait(reason),
          .need = need,
          .have = have};
}

bool Allows(const Shape& shape, const DeviceFree& device) {
  return ((shape.models >> device.model) & 1) != 0;
}

// The memory that a device could give one who asks more of it; 0 if its memory is not what lacks.
std::int64_t MemoryShort(const NodeView& node, std::size_t device, const Shape& shape) {
  const DeviceFree& free = node.devices()[device];
  std::int64_t most = 0;
  if ((free.offers & shape.wants() & ~kOfferMig) != 0 && free.mem_mib < shape.gpu_mem_mib) {
    most = free.mem_mib;
  }
  if ((free.offers & shape.wants() & kOfferMig) == 0) return most;
  Shape any = shape;
  const MigGeometry& geometry = *node.geometry(device);
  // Each profile in turn, not only the least that would do.
  for (std::size_t p = 0; p < geometry.profile_count(); ++p) {
    any.gpu_mem_mib = geometry.profile(p).mem_mib;
    if (any.gpu_mem_mib >= shape.gpu_mem_mib || any.gpu_mem_mib <= most) continue;
    if (InstancesOn(node, device, any) > 0) most = any.gpu_mem_mib;
  }
  return most;
}

// EnoughDevices on a plain node, for a plain shape.
Shortfall EnoughPlainDevices(const NodeView& node, const Shape& shape) {
  const auto free = node.devices();
  std::int64_t fitting = 0;
  for (const DeviceFree& device : free) fitting += PlainDeviceFits(device, shape) ? 1 : 0;
  if (fitting >= shape.gpu_count) return {};

  // Refused. How many devices could ever do, how many have the share, and how near is the best?
  const auto ledgers = node.device_ledgers();
  std::int64_t able = 0;
  std::int64_t with_share = 0;
  std::int64_t roomiest = 0;
  std::int64_t memory = 0;  // the most that a device with the share has, of those with too little
  for (std::size_t i = 0; i < free.size(); ++i) {
    if (!Allows(shape, free[i])) continue;
    const DeviceLedger& ledger = ledgers[i];
    able += ledger.capacity.gpu_milli >= shape.gpu_milli &&
                    (!ledger.mem_tracked || ledger.capacity.mem_mib >= shape.gpu_mem_mib)
                ? 1
                : 0;
    roomiest = std::max<std::int64_t>(roomiest, free[i].gpu_milli);
    if (free[i].gpu_milli < shape.gpu_milli) continue;
    ++with_share;
    if (free[i].mem_mib < shape.gpu_mem_mib) memory = std::max(memory, free[i].mem_mib);
  }
  const auto refuse = [&](Reason reason, std::int64_t need, std::int64_t have) {
    return Shortfall{
        .verdict = able < shape.gpu_count ? Verdict::Never(reason) : Verdict::Wait(reason),
        .need = need,
        .have = have};
  };
  if (with_share >= shape.gpu_count) {
    return refuse(Reason::kInsufficientGpuMemory, shape.gpu_mem_mib, memory);
  }
  if (shape.shares()) return refuse(Reason::kNoDeviceWithRoom, shape.gpu_milli, roomiest);
  return refuse(Reason::kTooFewWholeDevices, shape.gpu_count, fitting);
}

}  // namespace

Shortfall NotCordoned::operator()(const NodeView& node, const Shape&) const {
  if (!node.cordoned()) return {};
  return {.verdict = Verdict::Wait(Reason::kCordoned)};
}

Shortfall ModelAllowed::operator()(const NodeView& node, const Shape& shape) const {
  if (!shape.asks_gpu() || (node.models() & shape.models) != 0) return {};
  return {.verdict = Verdict::Never(Reason::kModelNotAllowed)};
}

Shortfall EnoughCpu::operator()(const NodeView& node, const Shape& shape) const {
  return Compare(node.cpu_free(), node.capacity()[ResourceKind::kCpuMilli], shape.cpu_milli,
                 Reason::kInsufficientCpu);
}

Shortfall EnoughMemory::operator()(const NodeView& node, const Shape& shape) const {
  return Compare(node.mem_free(), node.capacity()[ResourceKind::kMemMib], shape.mem_mib,
                 Reason::kInsufficientMemory);
}

Shortfall EnoughDevices::operator()(const NodeView& node, const Shape& shape) const {
  // Without a device of an allowed model there is nothing to count: that is ModelAllowed's answer.
  if (!shape.asks_gpu() || (node.models() & shape.models) == 0) return {};
  if (node.plain() && shape.plain()) return EnoughPlainDevices(node, shape);
  const auto free = node.devices();
  const OfferMask wants = shape.wants();
  std::int64_t fitting = 0;
  for (std::size_t i = 0; i < free.size(); ++i) {
    if (DeviceFits(free[i], shape, wants)) {
      ++fitting;
    } else if ((wants & kOfferMig) != 0) {
      fitting += InstancesOn(node, i, shape);
    }
  }
  if (fitting >= shape.gpu_count) return {};

  // Refused. How many devices could ever do, how many have the share, and how near is the best?
  const auto ledgers = node.device_ledgers();
  std::int64_t able = 0;
  bool ever_offered = false;
  std::int64_t with_share = 0;
  std::int64_t roomiest = 0;
  std::int64_t memory = 0;  // the most that a device with the share has, of those with too little
  for (std::size_t i = 0; i < free.size(); ++i) {
    if (!Allows(shape, free[i])) continue;
    const DeviceFree empty = FreeWhenEmpty(ledgers[i], free[i].model, node.geometry(i));
    // An empty device without what is asked may still be one that is shared in the right way.
    ever_offered = ever_offered || (empty.offers & wants) != 0 || empty.offers == 0;
    able += DeviceFits(empty, shape, wants) ? 1 : InstancesOn(node, i, empty, shape);
    if ((free[i].offers & wants) == 0) continue;
    roomiest = std::max<std::int64_t>(roomiest, free[i].gpu_milli);
    if (free[i].gpu_milli < shape.gpu_milli) continue;
    ++with_share;
    memory = std::max(memory, MemoryShort(node, i, shape));
  }
  const auto refuse = [&](Reason reason, std::int64_t need, std::int64_t have) {
    return Shortfall{
        .verdict = able < shape.gpu_count ? Verdict::Never(reason) : Verdict::Wait(reason),
        .need = need,
        .have = have};
  };
  if (!ever_offered) return refuse(Reason::kSharingNotOffered, 0, 0);
  if (shape.asks_profile()) return refuse(Reason::kNoMigPlacement, shape.gpu_count, fitting);
  if (with_share >= shape.gpu_count || shape.asks_memory_alone()) {
    return refuse(Reason::kInsufficientGpuMemory, shape.gpu_mem_mib, memory);
  }
  if (shape.shares()) {
    return refuse(Reason::kNoDeviceWithRoom, std::max(1, shape.gpu_milli), roomiest);
  }
  return refuse(Reason::kTooFewWholeDevices, shape.gpu_count, fitting);
}

}  // namespace gpusched
