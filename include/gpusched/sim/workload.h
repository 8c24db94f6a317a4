// Workload: a cluster and the tasks that arrive at it.
#ifndef GPUSCHED_SIM_WORKLOAD_H_
#define GPUSCHED_SIM_WORKLOAD_H_

#include <string>
#include <vector>

#include "gpusched/spec/gpu_model.h"
#include "gpusched/spec/node_spec.h"
#include "gpusched/spec/shape_spec.h"

namespace gpusched {

// One task of a trace. (Traces from Kubernetes call it a pod.)
struct Pod {
  std::string name;
  ShapeSpec shape;
};

// What a simulation replays. The sources are the files' names, or how it was generated.
struct Workload {
  std::string nodes_source;
  std::string pods_source;
  ModelCatalog catalog;
  std::vector<NodeSpec> nodes;
  std::vector<Pod> pods;
};

}  // namespace gpusched

#endif  // GPUSCHED_SIM_WORKLOAD_H_
