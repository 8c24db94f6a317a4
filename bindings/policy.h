// Policies as Python composes them: recipes, from which a score is built for one state when a
// scheduler is made.
#ifndef GPUSCHED_BINDINGS_POLICY_H_
#define GPUSCHED_BINDINGS_POLICY_H_

#include <pybind11/pybind11.h>

#include <string>

#include "absl/status/statusor.h"
#include "gpusched/policy/erased/any_score.h"
#include "gpusched/policy/score/target_workload.h"
#include "gpusched/state/cluster_state.h"

namespace gpusched::bindings {

namespace py = pybind11;

// What is common to all: `self` is the Python object of the recipe itself.
class PyPolicy {
 public:
  virtual ~PyPolicy() = default;
  virtual absl::StatusOr<AnyScore> Build(py::handle self, ClusterState& state) const = 0;
  virtual std::string Text(py::handle self) const = 0;
};

// A Policy as it was passed, or the built-in one of this name. Raises InvalidSpec or NotFound.
py::object PolicyOf(py::handle policy);

// The score of a Policy object for a state. Needs the GIL.
AnyScore BuildPolicy(py::handle policy, ClusterState& state);

// How it is called in messages and reports.
std::string PolicyText(py::handle policy);

// An opaque target for Fgd.
struct PyTarget {
  TargetWorkload target;
};

void BindPolicy(py::module_& module);

}  // namespace gpusched::bindings

#endif  // GPUSCHED_BINDINGS_POLICY_H_
