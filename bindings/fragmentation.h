// How much idle GPU the expected tasks cannot use, for Python.
#ifndef GPUSCHED_BINDINGS_FRAGMENTATION_H_
#define GPUSCHED_BINDINGS_FRAGMENTATION_H_

#include <pybind11/pybind11.h>

namespace gpusched::bindings {

namespace py = pybind11;

// After BindCluster and BindPolicy, whose types it takes.
void BindFragmentation(py::module_& module);

}  // namespace gpusched::bindings

#endif  // GPUSCHED_BINDINGS_FRAGMENTATION_H_
