// Policies that users write in Python: Batch, what they see, and ScorePolicy, what they derive
// from.
#ifndef GPUSCHED_BINDINGS_PYTHON_POLICY_H_
#define GPUSCHED_BINDINGS_PYTHON_POLICY_H_

#include <pybind11/pybind11.h>

namespace gpusched::bindings {

// After Policy, their base, is bound.
void BindPythonPolicy(pybind11::module_& module);

}  // namespace gpusched::bindings

#endif  // GPUSCHED_BINDINGS_PYTHON_POLICY_H_
