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
  if (!shape.asks_gpu()) return {};
  const auto free = node.devices();
  std::int64_t fitting = 0;
  for (const DeviceFree& device : free) fitting += DeviceFits(device, shape) ? 1 : 0;
  if (fitting >= shape.gpu_count) return {};

  // Refused. How many devices could ever do, and how near is the best?
  const auto ledgers = node.device_ledgers();
  std::int64_t able = 0;
  std::int64_t roomiest = 0;
  std::int64_t memory = 0;  // of the best device whose share would do
  bool share_would_do = false;
  for (std::size_t i = 0; i < free.size(); ++i) {
    if (!Allows(shape, free[i])) continue;
    const DeviceLedger& ledger = ledgers[i];
    able += ledger.capacity.gpu_milli >= shape.gpu_milli &&
                    (!ledger.mem_tracked || ledger.capacity.mem_mib >= shape.gpu_mem_mib)
                ? 1
                : 0;
    roomiest = std::max<std::int64_t>(roomiest, free[i].gpu_milli);
    if (free[i].gpu_milli >= shape.gpu_milli) {
      share_would_do = true;
      memory = std::max(memory, free[i].mem_mib);
    }
  }
  const Reason reason = shape.shares() ? Reason::kNoDeviceWithRoom : Reason::kTooFewWholeDevices;
  const Verdict verdict = able < shape.gpu_count ? Verdict::Never(reason) : Verdict::Wait(reason);
  if (!shape.shares()) return {.verdict = verdict, .need = shape.gpu_count, .have = fitting};
  if (share_would_do) return {.verdict = verdict, .need = shape.gpu_mem_mib, .have = memory};
  return {.verdict = verdict, .need = shape.gpu_milli, .have = roomiest};
}

}  // namespace gpusched
