// The built-in filters, one a resource, and what each says is lacking.
//
// Together they say yes exactly where Fits (state/fit.h) does. Each tells "never here" (the node
// could not take the task even when empty) from "not now".
#ifndef GPUSCHED_POLICY_FILTER_FIT_FILTERS_H_
#define GPUSCHED_POLICY_FILTER_FIT_FILTERS_H_

#include "gpusched/decision/refusal.h"
#include "gpusched/export.h"
#include "gpusched/policy/filter/filters.h"
#include "gpusched/state/node_view.h"
#include "gpusched/state/shape.h"

namespace gpusched {

// A node that is not cordoned.
struct GPUSCHED_EXPORT NotCordoned {
  Shortfall operator()(const NodeView& node, const Shape& shape) const;
};

// A node with a device of a model that the task allows; any node for a task without GPU.
struct GPUSCHED_EXPORT ModelAllowed {
  Shortfall operator()(const NodeView& node, const Shape& shape) const;
};

struct GPUSCHED_EXPORT EnoughCpu {
  Shortfall operator()(const NodeView& node, const Shape& shape) const;
};

struct GPUSCHED_EXPORT EnoughMemory {
  Shortfall operator()(const NodeView& node, const Shape& shape) const;
};

// On nodes that ModelAllowed lets pass: a single allowed device with the asked share and memory, or
// enough wholly free ones, or enough MIG instances. The numbers are milli of the roomiest allowed
// device, whole devices, or instances; MiB of the best device or instance if only memory falls
// short (kInsufficientGpuMemory). Of devices that are never shared as the task allows there are
// none.
struct GPUSCHED_EXPORT EnoughDevices {
  Shortfall operator()(const NodeView& node, const Shape& shape) const;
};

// All of the above, in the order in which refusals are counted.
using FitFilters = Filters<NotCordoned, ModelAllowed, EnoughCpu, EnoughMemory, EnoughDevices>;

}  // namespace gpusched

#endif  // GPUSCHED_POLICY_FILTER_FIT_FILTERS_H_
