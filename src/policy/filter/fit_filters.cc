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
  const auto free = node.devices();
  std::int64_t fitting = 0;
  for (const DeviceFree& device : free) fitting += DeviceFits(device, shape) ? 1 : 0;
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

}  // namespace gpusched
