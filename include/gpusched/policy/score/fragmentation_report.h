// FragmentationReport: how much idle GPU the expected tasks cannot use, by node, model and cluster.
#ifndef GPUSCHED_POLICY_SCORE_FRAGMENTATION_REPORT_H_
#define GPUSCHED_POLICY_SCORE_FRAGMENTATION_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpusched/export.h"
#include "gpusched/policy/score/fragmentation.h"
#include "gpusched/state/cluster_state.h"

namespace gpusched {

// The measure of FragmentTable over some devices. Exact numbers are in milli; the ratios are for
// people.
struct Fragmentation {
  std::string name;  // of the node or model; empty for the cluster
  std::int64_t capacity_milli = 0;
  std::int64_t idle_milli = 0;
  std::int64_t weight = 0;             // of the target
  std::int64_t fragment_weighted = 0;  // milli × weight

  // In GPUs.
  double gpus() const;
  // As a share of what is there; absent without capacity.
  std::optional<double> of_capacity() const;
  // As a share of what is idle; absent while under a tenth of the capacity is idle: the ratio of
  // two small numbers says nothing about a cluster that is full.
  std::optional<double> of_idle() const;
};

struct FragmentationReport {
  Fragmentation cluster;
  std::vector<Fragmentation> models;  // by name
  std::vector<Fragmentation> nodes;   // in node order
};

// A node's fragment is the sum over its devices, so the three views add up to the same. On a node
// that is as published (see FragmentTable) it is that of Weng et al., ATC 2023, section 4.2.
// O(devices × target shapes).
GPUSCHED_EXPORT FragmentationReport MeasureFragmentation(const ClusterState& state,
                                                         const FragmentTable& table);

}  // namespace gpusched

#endif  // GPUSCHED_POLICY_SCORE_FRAGMENTATION_REPORT_H_
