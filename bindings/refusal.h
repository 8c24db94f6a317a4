// Refusal as Python holds it, and the names of reasons.
#ifndef GPUSCHED_BINDINGS_REFUSAL_H_
#define GPUSCHED_BINDINGS_REFUSAL_H_

#include <pybind11/pybind11.h>

#include <string>

#include "gpusched/decision/refusal.h"
#include "gpusched/state/cluster_state.h"

namespace gpusched::bindings {

namespace py = pybind11;

// The account of a decision that found no node, complete in itself.
struct PyRefusal {
  Refusal refusal;
  std::string nearest;  // empty: there is none
  std::string text;
};

// Completes a refusal whose nearest node is still in the state.
// With the shape, the text says who is in the way of its MIG instances.
PyRefusal RefusalOf(const ClusterState& state, const Refusal& refusal,
                    const Shape* shape = nullptr);

// "ok", "wait" or "never".
const char* OutcomeName(Outcome outcome);

void BindRefusal(py::module_& module);

}  // namespace gpusched::bindings

#endif  // GPUSCHED_BINDINGS_REFUSAL_H_
